"""The tests of a pull request's merge result: from its plan, or found in its files.

Of a repository without a plan each file of tests stands for a test contract of one task, so that
what is known of contracts (who imports what, what ran what) answers for it, too.

What `npm test` runs, taken apart: files of tests that run alone, and what else it does.

Only where nothing of it is in doubt: a file that was not seen to be one of tests would never be
chosen. So the tools' own rules count (nodejs.org, "Running tests from the command line";
mochajs.org, "The test directory"), and what is not read here runs as a whole.
"""

from __future__ import annotations

import configparser
import json
import re
import shlex
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner.app.inspect.test_frameworks import TestFramework, find_test_frameworks
from runner.config.stack import detect_stack
from runner.context.tree import Tree
from runner.errors import RunnerError
from runner.gates import contract_checks, contract_tests
from runner.languages.registry import row_named
from runner.lazy_pattern import regex
from runner.model import Level, Spec, Status, Task, TestContract
from runner.plan.document import Plan, read_plan
from runner.plan.globs import glob_fault, matches
from runner.plan.source import refusal
from runner.plan.status import StatusSpans
from runner.repo.head import PLANS
from runner.text.foreign_documents import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from runner.config.settings import Settings
    from runner.project import Project
    from runner.repo.read import Repository

TESTS = "TESTS"
"""Task of a repository's own tests if there is no plan."""
_NO_SPEC = Spec("", "")
_STANDING = frozenset({Status.DONE, Status.STALE})
_HOLDS = re.compile(rb"\bdef test|\bclass \w*Test|TestCase|\bload_tests\b|\bparametrize\b")
_PYTEST = re.compile(r"(?:^|[\s/])(?:pytest|py\.test)(?=\s|$)")
_PLAIN = {"pytest": "python -m pytest -q"}
_SETTINGS = ("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini")
_EXAMPLES = re.compile(r"doctest|sybil|markdown|codeblocks|pytest_collect_file", re.IGNORECASE)
"""Options and plug-ins that run examples in documentation."""
_CONFTEST = "conftest.py"
_LONGEST = 100_000
"""Characters of a command; Linux limits one argument to 128 KiB (execve(2), MAX_ARG_STRLEN)."""
_PLAIN_SCRIPT = regex(r"[\w ./:=@,*?{}'\"&+-]*", re.ASCII)
"""Supported script text: no pipe, no variable, no second line."""
_SUFFIX = r"\.[cm]?js"
_DEFAULT = {
    "node --test": regex(
        rf"(?:\A|/)(?:[^/]*[._-]test|test-[^/]*|test){_SUFFIX}\Z|(?:\A|/)test/(?:.*/)?[^/]*{_SUFFIX}\Z"
    ),
    "mocha": regex(rf"\Atest/[^/]*{_SUFFIX}\Z"),
}
_TYPED = regex(r"(?:\A|/)(?:[^/]*[._-]test|test-[^/]*|test)\.[cm]?ts\Z|(?:\A|/)test/.*\.[cm]?ts\Z")
"""Test files that newer versions of Node also run."""
_AROUND = regex(r"\w+=[^&]*|cross-env|c8|nyc")
"""Words allowed before the tool."""
_WITH_VALUE = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "--env-file"}
    | {"--test-reporter", "--test-reporter-destination", "-R", "--reporter", "-t", "--timeout"}
    | {"-s", "--slow", "-u", "--ui", "-j", "--jobs", "--retries", "-C", "--conditions"}
)
_REFUSED = regex(
    r"--(?:watch|spec|file|extension|ignore|exclude|config|package|opts|grep|fgrep|invert"
    r"|test-(?:name-pattern|skip-pattern|only|shard)|eval|print)(?:=.*)?|-[wgfiep]"
)
"""Options that select other files or tests than the rules predict."""
_READ = regex(r"[\w./@+*?-]+")
_BRACES = regex(r"\{([\w.,]+)\}")
"""Supported part of a shell pattern."""
_MOST_ALIASES = 4
"""Maximum depth of scripts that call each other."""
_MOST_NAMED = 200
"""Maximum number of words of a script that name test files."""

