"""What a check runs behind its command: a script of package.json, a rule of a Makefile, a script.

Read from the text, so that a change of it can be shown to a person as a change of the check.

Whether a check only looks at files: lint, types and compilers, whatever starts them.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections import deque
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.model.grades import is_static_tool
from runner.plan.commands import swallows_failure
from runner.plan.shell.programs import SHELLS, command_path, is_script_word, program_of
from runner.plan.shell.selection import without_reporting
from runner.plan.shell.shell_commands import commands_of
from runner.secrets.redact import redact
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.gates.base import Check, GateContext
    from runner.plan.shell.syntax import Simple


_MANAGER = regex(
    r"(?<![\w/.@-])(?:(?P<all>npm-run-all2?|run-[sp])|npm|pnpm|yarn|bun)"
    r"(?P<words>(?:[ \t]+(?:'[^']*'|\"[^\"]*\"|[^\s;&|<>()'\"]+))+)"
)
_ENTERED = regex(r"(?:\A|[;&|(\s])cd\s+([^\s;&|]+)\s*(?:&&|;)")
_QUIET = r"(?:\s+(?:-s|--silent))*"
_CALLED = regex(
    rf"(?P<manager>npm|pnpm|yarn|bun){_QUIET}\s+(?:run|run-script){_QUIET}\s+(?P<name>[\w:.-]+){_QUIET}"
    rf"|(?P<short>npm|pnpm|yarn){_QUIET}\s+(?:test|t){_QUIET}"  # `bun test` is a tool of its own
)
_PLACED = frozenset({"--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F"})
"""Options whose value says in which folder or package the script stands."""
_RUN = frozenset({"run", "run-script"})
_MAKE = regex(r"\bg?make\b(?P<words>[^;&|\n]*)")
# In the order in which GNU make looks for them (its manual, Makefile Names).
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = regex(r"^(?P<names>[^\s#:=][^:=\n]*):(?!=)(?P<needs>[^=\n]*)$", re.MULTILINE)
_IN_RECIPE = regex(r"\t|\s*\Z|#|(?:ifn?eq|ifn?def|else|endif)\b")
"""A line that goes on with a recipe, or that ends none: empty, a comment, a condition of make."""
_STARTED = regex(r"(?:\A|[;&|\n(]\s*|\s)(?:(?:ba|da|z)?sh\s+|\./)(?P<path>(?:\./)?[\w./-]+)")
_INTERPRETER = regex(r"(?:pypy3?|python[\d.]*|node|tsx|ts-node|ruby|perl|php)\Z")
_GIVE_CODE = frozenset({"-c", "-e", "-p", "--eval", "--print", "--test"})
"""Options after which no file is the program."""
_TAKE_ONE_MORE = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader"})
_LARGEST = 500_000
_SHOWN = 100

CHECK = "what-it-runs"


def findings(check: Check, bench: GateContext) -> tuple[Finding, ...]:
    """What a check runs behind its command and did not run before: a person is asked, or told.

    That the old one still passes is asked elsewhere. Nothing where the check ran nothing before.
    """
    if check.task or not bench.changes:
        return ()
    before = dict(behind(check.command, bench.before))
    if not before:
        return ()
    after = dict(behind(check.command, bench.after))
    severity = Severity.WARNING if bench.by_person else Severity.QUESTION
    found = [
        Finding(
            check=CHECK,
            message=f"what {check.id} runs was changed: {_describe_change(was, after.get(place))}",
            path=place[0],
            severity=severity,
            hint="leave what proves the work as it is, or say what of the plan asks for this",
        )
        for place, was in before.items()
        if not _is_kept(place, was, after.get(place))
    ]
    return tuple(found)


def name_script(command: str) -> str:
    """A command that is one script of package.json, in one spelling; any other as it is.

    `npm test` and `npm run --silent test` are the same run, which says more or less of itself.
    """
    called = _CALLED.fullmatch(command.strip())
    if called is None:
        return command
    return f"{called['manager'] or called['short']} run {called['name'] or 'test'}"


def _describe_change(was: str, now: str | None) -> str:
    became = f"became `{_short(now)}`" if now is not None else "is gone"
    return f"`{_short(was)}` {became}"


def _is_kept(place: tuple[str, str], was: str, now: str | None) -> bool:
    """Whether all that ran still runs and counts; more may follow it."""
    if now is None:
        return not was.strip()
    was, now = without_reporting(was), without_reporting(now)
    if not now.startswith(was):
        return not was.strip()
    more = now[len(was) :].strip(" \t")
    in_turn = more.startswith("&&") or (place[0] in _MAKEFILES and more.startswith("\n"))
    return not more or (in_turn and not swallows_failure(more) and "||" not in more)


def _short(text: str) -> str:
    line = redact(" ".join(text.split()))
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def behind(
    command: str, read: Callable[[str], bytes | None]
) -> Iterator[tuple[tuple[str, str], str]]:
    """(file, name) and text of each script and rule that a command line leads to, each once.

    A clone's scripts may call each other in any number, so what is known is not gone through again.
    """
    known: set[tuple[str, str]] = set()
    waiting = deque([command])
    while waiting:
        line = waiting.popleft()
        for found in (*_scripts(line, read, known), *_rules(line, read, known)):
            yield found
            waiting.append(found[1])
        yield from _files(line, read)


def behind_one(
    command: str, read: Callable[[str], bytes | None]
) -> tuple[tuple[tuple[str, str], str], ...]:
    """What `behind` finds that a command starts itself, and not what that starts in turn."""
    known: set[tuple[str, str]] = set()
    return (*_scripts(command, read, known), *_rules(command, read, known), *_files(command, read))


def find_started_files(command: str, read: Callable[[str], bytes | None]) -> frozenset[str]:
    """The files of the project that a command starts, itself or by what it leads to.

    By their path, or as what an interpreter is given to run.
    """
    lines = [("", command)]
    for (path, name), text in behind(command, read):
        is_script = bool(name) and path.endswith("package.json")  # npm stands in its folder
        lines.append((posixpath.dirname(path) if is_script else "", _recipe(text)))
    return frozenset(
        posixpath.normpath(posixpath.join(folder, path))
        for folder, line in lines
        for one in commands_of(line)
        if one.words
        for path in _started(one)
    )


def _started(command: Simple) -> Iterator[str]:
    name, words = program_of(command)
    if path := command_path(command):
        yield path
    if name in SHELLS:  # what one is given behind `-c` is among the commands of the line
        at = next((at for at in range(len(words)) if is_script_word(at, words)), len(words))
        yield from (word for word in words[at : at + 1] if not word.startswith("-"))
        return
    given = iter(words if _INTERPRETER.match(name) else ())
    for word in given:
        if word == "-m" and _PYTHON.match(name):
            module = next(given, "").replace(".", "/")
            yield from (f"{module}.py", f"{module}/__main__.py")
            return
        if word in _GIVE_CODE:
            return
        if word in _TAKE_ONE_MORE:
            next(given, "")
        elif not word.startswith("-"):
            yield word
            return


def _files(
    command: str, read: Callable[[str], bytes | None]
) -> Iterator[tuple[tuple[str, str], str]]:
    for match in _STARTED.finditer(command):
        path = match["path"].removeprefix("./")
        content = read(path)
        if content is not None and len(content) <= _LARGEST:
            yield (path, ""), content.decode("utf-8", "replace")


def _scripts(
    command: str, read: Callable[[str], bytes | None], known: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], str]]:
    for folder, name in dict.fromkeys(find_started_scripts(command)):
        for path in _packages(folder):
            scripts = _scripts_in(read(path))
            # `test:*`, as npm-run-all knows it, where `:` stands between the parts of a name
            named = fnmatch.filter(scripts, name) if "*" in name else [name]
            # npm runs `pretest` and `posttest` around `test`, and so of any name (its manual,
            # scripts).
            around = (f"{part}{one}" for one in named for part in ("pre", "", "post"))
            for place in ((path, one) for one in around):
                text = scripts.get(place[1])
                if isinstance(text, str) and place not in known:
                    known.add(place)
                    yield place, text


def _packages(folder: str) -> tuple[str, ...]:
    """Where the package.json of a folder, or of a package of that name, may stand."""
    if not folder:
        return ("package.json",)
    last = folder.rpartition("/")[2]
    places = (f"{folder}/", f"packages/{last}/", f"apps/{last}/", f"libs/{last}/", "")
    return tuple(dict.fromkeys(f"{place}package.json" for place in places))


@lru_cache(maxsize=16)
def _scripts_in(content: bytes | None) -> Mapping[str, object]:
    try:
        table = parse_json(content or b"{}")
    except ValueError:
        return {}
    scripts = table.get("scripts") if isinstance(table, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def find_started_scripts(command: str) -> Iterator[tuple[str, str]]:
    """Folder (or package) and name of each script that package managers are told to run.

    Options may stand anywhere before the name.
    """
    for match in _MANAGER.finditer(command):
        words = iter(match["words"].split())
        folder = next(iter(_ENTERED.findall(command[: match.start()])[-1:]), "")
        for word in words:
            option, equals, value = word.partition("=")
            if option in _PLACED:
                folder = value if equals else next(words, "")
            elif word == "workspace":  # yarn workspace NAME SCRIPT
                folder = next(words, "")
            elif not word.startswith("-") and word not in _RUN:
                name = word.strip("'\"")
                short = name == "t" and not _RUN & set(match["words"].split())
                yield folder.removeprefix("./").rstrip("/"), "test" if short else name
                if not match["all"]:  # which runs every one that it is told
                    break


def _rules(
    command: str, read: Callable[[str], bytes | None], known: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], str]]:
    for match in _MAKE.finditer(command):
        path = next((one for one in _MAKEFILES if read(one) is not None), "")
        rules = _rules_in(read(path) or b"") if path else {}
        words = [word for word in match["words"].split() if not word.startswith("-")]
        # Without a goal make takes the first rule (GNU make, Goals).
        wanted = [word for word in words if word in rules] or list(islice(rules, 1))
        while wanted:
            name = wanted.pop()
            if name not in rules or (path, name) in known:
                continue
            known.add((path, name))
            needs, recipe = rules[name]
            yield (path, name), recipe
            wanted += needs


@lru_cache(maxsize=16)
def _rules_in(content: bytes) -> Mapping[str, tuple[list[str], str]]:
    return dict(rules_in(content.decode("utf-8", "replace")[:_LARGEST]))


def rules_in(text: str) -> Iterator[tuple[str, tuple[list[str], str]]]:
    """The rules of a Makefile by their targets: what they need, and their recipe."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        match = _RULE.match(line)
        if match is None:
            continue
        below = takewhile(_IN_RECIPE.match, (lines[at] for at in range(number, len(lines))))
        needs, _, inline = match["needs"].partition(";")
        own = [inline, *(one for one in below if one.startswith("\t"))]
        recipe = "\n".join(filter(None, map(str.strip, own)))
        for name in match["names"].split():
            yield name, (needs.partition("#")[0].split(), recipe)


