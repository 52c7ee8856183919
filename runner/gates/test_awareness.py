"""Product code that knows it is tested: names of test tools, new, in a condition of tested code.

A family of the registry; it runs no command. Code that does something else while a test tool runs
it makes every proof one of another program. Whoever means it says so in the plan.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved
from runner.gates.test_paths import is_test_path
from runner.languages.registry import code_row, is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.repo.tree_files import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates import call_counts, test_answers, tool_names
    from runner.gates.base import GateContext
    from runner.gates.tool_names import Named
    from runner.model import Change, Task
    from runner.text import literals
else:
    call_counts = lazy_module("runner.gates.call_counts")
    literals = lazy_module("runner.text.literals")
    test_answers = lazy_module("runner.gates.test_answers")
    tool_names = lazy_module("runner.gates.tool_names")

CHECK = "knows-tests"
_LARGEST = 2_000_000
_SUPPORT = regex(
    r"(?:\A|/)(?:conftest|pytest_\w+|\w+_pytest|testing|\w+_testing|test_?(?:utils?|support|helpers?"
    r"|tools?|kit)|setup-?tests?|(?:jest|vitest|mocha|playwright|karma|cypress)[.\w-]*)\.\w+\Z"
    r"|(?:\A|/)testing/",
    re.IGNORECASE,
)
"""Files that are there for tests, although they are none."""
_TOOL_FILE = regex(r"(?:\A|/)(?:[\w.-]+\.(?:config|setup)\.\w+|\.[\w.-]+|setup\.py)\Z")
_PLUGIN = regex(rb"^[ \t]*def pytest_\w+\(|^[ \t]*@pytest\.(?:fixture|hookimpl)", re.MULTILINE)
_SETS = (
    rb"(?:setenv|stubEnv)\(\s*['\"]%s['\"]|environ\[\s*['\"]%s['\"]\s*\]\s*="
    rb"|process\.env(?:\.%s\b|\[['\"]%s['\"]\])\s*=(?!=)|environ[^\n]{0,40}['\"]%s['\"]\s*[:,]"
)
_VARIABLES = {
    "go": regex(rb"^var\s+(\w+)", re.MULTILINE),
    "python": regex(
        rb"^(?:(?:async )?def\s+|class\s+)?(\w+)\s*(?:[(:][^=\n]*)?[=:(]", re.MULTILINE
    ),
    "javascript": regex(
        rb"^(?:export\s+)?(?:let|var|const|(?:async )?function\b\s*\*?|class)\s+([\w$]+)"
        rb"|^(?:module\.)?exports\.([\w$]+)\s*=",
        re.MULTILINE,
    ),
}
"""What a file binds for all of its code, by language."""
_SETS_FIRST = {
    "go": regex(rb"^[ \t]+(\w+)\s*[-+*/|&^%]?=[^=]", re.MULTILINE),
    "python": regex(
        rb"^\w+(?:\.\w+)*\.(\w+)\s*[-+*/|&%]?=[^=]|^setattr\([\w.]+,\s*['\"](\w+)", re.MULTILINE
    ),
    "javascript": regex(
        rb"^(?!module\.|exports\.)[\w$]+(?:\.[\w$]+)*\.([\w$]+)\s*[-+*/|&?]*=[^=>]", re.MULTILINE
    ),
}
"""What is set where a file of tests is loaded; of Go inside what `_GO_BEGIN` finds."""
_GO_BEGIN = regex(
    rb"^func (?:init\(\)|TestMain\([^)]*\))\s*\{(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL
)
_MOST_FILES = 5000
_COUNTING = regex(
    r"limit|cach|at most|count|calls?\b|times|throttl|retr(?:y|ies)|batch|buffer|quota|window|pool"
    r"|flush|interval|every|once|first",
    re.IGNORECASE,
)
"""Words of a plan whose code may well count what it did."""
_MEANT = regex(
    r"plug-?in|\bunder\b|detect|\bmode\b|sys\.modules|environment|\bhook|variable|while .*\brun",
    re.IGNORECASE,
)
"""What a sentence says beside a tool's name, where it is about code that knows of the tool."""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write adds."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind="integrity", command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each condition on a test tool that the change adds: a person's warning, else a question."""
    found = [
        _finding(one, change.path, bench)
        for change in bench.changes
        if change.content is not None and _is_product(change, bench)
        for one in _find_added_names(change, bench)
        if not _is_meant(one.name, bench.task)
    ]
    more = (*_recite(bench), *_read_tests(bench), *_set_by_tests(bench), *_count_calls(bench))
    return Proved(None, (*found, *_ask_of_tests(bench), *more))


def _set_by_tests(bench: GateContext) -> Iterator[Finding]:
    """What the code of a change binds anew, and its tests set before the first of them begins."""
    for language, variables in _VARIABLES.items():
        some = [one for one in bench.changes if one.content and is_written_in(one.path, language)]
        fresh = {
            name: one.path
            for one in some
            if not (bench.is_test(one.path) or _SUPPORT.search(one.path))
            for name in _matched(variables, one.content or b"")
            if not re.search(rb"\b" + re.escape(name) + rb"\b", bench.before(one.path) or b"")
        }
        for one in some:
            if not bench.is_test(one.path):
                continue
            text = one.content or b""
            if language == "go":
                text = b"\n".join(begin["body"] for begin in _GO_BEGIN.finditer(text))
            for name in dict.fromkeys(_matched(_SETS_FIRST[language], text)):
                if name in fresh:
                    yield _tell_set(name.decode(), one.path, fresh[name], bench)


def _matched(pattern: re.Pattern[bytes], text: bytes) -> Iterator[bytes]:
    return (next(filter(None, match.groups())) for match in pattern.finditer(text))


def _tell_set(name: str, test: str, path: str, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"tests run another program: {test} sets {name} before they begin",
        path=path,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="have tests set it where they need it, and back again",
    )


def _count_calls(bench: GateContext) -> Iterator[Finding]:
    """Code that answers by how often it was called: right for as many calls as tests make."""
    task = bench.task
    if _COUNTING.search("\n".join((task.title, *task.acceptance, task.prose))):
        return
    for change in bench.changes:
        if change.content is None or not is_written_in(change.path, "python"):
            continue
        if not _is_product(change, bench):
            continue
        known = {one.code for one in call_counts.conditions(bench.before(change.path) or b"")}
        for one in call_counts.conditions(change.content):
            if one.code not in known:
                yield Finding(
                    check=CHECK,
                    message=f"code that answers by how often it was called: `{one.code}`",
                    path=change.path,
                    line=one.line,
                    severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
                    hint="have it do the same at each call, or have the plan say what is counted",
                )


def _recite(bench: GateContext) -> Iterator[Finding]:
    """Answers of tests that a change writes into the product instead of what finds them."""

    def read(path: str, content: bytes | None) -> literals.Source:
        hashes = is_written_in(path, "python")
        return literals.Source((content or b"").decode("utf-8", "replace"), hashes=hashes)

    for change in bench.changes:
        if change.content is None or not code_row(change.path) or not _is_product(change, bench):
            continue
        known = {
            (one.given, one.answers)
            for one in test_answers.answers_in(read(change.path, bench.before(change.path)))
        }
        new = test_answers.answers_in(read(change.path, change.content))
        if all((one.given, one.answers) in known for one in new):
            continue
        given = [one.given[0].strip("[]").partition(",")[0].encode() for one in new]
        tests = [
            read(path, content)
            for path, content in find_tests(bench)
            if code_row(path) and any(one in content for one in given)
        ]
        for one in test_answers.recitals(new, tests):
            if (one.given, one.answers) not in known:
                yield _tell_recited(", ".join(one.given), change.path, one.line, bench)


def _tell_recited(given: str, path: str, line: int, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"the code holds an answer of its tests: for {given[:60]!r} it computes nothing",
        path=path,
        line=line,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint="have the code find the answer, for what no test gives too",
    )


def _read_tests(bench: GateContext) -> Iterator[Finding]:
    """Product code that names a file or folder of the tests of this tree."""
    root = bench.place.project
    for change in bench.changes:
        if change.content is None or not code_row(change.path) or not _is_product(change, bench):
            continue
        if _TOOL_FILE.search(change.path):
            continue
        former = bench.before(change.path) or b""
        for number, line in enumerate(change.content.splitlines(), start=1):
            named = _named_path(line) if line not in former else ""
            if named and is_test_path(f"{named}/x") and (root / named).exists():
                yield Finding(
                    check=CHECK,
                    message=f"product code that reads what belongs to tests: {named}",
                    path=change.path,
                    line=number,
                    severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
                    hint="keep what the product needs with the product: tests are not installed",
                )


def _named_path(line: bytes) -> str:
    """The path that the texts of a line come to, one after the other; empty for none."""
    texts = re.findall(rb"""['"`]([\w./ -]{1,200})['"`]""", line)
    parts = [part for text in texts for part in text.decode().split("/")]
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def _ask_of_tests(bench: GateContext) -> Iterator[Finding]:
    """Conditions on a variable that tests set, that no code asked for and no plan speaks of."""
    for change in bench.changes:
        if change.content is None or not _is_product(change, bench):
            continue
        former = {
            one.name for one in tool_names.variables_asked(change.path, bench.before(change.path))
        }
        asked = {
            (one.name, one.line): one
            for one in tool_names.variables_asked(change.path, change.content)
        }
        for one in asked.values():
            if one.name in former or _speaks_of(one.name, bench.task):
                continue
            if setter := _find_setter(one.name, bench):
                yield replace(_finding(one, change.path, bench), detail=f"{setter} sets it")


