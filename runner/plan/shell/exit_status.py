"""Whether the exit of a test program is the exit of its shell line, or is lost on the way.

The line is run in thought: the test program fails, all others may do either. Where that can end
with 0, its failure is swallowed. No option of the shell is set behind a person's back; what is
found here is said, with the line that would be right.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.commands import swallows_failure
from runner.plan.shell.exits import Steps, may_end_well
from runner.plan.shell.lenient_options import (
    idle_option,
    is_bypass,
    lenient_option,
    may_be_idle,
    without_bypass,
)
from runner.plan.shell.programs import (
    SHELLS,
    find_line,
    is_script_word,
    is_test_program,
    line_inside,
    may_be_test_program,
    names_test_tool,
    program_of,
    programs_of,
)
from runner.plan.shell.shell_nodes import AndOr, Pipeline, Script, Simple, pipelines, simples
from runner.plan.shell.syntax import ShellSyntaxError, parse
from runner.text.display import code_span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import TestContract

_SKIPS = regex(r"SKIP=\S")
_MAY_BYPASS = regex(
    r"SKIP=|--(?:no-|exit-|suppress-|pass|fail|race|halt|nostatus|testFail|over|success)|ignore|-fn"
    r"|\b(?:g?make|conc|concurrently|find|script|run-p|npm-run-all2?)\b|-exec\b"
)
_ONLY_TELLS = frozenset({"-h", "--help", "--version"})  # a test program tells of itself by these
_MAY_LOSE = regex(r"[|;&`()\n]|<<<|\beval\b|sh\b|-f(?:ork)?\b")
"""What a line has that could pass over a failure: most have none of it, and are not parsed."""
_LIKE_BASH = frozenset({"bash", "zsh", "ksh"})
_FOR_BASH = regex(r"#![^\n]*\b(?:bash|zsh|ksh)\b")
"""How a script begins that such a shell runs."""
_PREPARES = """
. : [ [[ alias break cat cd chmod chown clear continue cp date dirname echo eval exit export false
getopts hash head kill less ln local ls mkdir more mktemp mv popd printf pushd pwd read return rm
rmdir rsync sed set shift sleep source sync tail tee test touch tr trap true type ulimit umask unset
wait wc
"""
_SETS_UP = frozenset(_PREPARES.split())
"""Commands that prepare or tell: where there is another, that one is the check of a line."""
_BEHIND = regex(r"\bcoproc\s+|(?<=\bsetsid)\s+(?:-f|--fork)\b")
_AND_OUTPUT = regex(r"&>(>?)\s*([\w./-]+)")
"""`&> file` and `&>> file`, which only bash and its like read as a redirection."""
_LONGEST = 60
_MOST_PROGRAMS = 40
"""Of a line without a known test program, each of which is asked about."""
_DEEPEST = 5
"""Shells that start shells."""


class NoProof(NamedTuple):
    """Why a line that is to prove something proves nothing."""

    by: str
    """The part of the line that makes it so."""
    message: str
    hint: str


class Swallow(NamedTuple):
    """A failure that a line passes over."""

    program: str
    """The command whose exit is lost."""
    by: str
    """What it is lost to, such as `|| true`."""
    right: str
    """The line that would say what happened."""


def no_proof_in(contract: TestContract) -> NoProof | None:
    """Why a test contract could not fail, or skips what would; None where it is a proof."""
    line = contract.command
    if contract.fails:  # its failure is looked for, whatever the line makes of it
        return None
    if word := bypass_of(line):
        return NoProof(word, f"skips checks: `{word}`", without_bypass(word))
    if word := _only_tells(line):
        return NoProof(word, f"runs no test: `{word}`", f"take `{word}` out of the command")
    found = swallow_of(line)
    if found is None:
        return None
    by, program = code_span(found.by), code_span(found.program)
    message = f"cannot fail: {by} swallows the exit of {program}"
    if found.by.startswith("&>"):
        message = f"cannot fail where /bin/sh is no bash: `&` starts {program} and goes on"
    return NoProof(found.by, message, f"write it as {code_span(found.right)}")


@lru_cache(maxsize=512)
def swallow_of(line: str, *, whatever: bool = True) -> Swallow | None:
    """How the last or only test program of a line loses its exit; None where it does not.

    Nor may any test program stand before the end of a pipe. A line without a test program that is
    known swallows where none of its programs can make it fail, if `whatever` runs is meant. What
    is no shell line says nothing: the shell will.
    """
    lost = _find_lost(line, whatever=whatever) if _MAY_LOSE.search(line) else None
    if lost is None:
        return None
    command, tree = lost
    right = _right(command, tree)
    if tree.written:  # the hint does without the shell that puts in `$?`
        inside = swallow_of(tree.written, whatever=whatever)
        right = inside.right if inside else tree.written
    return Swallow(command.text, _by(command, tree), right)


@lru_cache(maxsize=2048)
def _find_lost(line: str, *, whatever: bool = True) -> tuple[Simple, _Tree] | None:
    """The command whose failure is lost, and where it stands."""
    try:
        tree = _tree(line, bash=bool(_FOR_BASH.match(line)))
        return _find_lost_within(tree, Steps(), whatever=whatever, depth=0)
    except ShellSyntaxError:
        return None


def _find_lost_within(
    tree: _Tree, steps: Steps, *, whatever: bool, depth: int
) -> tuple[Simple, _Tree] | None:
    tests = _tests(tree.script, depth)
    for one in tests if depth < _DEEPEST else ():
        inner = _script_of(one)
        found = inner and _find_lost_within(
            _tree(inner.text, bash=inner.bash), steps, whatever=whatever, depth=depth + 1
        )
        if found:
            return found
    piped = _piped(tree.script)
    for one in tests:
        if id(one) in piped and _is_lost(one, tree, steps):
            return one, tree
    if tests:
        return (tests[-1], tree) if _is_lost(tests[-1], tree, steps) else None
    every = [one for one in simples(tree.script) if one.words and _name(one) not in _SETS_UP]
    judged = whatever and 0 < len(every) <= _MOST_PROGRAMS
    if judged and all(_is_lost(one, tree, steps) for one in every):
        return every[-1], tree
    return None


def expects_failures(line: str) -> bool:
    """Whether a line begins with `!`: its test program must fail."""
    try:
        items = parse(line).items if "!" in line else ()
    except ShellSyntaxError:
        return False
    return bool(items) and items[0].parts[0][1].negated


def tests_in(line: str) -> bool:
    """Whether a line starts a test program, as far as its words say so."""
    return any(is_test_program(one) or may_be_test_program(one) for one in commands_of(line))


def ends_with_test_tool(line: str) -> bool:
    """Whether the last command of a line is a test tool by name; a target or script is none."""
    return any(map(names_test_tool, commands_of(line)[-1:]))


def bypass_of(line: str) -> str:
    """The word that has checks left out (`--no-verify`, `SKIP=…`, `--exit-zero`); else empty."""
    if not _MAY_BYPASS.search(line):
        return ""
    try:
        every = list(simples(_tree(line).script))
    except ShellSyntaxError:
        return ""
    for one in every:
        if _name(one) in ("echo", "printf", "grep"):
            continue
        for word in (*one.assignments, *one.words):
            if is_bypass(word.value) or _SKIPS.match(word.text):
                return word.text
        if lenient := lenient_option(one):
            return lenient
    return ""


def _only_tells(line: str) -> str:
    """The word by which every test program of a line tells of itself; else empty."""
    if not (any(word in line for word in _ONLY_TELLS) or may_be_idle(line)):
        return ""
    try:
        tests = _tests(_tree(line).script)
    except ShellSyntaxError:
        return ""
    told = [*map(_telling_word, tests)] or [""]
    return told[-1] if all(told) else ""


def _telling_word(command: Simple) -> str:
    words = (word.value for word in command.words)
    return next((word for word in words if word in _ONLY_TELLS), "") or idle_option(command)


@lru_cache(maxsize=1024)
def commands_of(line: str) -> tuple[Simple, ...]:
    """Every command of a line, those of a shell that it starts in its place."""
    try:
        return tuple(_commands(parse(line), 0))
    except ShellSyntaxError:
        return ()


def _commands(script: Script, depth: int) -> Iterator[Simple]:
    for one in simples(script):
        inner = _script_of(one)
        if inner and depth < _DEEPEST:
            yield from _commands(parse(inner.text, bash=inner.bash), depth + 1)
        else:
            yield one


def _tests(script: Script, depth: int = 0) -> list[Simple]:
    """The test programs of a script; files called like tests only where there is no other."""
    every = [one for one in simples(script) if one.words]
    sure = [one for one in every if is_test_program(one) or _starts_tests(one, depth)]
    return sure or [one for one in every if may_be_test_program(one)]


def _starts_tests(command: Simple, depth: int) -> bool:
    """Whether a command is a shell with a script of its own that tests."""
    inner = _script_of(command) if depth < _DEEPEST else None
    return inner is not None and bool(_tests(parse(inner.text, bash=inner.bash), depth + 1))


# --- the tree, and where a command stands in it -------------------------------------------


class _Tree(NamedTuple):
    text: str
    script: Script
    options: str = ""
    """Of the shell that the line itself starts: `-e`, `pipefail`."""
    written: str = ""
    """The text before another shell puts in `$?`; empty where none does."""


class _Given(NamedTuple):
    """What a shell is given to run."""

    text: str
    options: str = ""
    bash: bool = False
    """Whether that shell knows what bash knows and sh does not."""
    written: str = ""
    """As of a tree."""


def _tree(line: str, *, bash: bool = False) -> _Tree:
    """The tree of a line; of one that only starts a shell (`sh -c '…'`), that shell's."""
    given = _Given(line, bash=bash)
    for _ in range(_DEEPEST):
        script = parse(given.text, bash=given.bash)
        match script.items:
            case [AndOr(parts=[(_, Pipeline(parts=[Simple() as only], negated=False))])]:
                # What is substituted beside the shell's script is no part of it.
                inner = None if _substitutes(only) else _script_of(only)
            case _:
                inner = None
        if inner is None:
            return _Tree(given.text, script, given.options, given.written)
        given = inner
    raise ShellSyntaxError("nested too deeply")


def _substitutes(command: Simple) -> bool:
    return any(document.scripts for document in command.documents)


def _script_of(command: Simple) -> _Given | None:
    """What `sh -c` or `bash -euo pipefail -c` is given, and its options; `eval` likewise."""
    every = programs_of(command)
    if line := next(filter(None, map(find_line, every)), ""):
        return _Given(line)
    name, words = every[-1]
    if name == "eval":
        # As the shell does: its arguments with one space between (POSIX.1-2017, eval).
        return _Given(" ".join(words))
    if name not in SHELLS:
        return None
    if command.documents and not any(is_script_word(at, words) for at in range(len(words))):
        return _Given(command.documents[-1].read, " ".join(words), name in _LIKE_BASH)
    for at, word in enumerate(words):
        # Options may stand together behind one dash, `-euc` (POSIX.1-2017, XBD 12.2, guideline 5).
        if re.fullmatch(r"-\w*c", word) and at + 1 < len(words):
            line = line_inside(command, words[at + 1])
            options, written = " ".join(words[: at + 1]), words[at + 1]
            put_in = written if written != line else ""
            return _Given(line, options, name in _LIKE_BASH, put_in)
        if is_script_word(at, words):
            return None
    return None


def _name(command: Simple) -> str:
    return program_of(command).name


def _is_lost(command: Simple, tree: _Tree, steps: Steps) -> bool:
    """Whether the line may say success although this command ran and failed."""
    steps.take(1)
    script = tree.script
    match script.items:
        # `!` turns the exit of the whole pipe around, and a shell with -e does not leave at a
        # command behind it (POSIX.1-2017, XCU 2.9.2, and `set`).
        case [AndOr(parts=[("", Pipeline(negated=True) as first), *rest], ended=ended), *more]:
            if any(one is command for part in first.parts for one in simples(part)):
                turned = AndOr((("", replace(first, negated=False)), *rest), ended)
                script = Script((turned, *more))  # it must fail, as the line says
    return may_end_well(script, command, tree.options, steps)


def _piped(script: Script) -> frozenset[int]:
    """The commands that stand in a pipe, before its end, by their identity."""
    # A pipe ends as its last command does, whatever came of those before it (POSIX.1-2017, XCU
    # 2.9.2); `pipefail` is younger (POSIX.1-2024), and off unless it is asked for.
    return frozenset(
        id(one)
        for pipeline in pipelines(script)
        for part in pipeline.parts[:-1]
        for one in simples(part)
    )


# --- what to say ----------------------------------------------------------------------


def _by(command: Simple, tree: _Tree) -> str:
    """What stands behind a command, up to the next one; else what stands around it.

    Of one that is substituted (`echo $(pytest)`) it is the command that it stands in.
    """
    if (found := swallows_failure(tree.text)) and not found.startswith("--"):
        return found
    for outer in simples(tree.script):
        if any(one is command for inner in outer.substituted for one in simples(inner)):
            return outer.text.strip()[:_LONGEST]
    rest = tree.text[command.end :].strip()
    if not rest:
        return (tree.text[: command.start].strip() or tree.text)[:_LONGEST]
    following = re.match(r"(\|\||&&|\|&|[;&|)}\n]+)\s*[^;&|\n]*", rest) or [rest]
    return following[0].strip()[:_LONGEST]


def _right(command: Simple, tree: _Tree) -> str:
    """The smallest change of the line after which the failure counts."""
    text = tree.text
    or_exit = f"{text[: command.end]} || exit 1{text[command.end :]}"
    first = [_AND_OUTPUT.sub(r">\1 \2 2>&1", text)] if _AND_OUTPUT.search(text) else []
    first += [or_exit] if re.search(r"\bdo\b", text) else []
    candidates = (
        one for one in (*first, *_join_context(command, tree)) if command.text.strip() in one
    )
    right = (one.strip() for one in candidates if not _is_still_lost(one))
    return _BEHIND.sub("", next(right, command.text.strip()))


def _join_context(command: Simple, tree: _Tree) -> Iterator[str]:
    """What stands before stays; what follows runs only where it passed, or not at all."""
    text, items = tree.text, tree.script.items
    at = next((n for n, item in enumerate(items) if _holds(item, command)), len(items))
    if at == len(items):
        return
    first = items[at].parts[0][1]
    before = text[: first.start]
    rest = [text[one.parts[0][1].start : one.parts[-1][1].end] for one in items[at + 1 :]]
    rest = [one.strip() for one in rest if one not in ("true", ":", "exit 0", "exit", "wait")]
    whole = text[first.start : items[at].parts[-1][1].end]
    for one in (whole, text[first.start : first.end], text[first.start : command.end]):
        yield before + " && ".join([one.strip(), *rest])
    yield before + command.text


def _holds(item: AndOr, command: Simple) -> bool:
    return any(one is command for one in simples(Script((item,))))


def _is_still_lost(line: str) -> bool:
    try:
        parse(line)
    except ShellSyntaxError:
        return True
    return _find_lost(line) is not None