# Like npm for a script (docs.npmjs.com, npm run): the project's own tools come first.
_LOCAL = 'export PATH="$PWD/node_modules/.bin:$PATH"; '


class TestSuite(Struct, frozen=True):
    """Tasks whose contracts may break."""

    __test__ = False

    tasks: tuple[Task, ...]
    plan: str = ""
    """Path of the plan; empty for tests found in the files."""
    frameworks: Mapping[str, TestFramework] = field(default_factory=dict)
    """Framework by contract, for tests without a plan."""
    scripts: Mapping[str, ScriptTests] = field(default_factory=dict)
    """By framework name, the script whose test files can run alone."""
    notes: tuple[str, ...] = ()

    def ids_of(self, task: Task, settings: Settings) -> tuple[str, ...]:
        """Return the check IDs of a task's test contracts and contracts."""
        families = (contract_tests, contract_checks)
        return tuple(one.id for family in families for one in family.checks(task, settings))

    def as_plan(self) -> Plan:
        """Plan of the tasks for the question of trust."""
        return Plan(self.plan, "", self.command_tasks() or self.tasks, (), (), StatusSpans())

    def single_tasks(self) -> tuple[Task, ...]:
        """Return, without a plan, one task whose contracts each run one test file or package."""
        (task,) = self.tasks
        made = (
            make_contract(id_, self.join(one, (id_,)))
            for id_, one in self.frameworks.items()
            if one.name not in self.scripts or id_ != self.scripts[one.name].rest
        )
        return (replace(task, test_contracts=tuple(made)),)

    def join(self, framework: TestFramework, names: tuple[str, ...]) -> str:
        """Return the command that runs these contracts of a framework."""
        if names == (framework.name,):
            return framework.command
        script = self.scripts.get(framework.name)
        command = script.join(names) if script else join_command(framework, names)
        return command if len(command) <= _LONGEST else framework.command

    def command_tasks(self) -> tuple[Task, ...]:
        """Return, without a plan, one task whose contracts are the commands that run all tests."""
        if not self.frameworks:
            return ()
        kinds = {one.name: one for one in self.frameworks.values()}
        made = tuple(make_contract(name, one.command) for name, one in kinds.items())
        return (Task(TESTS, "tests", 0, _NO_SPEC, test_contracts=made),)


def make_contract(id_: str, command: str) -> TestContract:
    """Create a test contract for the repository's own tests."""
    return TestContract(id_, Level.UNIT, command)


def load_suite(project: Project, repository: Repository, commit: str, tests: str) -> TestSuite:
    """Load the test suite of a commit: the plan's tests, or the repository's own tests.

    Raises RunnerError for a plan that is wrong, and where there is nothing to run.
    """
    named = project.settings.build.task_graph
    paths = (named,) if named else PLANS
    found = ((path, repository.blob(commit, path)) for path in paths)
    path, data = next(((path, data) for path, data in found if data is not None), ("", None))
    if data is None or tests:
        return _find_tests(project, repository, commit, tests)
    return _read_plan(project, path, data)


def _read_plan(project: Project, path: str, data: bytes) -> TestSuite:
    prefixes = project.settings.build.id_prefixes
    plan = project.with_literals(read_plan(data, path, prefixes=prefixes))
    problems = [one for one in project.check_text(data, plan).problems if one.stops_all]
    if problems:
        raise refusal(problems, "nothing has run")
    return TestSuite(tuple(one for one in plan.tasks if one.status in _STANDING), path)


# --- tests without a plan -----------------------------------------------------------------


