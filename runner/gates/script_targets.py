"""Resolve a check's command: package.json scripts, make rules, script files.

A change of them is shown to a person as a change of the check. One that loses the exit code of a
failed command is a finding: a contract's own line is refused for that before anything runs
(`plan/shell/exit_status`), and scripts are judged with the line, since they run in its place.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.model import Finding
from runner.plan.shell import exit_status
from runner.plan.shell.exit_status import bypass_of
from runner.plan.shell.programs import SHELLS, command_path, is_script_word, program_of
from runner.plan.shell.shell_commands import commands_of
from runner.plan.shell.syntax import ShellSyntaxError
from runner.secrets.redact import redact
from runner.text.foreign_documents import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from runner.gates.base import Check, GateContext
    from runner.plan.shell.syntax import Simple

    Read = Callable[[str], bytes | None]
    Part = tuple[tuple[str, str], str]


_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_PLACED = frozenset({"--prefix", "-C", "--dir", "--cwd"})
"""Options whose value names the folder of package.json."""
# In GNU make's search order (its manual, Makefile Names).
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_RULE = regex(
    r"^([^\s#:=][^:=\n]*):(?!=)([^=\n;#]*)[;#]?(.*(?:\n(?:\t.*|[ \t]*(?=\n)))*)", re.MULTILINE
)
_MARKS = regex(r"^[ \t]*[@+-]+", re.MULTILINE)
_INTERPRETER = regex(r"(?:pypy3?|python[\d.]*|node|tsx|ts-node|ruby|perl|php)\Z")
_GIVE_CODE = frozenset({"-c", "-e", "-p", "--eval", "--print", "--test"})
_MORE = regex(r"(?:\s*(?:&&|\n)[^;|&]*)*")
_TAKE_A_WORD = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader"})
_SHOWN = 100
CHECK = "what-it-runs"


def find_changed(check: Check, context: GateContext) -> tuple[Finding, ...]:
    """Return what a check runs behind its command and did not run before."""
    before = {} if check.task else dict(behind(check.command, context.before))
    after = dict(behind(check.command, context.after)) if before else {}
    return tuple(
        Finding(
            check=CHECK,
            message=f"a command of {check.id} changed: {_shorten(text)} "
            + (f"became {_shorten(after[place])}" if place in after else "was removed"),
            path=place[0],
            severity=context.origin.question,
            hint="leave the command unchanged, or name the part of the plan that requires this",
        )
        for place, text in before.items()
        if text.strip() and not _is_kept(text, after.get(place))
    )


def _is_kept(before: str, after: str | None) -> bool:
    """Return whether all that ran still runs and counts; more may follow it."""
    return after is not None and _MORE.fullmatch(after.removeprefix(before)) is not None


def _shorten(text: str) -> str:
    line = redact(" ".join(text.split()))
    return f"`{line}`" if len(line) <= _SHOWN else f"`{line[: _SHOWN - 1]}…`"


def behind(command: str, read: Read) -> Iterator[Part]:
    """Yield file, name and text of each script and rule that a command line leads to."""
    known: set[tuple[str, str]] = set()
    waiting = [command]
    for line in waiting:
        for place, text in behind_one(line, read):
            if place not in known:
                known.add(place)
                waiting.append(text)
                yield place, text


def behind_one(command: str, read: Read) -> Iterator[Part]:
    """Yield the scripts and rules that a command line starts itself."""
    folder = ""
    for one in commands_of(_MARKS.sub("", command)):
        name, words = program_of(one)
        if name == "cd" and words:
            folder = words[0]
        elif name in _MANAGERS:
            yield from _scripts(words, folder, read)
        elif name in ("make", "gmake"):
            yield from _rules(words, read)
        elif name in SHELLS or command_path(one):
            for path in filter(read, _started(one)):
                yield (path, ""), (read(path) or b"").decode("utf-8", "replace")


def _scripts(words: tuple[str, ...], folder: str, read: Read) -> Iterator[Part]:
    given = iter(words)
    for word in given:
        option, _, value = word.partition("=")
        if option in _PLACED:
            folder = value or next(given, "")
        elif not word.startswith("-") and word not in ("run", "run-script"):
            break
    else:
        return
    path = posixpath.normpath(posixpath.join(folder, "package.json"))
    try:
        table = parse_json(read(path) or b"{}")
    except ValueError:
        return
    scripts = table.get("scripts") if isinstance(table, dict) else None
    name = "test" if word == "t" and "run" not in words else word
    # npm runs `pretest` and `posttest` around `test` (its manual, scripts).
    scripts = scripts if isinstance(scripts, dict) else {}
    for each in (f"pre{name}", name, f"post{name}"):
        if isinstance(text := scripts.get(each), str):
            yield (path, each), text


def _rules(words: tuple[str, ...], read: Read) -> Iterator[Part]:
    path = next((one for one in _MAKEFILES if read(one)), "")
    text = (read(path) or b"").decode("utf-8", "replace") if path else ""
    rules = {name: rule for rule in _RULE.finditer(text) for name in rule[1].split()}
    # Without a goal make builds the first rule (GNU make, Goals).
    waiting = [word for word in words if word in rules] or [*rules][:1]
    for name in waiting:
        yield (path, name), "\n".join(filter(None, map(str.strip, rules[name][3].split("\n"))))
        waiting += [one for one in rules[name][2].split() if one in rules and one not in waiting]


def find_started_files(command: str, read: Read) -> frozenset[str]:
    """Return the files that a command starts, itself or by a script it leads to."""
    lines = [("", command)]
    for (path, name), text in behind(command, read):
        # npm runs a script in the folder of its package.json.
        lines.append((posixpath.dirname(path) if name and path.endswith(".json") else "", text))
    return frozenset(
        posixpath.normpath(posixpath.join(folder, path))
        for folder, line in lines
        for one in commands_of(_MARKS.sub("", line))
        for path in _started(one)
    )


def _started(command: Simple) -> Iterator[str]:
    name, words = program_of(command)
    if path := command_path(command):
        yield path.removeprefix("./")
    elif name in SHELLS:
        at = next((at for at in range(len(words)) if is_script_word(at, words)), len(words))
        yield from (w.removeprefix("./") for w in words[at : at + 1] if not w.startswith("-"))
    elif _INTERPRETER.match(name) and words[:1] == ("-m",):
        module = "".join(words[1:2]).replace(".", "/")
        yield from (f"{module}.py", f"{module}/__main__.py")
    elif _INTERPRETER.match(name) and not _GIVE_CODE & set(words):
        taken = {at + 1 for at, word in enumerate(words) if word in _TAKE_A_WORD}
        yield from [w for at, w in enumerate(words) if at not in taken and w[:1] != "-"][:1]


_PACKAGE = regex(r"(?:\A|/)package\.json\Z")
_CONTINUED = regex(r"\\\n[ \t]*")
_LINE_MARKS = regex(r"[ \t]*(?P<marks>[@+-]*)[ \t]*")
_VARIABLE = regex(r"\$[({]([\w.-]+)[)}]")
_SHOWN_CODE = 80
_DEEPEST = 3
_MOST = 40


def find_lenient(check: Check, context: GateContext) -> tuple[Finding, ...]:
    """Return a finding for each script that ignores failures of the check."""
    if check.task or check.fails:
        return ()
    return tuple(
        Finding(
            check=check.id,
            message=f"`{by[:_SHOWN_CODE]}` in {_name(place)} ignores failures,"
            f" so {check.id} cannot fail",
            path=place[0],
            severity=context.origin.question,
            hint=f"remove `{by[:_SHOWN_CODE]}`, or have the test contract run the tests directly",
        )
        for place, by in _lost_in(check.command, context.after)
    )


def can_fail(command: str, read: Read) -> bool | None:
    """Return whether a line can fail, with the scripts it leads to; None where it is not known."""
    try:
        lost = exit_status.loses_exit(command, _called(command, read))
    except ShellSyntaxError:
        return None
    return None if lost is None else not lost


def _name(place: tuple[str, str]) -> str:
    path, name = place
    return f"`{name}` of {path}" if name else path


def _lost_in(command: str, read: Read) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield the scripts that lose an exit code or skip checks, and the code that does so."""
    parts = [*behind(command, read)]
    skips = [(place, word) for place, text in parts if (word := bypass_of(_as_script(place, text)))]
    yield from skips
    if skips or not parts or can_fail(command, read) is not False:
        return
    for place, text in parts:
        for line, ignored in _lines(place, text):
            lost = exit_status.swallow_of(line)
            if ignored or lost:
                yield place, re.sub(r"\s+", " ", lost.by) if lost else f"-{line}"