# --- static checks --------------------------------------------------------------------


_PREPARES = """
    . : cd echo exit export false local mkdir popd printf pushd pwd return set shift sleep source
    trap true ulimit umask unset wait
"""
_IDLE = frozenset(_PREPARES.split())
"""What prepares a tool, or tells: beside one it shows nothing, and alone it is another matter."""
_PIPED = "awk cat cut find git grep head ls sed sort tail tee tr uniq wc"
_FILTERS = frozenset(_PIPED.split())
"""What hands a tool its files in a pipe, or reads what it says."""
_PYTHON = regex(r"python[\d.]*\Z|pypy[\d.]*\Z")
_TAKES_ONE_MORE = frozenset({"-W", "-X"})
"""Options of Python with a word behind them."""
_DEEPEST_CALL = 8


def only_looks(check: Check, read: Callable[[str], bytes | None] | None = None) -> bool:
    """Whether all that a check starts only looks; `read` gives the scripts and rules it names."""
    if check.task or check.kind not in ("test", "gate"):
        return False
    if read is None:
        return _looks_as_written(check.command)
    return _Look(read).only_looks(check.command)


@lru_cache(maxsize=512)
def _looks_as_written(line: str) -> bool:
    return _Look(lambda _: None).only_looks(line)


class _Look:
    """One look at a line and what is behind it: each text is read once a depth."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._known: dict[tuple[str, int], bool] = {}

    def only_looks(self, line: str, depth: int = 0) -> bool:
        """Whether all that a line starts only looks."""
        if (line, depth) not in self._known:
            every = [one for one in commands_of(line) if one.words]
            piped = _piped(every)
            working = [one for one in every if not _shows_nothing(one, piped)]
            found = bool(working) and all(self._is_static(one, depth) for one in working)
            self._known[line, depth] = found
        return self._known[line, depth]

    def _is_static(self, command: Simple, depth: int) -> bool:
        name, words = program_of(command)
        if name == "find" and "-exec" in words:
            name, *rest = words[words.index("-exec") + 1 :] or ("",)
            words = tuple(rest)
        if is_static_tool(" ".join((name, *_without_options(name, words)))):
            return True
        if depth >= _DEEPEST_CALL:
            return False
        scripts = [text for _, text in behind_one(command.text, self._read)]
        return bool(scripts) and all(self.only_looks(_recipe(one), depth + 1) for one in scripts)


def _piped(every: list[Simple]) -> frozenset[Simple]:
    pairs = [(one, after) for one, after in pairwise(every) if after.before in ("|", "|&")]
    return frozenset(one for pair in pairs for one in pair)


def _shows_nothing(command: Simple, piped: frozenset[Simple]) -> bool:
    name = program_of(command).name
    return name in _IDLE or (name in _FILTERS and command in piped)


def _without_options(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of Python from its `-m` on: `python -I -W error -m mypy` is `python -m mypy`."""
    if not _PYTHON.match(name):
        return words
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c"):
        at += 2 if words[at] in _TAKES_ONE_MORE else 1
    return words[at:]


def _recipe(text: str) -> str:
    """The lines of a rule of make without its `@`, `-` and `+`; a script's as they stand."""
    return re.sub(r"^[ \t]*[@+-]+", "", text, flags=re.MULTILINE)