def _speaks_of(name: str, task: Task) -> bool:
    return name.casefold() in "\n".join((task.title, *task.acceptance, task.prose)).casefold()


def _find_setter(name: str, bench: GateContext) -> str:
    """The test file of the base that sets a variable; empty for none."""
    sets = re.compile(_SETS.replace(b"%s", re.escape(name).encode()))
    for path, _ in find_tests(bench):
        if sets.search(bench.before(path) or b""):
            return path
    return ""


def find_tests(bench: GateContext) -> Iterator[tuple[str, bytes]]:
    """The tests of the proposal with what they hold: those of the first files of the tree."""
    for path in list_files(bench):
        if bench.is_test(path) and (file := bench.place.project / path).is_file():
            with file.open("rb") as opened:
                yield path, opened.read(_LARGEST)


def list_files(bench: GateContext) -> Iterator[str]:
    """The first files of the proposal, as paths; no hidden ones, and none that were installed."""
    root = str(bench.place.project)
    seen = 0
    for where, folders, files in walk(root):
        folders[:] = sorted(one for one in folders if one[:1] != "." and one != "node_modules")
        for file in sorted(files):
            yield f"{where[len(root) + 1 :]}/{file}".lstrip("/")
            seen += 1
            if seen > _MOST_FILES:
                return