def _find_tests(project: Project, repository: Repository, commit: str, tests: str) -> TestSuite:
    tree = Tree.of(repository, commit, project.settings)
    frameworks = tuple(find_test_frameworks(tree, detect_stack(project.root)))
    if tests:
        kind = "pytest" if _PYTEST.search(tests) else "tests"
        frameworks = (TestFramework(kind, tests, "set by --tests"),)
    if not frameworks:
        hint = "name the test command: runner gate --tests 'make test'"
        raise RunnerError("no tests found in this repository", hint=hint)
    paths = repository.list_tree(commit)
    read = partial(repository.blob, commit)
    known = {} if tests else {one.name: read_script(one.name, paths, read) for one in frameworks}
    scripts = {name: one for name, one in known.items() if one is not None}
    made: dict[str, tuple[TestContract, TestFramework]] = {}
    for one in frameworks:
        script = scripts.get(one.name)
        for contract in _split_script(one, script) if script else _split(one, paths, read):
            made[contract.id] = (contract, one)
    task = Task(TESTS, "tests", 0, _NO_SPEC, test_contracts=tuple(c for c, _ in made.values()))
    of = {id_: one for id_, (_, one) in made.items()}
    return TestSuite((task,), frameworks=of, scripts=scripts)


def _split_script(framework: TestFramework, script: ScriptTests) -> Iterator[TestContract]:
    """Yield one contract per test file of a script, and one for its remaining commands."""
    for one in script.files:
        yield make_contract(one, f"{script.tool} {shlex.quote(one)}")
    if script.rest:
        yield make_contract(script.rest, framework.command)


def _split(
    framework: TestFramework, paths: tuple[str, ...], read: Callable[[str], bytes | None]
) -> Iterator[TestContract]:
    """Yield one contract per file or package if the tool can run it alone, else one for all."""
    found: tuple[str, ...] = ()
    if framework.name == "pytest":
        found = tuple(_find_python(paths, read))
    elif framework.name == "go test":
        files = _find_files("go", paths)
        found = tuple(sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in files}))
    for one in found:
        # Use the plain tool: other parts of a custom command say nothing about the file.
        plain = replace(framework, command=_PLAIN.get(framework.name, framework.command))
        yield make_contract(one, join_command(plain, (one,)))
    if not found:
        yield make_contract(framework.name, framework.command)


def join_command(framework: TestFramework, names: tuple[str, ...]) -> str:
    """Return the command that runs only these files, packages or tests, safely quoted.

    `names` are data: what a shell would read in one stays text.
    """
    start = "go test -v" if framework.name == "go test" else framework.command
    return f"{start} {' '.join(map(shlex.quote, names))}"


def _find_files(name: str, paths: tuple[str, ...]) -> list[str]:
    pattern = row_named(name).language.test_file
    return [path for path in paths if pattern and pattern.search(path)]


def _find_python(paths: tuple[str, ...], read: Callable[[str], bytes | None]) -> Iterator[str]:
    """Yield the files that pytest collects by default; none if settings change that."""
    options = _pytest_options(read)
    if options is None or any(key in options for key in ("python_files", "norecursedirs")):
        return
    configured = options.get("testpaths", [])
    words = configured.split() if isinstance(configured, str) else configured
    # pytest's handling of other types is unknown here; it may collect anything.
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return
    below = [word.strip("./") for word in words]
    if any(set("*?[") & set(one) for one in below):
        return
    for path in paths:
        stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
        usual = stem.startswith("test_") or stem.endswith("_test")
        collected = usual and dot + suffix in row_named("python").code
        inside = not below or any(not one or f"{path}/".startswith(f"{one}/") for one in below)
        if collected and inside and _HOLDS.search(read(path) or b""):
            yield path


def may_run_prose(repository: Repository, tests: str, commit: str) -> bool:
    """Return whether tests may run examples in documentation files, as doctest does.

    By a command of a person (`tests`) any settings may count; else pytest's own and `conftest.py`.
    """
    read = partial(repository.blob, commit)
    if tests:
        texts = (tests.encode(), *(read(name) or b"" for name in _SETTINGS))
        return any(_EXAMPLES.search(one.decode("utf-8", "replace")) for one in texts)
    options = _pytest_options(read)
    paths = (one for one in repository.list_tree(commit) if one.rpartition("/")[2] == _CONFTEST)
    hooks = ((read(one) or b"").decode("utf-8", "replace") for one in paths)
    return options is None or any(map(_EXAMPLES.search, (str(dict(options)), *hooks)))


