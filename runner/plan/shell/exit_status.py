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
from runner.plan.shell.exits import may_end_well
from runner.plan.shell.programs import (
    is_test_program,
    is_word_alone,
    may_be_test_program,
    names_test_tool,
    program_of,
    starts_nothing,
)
from runner.plan.shell.shell_nodes import AndOr, Pipeline, Script, Simple, pipelines, simples
from runner.plan.shell.syntax import ShellSyntaxError, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.model import TestContract

_BYPASS = regex(
    r"--(?:no-verify|exit-zero|suppress-tests-failed)(?:=(?:true|1|yes))?\Z"
    r"|--(?:passWithNoTests|pass-with-no-tests)(?:=(?:true|1|yes))?\Z"
)
"""Words that leave out what would fail: in no proof, however it is written."""
_SKIPS = regex(r"SKIP=\S")
_MAY_BYPASS = regex(r"SKIP=|--(?:no-|exit-|suppress-|pass)")
_ONLY_TELLS = frozenset({"-h", "--help", "--version"})
"""What has a test program tell of itself, and run nothing."""
_MAY_LOSE = regex(r"[|;&`()\n]|\beval\b|sh\b")
"""What a line has that could pass over a failure: most have none of it, and are not parsed."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_PREPARES = """
. : [ [[ alias break cat cd chmod chown clear continue cp date dirname echo eval exit export false
getopts hash head kill less ln local ls mkdir more mktemp mv popd printf pushd pwd read return rm
rmdir rsync sed set shift sleep source sync tail tee test touch tr trap true type ulimit umask unset
wait wc
"""
_SETS_UP = frozenset(_PREPARES.split())
"""Commands that prepare or tell: where there is another, that one is the check of a line."""
_LONGEST = 60
_MOST_PROGRAMS = 40
"""Of a line without a known test program, each of which is asked about."""
_DEEPEST = 5
"""Shells that start shells."""
_WRITES = regex(r">(?!\s*&|\s*/dev/null)")
"""A redirection into a file."""
_FEW_WORDS = regex(r"[\w./-]+(?: [\w./-]+)*")
"""A line that is one command without quotes, variables and operators: it need not be parsed."""
_PLAIN_SHELLS = frozenset({"sh", "bash", "dash"})
"""Shells that read nothing but their script."""
_PLAIN_PATH = regex(r"[\w.][\w./-]*")
_LONGEST_SCRIPT = 1 << 16
_HIDDEN = regex(r"`|\$\(|[<>]\(|<<")
"""Where a command may stand that is no part of a list: in a redirection, in a text that follows."""


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
        return NoProof(word, f"skips checks: `{word}`", f"take `{word}` out of the command")
    if word := _only_tells(line):
        return NoProof(word, f"runs no test: `{word}`", f"take `{word}` out of the command")
    found = swallow_of(line)
    if found is None:
        return None
    message = f"cannot fail: `{found.by}` swallows the exit of `{found.program}`"
    return NoProof(found.by, message, f"write it as `{found.right}`")


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
    return Swallow(command.text, _by(command, tree), _right(command, tree))


@lru_cache(maxsize=2048)
def _find_lost(line: str, *, whatever: bool = True, depth: int = 0) -> tuple[Simple, _Tree] | None:
    """The command whose failure is lost, and where it stands."""
    try:
        return _find_lost_uncached(line, whatever=whatever, depth=depth)
    except ShellSyntaxError:
        return None


def _find_lost_uncached(line: str, *, whatever: bool, depth: int) -> tuple[Simple, _Tree] | None:
    tree = _tree(line)
    tests = _tests(tree.script, depth)
    for one in tests:
        inner = _script_of(one)
        if inner and (found := _find_lost(inner[0], whatever=whatever, depth=depth + 1)):
            return found
    for one in tests:
        if _is_piped(one, tree.script) and _is_lost(one, tree):
            return one, tree
    if tests:
        return (tests[-1], tree) if _is_lost(tests[-1], tree) else None
    every = [one for one in simples(tree.script) if one.words and _name(one) not in _SETS_UP]
    if whatever and 0 < len(every) <= _MOST_PROGRAMS and all(_is_lost(one, tree) for one in every):
        return every[-1], tree
    return None


def expects_failures(line: str) -> bool:
    """Whether a line begins with `!`: its test program must fail."""
    try:
        items = parse(line).items
    except ShellSyntaxError:
        return False
    return bool(items) and items[0].parts[0][1].negated


def tests_in(line: str) -> bool:
    """Whether a line starts a test program, as far as its words say so."""
    return any(is_test_program(one) or may_be_test_program(one) for one in commands_of(line))


def ends_with_test_tool(line: str) -> bool:
    """Whether the last command of a line is a test tool by name; a target or script is none."""
    every = commands_of(line)
    return bool(every) and names_test_tool(every[-1])


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
            if _BYPASS.match(word.value) or _SKIPS.match(word.text):
                return word.text
    return ""


def _only_tells(line: str) -> str:
    """The word by which every test program of a line tells of itself; else empty."""
    if not any(word in line for word in _ONLY_TELLS):
        return ""
    try:
        tests = _tests(_tree(line).script)
    except ShellSyntaxError:
        return ""
    told = [[word.value for word in one.words if word.value in _ONLY_TELLS] for one in tests]
    return told[-1][0] if told and all(told) else ""


@lru_cache(maxsize=1024)
def commands_of(line: str) -> tuple[Simple, ...]:
    """Every command of a line, those of a shell that it starts in its place."""
    try:
        return tuple(_commands(parse(line), 0))
    except ShellSyntaxError:
        return ()


def starts_no_program(line: str, read: Callable[[str], bytes | None] | None = None) -> bool:
    """Whether a line starts nothing that instruments could look into, by its words.

    With `read`, which gives the bytes of a path, a script that it names may do its work.
    """
    scripts = _scripts_alone(line)
    if not scripts or read is None:
        return scripts == ()
    contents = [read(path) for path in scripts]
    return all(one is not None and _is_quiet_script(one) for one in contents)


@lru_cache(maxsize=1024)
def _scripts_alone(line: str) -> tuple[str, ...] | None:
    """The shell scripts that a line runs and that are all it starts; None where it starts more."""
    if _HIDDEN.search(line):
        return None
    if _FEW_WORDS.fullmatch(line) and is_word_alone(line.split(maxsplit=1)[0]):
        return ()
    every = commands_of(line)
    if not every or any(_WRITES.search(one.text) for one in every):
        return None  # it may write a report of its own, or over what measures the next command
    scripts = [_named_script(one) for one in every if not starts_nothing(one)]
    if scripts and any(one.values[:1] == ("cd",) for one in every):
        return None
    return tuple(one for one in scripts if one) if all(scripts) else None


def _named_script(command: Simple) -> str:
    """The file of the project that a shell runs as its script; "" for anything else."""
    words = command.words
    if command.assignments or len(words) < 2 or words[0].text not in _PLAIN_SHELLS:  # noqa: PLR2004 - the shell, and its script
        return ""
    path = words[1].text.removeprefix("./")
    return path if _PLAIN_PATH.fullmatch(path) and ".." not in path else ""


@lru_cache(maxsize=256)
def _is_quiet_script(content: bytes) -> bool:
    """Whether a script starts no program either."""
    try:
        return len(content) <= _LONGEST_SCRIPT and _scripts_alone(content.decode()) == ()
    except UnicodeDecodeError:
        return False


def _commands(script: Script, depth: int) -> Iterator[Simple]:
    for one in simples(script):
        inner = _script_of(one)
        if inner and depth < _DEEPEST:
            yield from _commands(parse(inner[0]), depth + 1)
        else:
            yield one


def _tests(script: Script, depth: int = 0) -> list[Simple]:
    """The test programs of a script; files called like tests only where there is no other."""
    every = [one for one in simples(script) if one.words]
    sure = [one for one in every if is_test_program(one) or _starts_tests(one, depth)]
    return sure or [one for one in every if may_be_test_program(one)]


def _starts_tests(command: Simple, depth: int) -> bool:
    """Whether a command is a shell with a script of its own that tests."""
    inner = _script_of(command)
    return inner is not None and depth < _DEEPEST and bool(_tests(parse(inner[0]), depth + 1))


# --- the tree, and where a command stands in it -------------------------------------------


class _Tree(NamedTuple):
    text: str
    script: Script
    options: str = ""
    """Of the shell that the line itself starts: `-e`, `pipefail`."""


def _tree(line: str) -> _Tree:
    """The tree of a line; of one that only starts a shell (`sh -c '…'`), that shell's."""
    text, options = line, ""
    for _ in range(_DEEPEST):
        script = parse(text)
        match script.items:
            case [AndOr(parts=[(_, Pipeline(parts=[Simple() as only], negated=False))])]:
                inner = _script_of(only)
            case _:
                inner = None
        if inner is None:
            return _Tree(text, script, options)
        text, options = inner
    raise ShellSyntaxError("nested too deeply")


def _script_of(command: Simple) -> tuple[str, str] | None:
    """What `sh -c` or `bash -euo pipefail -c` is given, and its options; `eval` likewise."""
    name, words = program_of(command)
    if name == "eval":
        # As the shell does: its arguments with one space between (POSIX.1-2017, eval).
        return " ".join(words), ""
    if name not in _SHELLS:
        return None
    for at, word in enumerate(words):
        # Options may stand together behind one dash, `-euc` (POSIX.1-2017, XBD 12.2, guideline 5).
        if re.fullmatch(r"-\w*c", word) and at + 1 < len(words):
            return words[at + 1], " ".join(words[: at + 1])
        if not word.startswith(("-", "+")) and not re.fullmatch(r"[-+]\w*o", words[at - 1]):
            return None  # a script's path, and no value of `-o`, `-euo`
    return None


def _name(command: Simple) -> str:
    return program_of(command).name


def _is_lost(command: Simple, tree: _Tree) -> bool:
    """Whether the line may say success although this command ran and failed."""
    script = tree.script
    match script.items:
        # `!` turns the exit of the whole pipe around, and a shell with -e does not leave at a
        # command behind it (POSIX.1-2017, XCU 2.9.2, and `set`).
        case [AndOr(parts=[("", Pipeline(negated=True) as first), *rest], ended=ended), *more]:
            if any(one is command for part in first.parts for one in simples(part)):
                turned = AndOr((("", replace(first, negated=False)), *rest), ended)
                script = Script((turned, *more))  # it must fail, as the line says
    return may_end_well(script, command, tree.options)


def _is_piped(command: Simple, script: Script) -> bool:
    """Whether a command stands in a pipe, before its end."""
    # A pipe ends as its last command does, whatever came of those before it (POSIX.1-2017, XCU
    # 2.9.2); `pipefail` is younger (POSIX.1-2024), and off unless it is asked for.
    return any(
        one is command
        for pipeline in pipelines(script)
        for part in pipeline.parts[:-1]
        for one in simples(part)
    )


# --- what to say ----------------------------------------------------------------------


def _by(command: Simple, tree: _Tree) -> str:
    """What stands behind a command, up to the next one; else what stands around it."""
    if (found := swallows_failure(tree.text)) and not found.startswith("--"):
        return found
    rest = tree.text[command.end :].strip()
    if not rest:
        return (tree.text[: command.start].strip() or tree.text)[:_LONGEST]
    following = re.match(r"(\|\||&&|\|&|[;&|)}\n]+)\s*[^;&|\n]*", rest)
    return (following[0] if following else rest).strip()[:_LONGEST]


def _right(command: Simple, tree: _Tree) -> str:
    """The smallest change of the line after which the failure counts."""
    text = tree.text
    or_exit = f"{text[: command.end]} || exit 1{text[command.end :]}"
    first = [or_exit] if re.search(r"\bdo\b", text) else []
    candidates = (
        one for one in (*first, *_join_context(command, tree)) if command.text.strip() in one
    )
    right = (one.strip() for one in candidates if not _is_still_lost(one))
    return next(right, command.text.strip())


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