# --- what runs in the place of a command --------------------------------------------------


def _called(command: str, read: Read) -> exit_status.Called:
    """Return the scripts that a line starts, by the words that start them."""
    scripts: dict[str, str] = {}
    files: dict[str, str] = {}
    _collect(command, read, scripts, files, _DEEPEST)
    return exit_status.Called(tuple(scripts.items()), tuple(files.items()))


def _collect(
    line: str, read: Read, scripts: dict[str, str], files: dict[str, str], depth: int
) -> None:
    for one in commands_of(line):
        start = " ".join(one.values)
        parts = tuple(behind_one(one.text, read))
        if not depth or not parts or start in scripts or len(scripts) + len(files) > _MOST:
            continue
        files |= {place[0]: text for place, text in parts if not place[1]}
        named = [part for part in parts if part[0][1]]
        if named:
            scripts[start] = _join(named)
        for place, text in parts:
            _collect(_as_script(place, text), read, scripts, files, depth - 1)


def _join(parts: Sequence[Part]) -> str:
    """Join scripts into one that stops at the first failure; prerequisites of rules go first."""
    rules = not _PACKAGE.search(parts[0][0][0])
    texts = [_as_script(place, text) for place, text in (reversed(parts) if rules else parts)]
    return " && ".join(f"(\n{text}\n)" for text in texts if text.strip()) or ":"


def _as_script(place: tuple[str, str], text: str) -> str:
    """Return a rule as a shell script: each line in its own shell, failures of `-` ignored."""
    lines = [*_lines(place, text)]
    if not _is_rule(place):
        return text
    return "\n".join(f"({line}\n) || {':' if ignored else 'exit 1'}" for line, ignored in lines)


def _lines(place: tuple[str, str], text: str) -> Iterator[tuple[str, bool]]:
    """Yield a rule's lines and whether make ignores their failure; other text as one line."""
    if not _is_rule(place):
        yield text, False
        return
    for line in _CONTINUED.sub(" ", text).split("\n"):
        mark = _LINE_MARKS.match(line)
        plain = line[mark.end() :] if mark else line
        # make expands its own variables; `$$` becomes the shell's dollar.
        plain = _VARIABLE.sub(r"\1", plain.replace("$$", "\0")).replace("\0", "$")
        if plain.strip():
            yield plain, bool(mark and "-" in mark["marks"] and exit_status.deciding_command(plain))


def _is_rule(place: tuple[str, str]) -> bool:
    return bool(place[1]) and not _PACKAGE.search(place[0])