def _pytest_options(read: Callable[[str], bytes | None]) -> Mapping[str, object] | None:
    """Return pytest's settings (docs.pytest.org, "Configuration"); None if they are invalid."""
    try:
        # The first of these that exists counts, even if empty; of those below only one with its own
        # table (docs.pytest.org, "Configuration").
        for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
            if (data := read(name)) is not None:
                return _read_ini(data, section)
        tool = parse_toml((read("pyproject.toml") or b"").decode()).get("tool", {})
        found = tool.get("pytest", {}) if isinstance(tool, dict) else None
        if found != {}:
            # Since pytest 9 the table may be `tool.pytest` itself.
            own = found.get("ini_options", found) if isinstance(found, dict) else None
            return own if isinstance(own, dict) else None
        for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
            options = _read_ini(read(name) or b"", section)
            if options:
                return options
    except (ValueError, configparser.Error):
        return None
    return {}


def _read_ini(data: bytes, section: str) -> Mapping[str, object]:
    parser = configparser.RawConfigParser()
    parser.read_string(data.decode())
    return dict(parser[section]) if parser.has_section(section) else {}


class ScriptTests(Struct, frozen=True):
    """A script whose files of tests can be run alone."""

    tool: str
    """Command that takes files as last arguments."""
    files: tuple[str, ...]
    """All test files that the script runs."""
    before: str = ""
    after: str = ""
    """The script's other commands, before and after."""

    @property
    def rest(self) -> str:
        """Other parts of the script, as written; empty if there are none."""
        return " && ".join(filter(None, (self.before, self.after)))

    def join(self, names: Sequence[str]) -> str:
        """Return the command that runs these files; `rest` may be among them."""
        files = [one for one in names if one != self.rest]
        words = f"{self.tool} {' '.join(map(shlex.quote, files))}" if files else ""
        after = self.after if self.rest in names else ""
        return _LOCAL + " && ".join(filter(None, (self.before, words, after)))


def read_script(
    name: str, paths: Sequence[str], read: Callable[[str], bytes | None]
) -> ScriptTests | None:
    """Parse the tests of `npm test`, or of `node --test` without a script; None if unknown.

    None where they are not known to run alone. `name` is `node --test` or `mocha`.
    """
    package = _load(read("package.json"))
    if name not in _DEFAULT or package is None or _has_settings(name, package, paths):
        return None
    scripts = package.get("scripts")
    items = scripts.items() if isinstance(scripts, dict) else ()
    texts = {str(key): str(one) for key, one in items}
    text = texts.get("test", name)
    parts = _unfold(text, texts, name, set()) if _PLAIN_SCRIPT.fullmatch(text) else None
    at = [n for n, part in enumerate(parts or ()) if _tool_at(part, name) is not None]
    if parts is None or len(at) != 1:
        return None
    found = _find_script_files(parts[at[0]], name, paths)
    if found is None:
        return None
    around = {one: [f"npm run --silent {one}"] if one in texts else [] for one in _HOOKS}
    before = (*around["pretest"], *parts[: at[0]])
    after = (*parts[at[0] + 1 :], *around["posttest"])
    return ScriptTests(*found, " && ".join(before), " && ".join(after))


_HOOKS = ("pretest", "posttest")


def _load(data: bytes | None) -> dict[str, object] | None:
    try:
        found = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return None
    well = isinstance(found, dict) and isinstance(found.get("scripts") or {}, dict)
    return found if well else None


def _has_settings(name: str, package: dict[str, object], paths: Sequence[str]) -> bool:
    """Return whether a tool's own settings may select other files."""
    files = [path for path in paths if "/" not in path and path.startswith(".mocharc")]
    return name == "mocha" and bool("mocha" in package or files or "test/mocha.opts" in paths)