def _is_product(change: Change, bench: GateContext) -> bool:
    """Whether a file is no test's own and a test ran it; where nobody measured, any may have."""
    path = change.path
    if bench.is_test(path) or _SUPPORT.search(path) or len(change.content or b"") > _LARGEST:
        return False
    # As it was before: by adding such a function any file would be one.
    if _PLUGIN.search(bench.before(path) or b""):
        return False
    ending = path.rpartition(".")[2]
    rows = (row.path for row in bench.observed if row.path.rpartition(".")[2] == ending)
    # where only tests and settings of tools were seen, the product ran translated
    seen = {one for one in rows if not (bench.is_test(one) or _TOOL_FILE.search(one))}
    return not seen or path in seen


def _find_added_names(change: Change, bench: GateContext) -> Iterator[Named]:
    known = Counter(
        one.code for one in tool_names.names_of_tests(change.path, bench.before(change.path))
    )
    for one in tool_names.names_of_tests(change.path, change.content):
        if known[one.code]:
            known[one.code] -= 1
        else:
            yield one


def _is_meant(name: str, task: Task) -> bool:
    """Whether the plan's own text, not its commands, is about code that knows of this."""
    text = "\n".join((task.title, *task.acceptance, task.prose))
    about = [part for part in re.split(r"[.!?]\s|\n", text) if name.casefold() in part.casefold()]
    if re.search(r"[A-Z]_|\W", name):  # a variable or a call: nobody names it by the way
        return bool(about)
    return any(_MEANT.search(part) for part in about)


def _finding(one: Named, path: str, bench: GateContext) -> Finding:
    return Finding(
        check=CHECK,
        message=f"product code that knows it is tested: `{one.code}` asks for {one.name}",
        path=path,
        line=one.line,
        severity=Severity.WARNING if bench.by_person else Severity.QUESTION,
        hint=f"have it do the same wherever it runs, or have the plan say why it needs {one.name}",
    )