def _unfold(
    text: str, scripts: dict[str, str], name: str, known: set[str], depth: int = 0
) -> list[str] | None:
    """Return a script's commands with called scripts expanded; None if that is not supported.

    None for what is not read here, as a script with tests that is called twice.
    """
    found: list[str] = []
    for part in (one.strip() for one in text.split("&&")):
        called = re.fullmatch(r"npm (?:run|run-script) (?:--silent |-s )?([\w:.-]+)", part)
        inner = scripts.get(called[1], "") if called else ""
        # npm also runs the script's pre and post hooks, which would be lost here.
        hooked = called is not None and {f"pre{called[1]}", f"post{called[1]}"} & scripts.keys()
        if not inner or ("mocha" if name == "mocha" else "--test") not in inner:
            found.append(part)
            continue
        if hooked or inner in known or depth > _MOST_ALIASES or not _PLAIN_SCRIPT.fullmatch(inner):
            return None
        known.add(inner)
        more = _unfold(inner, scripts, name, known, depth + 1)
        if more is None:
            return None
        found += more
    # A single & runs a command in the background: then no order of ends is known.
    return None if "&" in "".join(found) or not all(found) else found


def _tool_at(part: str, name: str) -> int | None:
    """Return the index after the tool's name in a command; None if it is not understood."""
    try:
        words = shlex.split(part)
    except ValueError:
        return None
    program = name.partition(" ")[0]
    at = next((n for n, word in enumerate(words) if word == program), None)
    if at is None or not all(map(_AROUND.fullmatch, words[:at])):
        return None
    return None if program == "node" and "--test" not in words else at + 1


def _find_script_files(
    part: str, name: str, paths: Sequence[str]
) -> tuple[str, tuple[str, ...]] | None:
    """Return a command without its file arguments, and the test files; None if unsupported."""
    words = shlex.split(part)
    start = _tool_at(part, name) or 0
    kept, named = words[:start], []
    rest = iter(words[start:])
    for word in rest:
        if _REFUSED.fullmatch(word):
            return None
        if not word.startswith("-"):
            named.append(word)
            continue
        kept.append(word)
        if word in _WITH_VALUE:
            kept.append(next(rest, ""))
    if len(named) > _MOST_NAMED:
        return None
    below = "(?:.*/)?" if "--recursive" in kept else ""
    patterns = list(_patterns(named, name, below, paths))
    if None in patterns or (not named and name == "node --test" and any(map(_TYPED.search, paths))):
        return None
    every = [one for one in patterns if one is not None] or [_DEFAULT[name].search]
    # Neither Node's runner nor mocha searches node_modules by default.
    own = [path for path in paths if "node_modules" not in path.split("/")]
    files = tuple(path for path in own if any(names(path) for names in every))
    return (shlex.join(kept), files) if files else None


def _patterns(
    named: Sequence[str], name: str, below: str, paths: Sequence[str]
) -> Iterator[Callable[[str], object] | None]:
    """Yield a matcher for each word; a folder matches the tests `below` it; None if unsupported."""
    for word in named:
        path = word.removeprefix("./").rstrip("/")
        if path in paths:
            yield path.__eq__
        elif any(one.startswith(f"{path}/") for one in paths):
            inside = rf"\A{re.escape(path)}/{below}[^/]*{_SUFFIX}\Z"
            yield re.compile(inside).search if name == "mocha" else None
        else:
            yield _glob(path)


def _glob(text: str) -> Callable[[str], object] | None:
    """Return a matcher for a shell pattern with `**` and `{a,b}`; None if it is not supported."""
    globs = [f"/{text}"]
    while (braces := _BRACES.search(globs[0])) and len(globs) < _MOST_NAMED:
        words = braces[1].split(",")
        globs = [one.replace(braces[0], word, 1) for one in globs for word in words]
    if len(globs) > _MOST_NAMED or not all(map(_READ.fullmatch, globs)):
        return None
    if any(map(glob_fault, globs)):
        return None
    return lambda path: any(matches(one, path) for one in globs)
