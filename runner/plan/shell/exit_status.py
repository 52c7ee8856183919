"""Check whether a proving line can fail, and explain why it cannot.

It skips checks, or its exit is lost. A real shell decides that (`loses_exit`): it runs the line
with programs that all fail, and nothing of the repository. If the line still ends with 0, the exit
of its programs is lost; the hint is the smallest change after which the failure counts.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.shell.programs import (
    exit_of_failed_tests,
    find_bypass,
    program_of,
    programs_of,
    without_bypass,
)
from runner.plan.shell.shell_commands import commands_of, script_of, swallows_failure, tests_among
from runner.plan.shell.syntax import ShellSyntaxError, read_commands
from runner.process.own_command import run_enclosed
from runner.text.display import code_span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.model import TestContract
    from runner.plan.shell.syntax import Simple

_PREPARE_WORDS = """
cat cd chmod chown clear cp date dirname hash head kill less ln ls mkdir more mktemp mv read rm
rmdir rsync sed sleep sync tail tee test touch tr wc
"""
PREPARES = frozenset(_PREPARE_WORDS.split())
"""Programs that prepare or print: they succeed, so that only checks can fail."""
_NOT_FOUND = "BASH_FUNC_command_not_found_handle%%"
_FUNCTIONS = {"BASH_FUNC_cd%%": "() { :; }"}
"""cd does nothing: the empty folder has no subfolders."""
_RUNS_ANOTHER = r"""
for word in "$@"; do
  shift
  case "${word##*/}" in
    sh|bash|dash|zsh|ksh)
      /bin/bash "$@" || case "$all" in find*\ \;) ;; *) return ;; esac
      return 0 ;;
    -*c|--command|--session-command)
      case "$program" in
        su|runuser|flock) /bin/bash -c "$1"; return ;;
        script) /bin/bash -c "$1" ||
          case "$word $all " in -*e*c\ script*|*\ -e\ *|*\ --return\ *) return 1 ;; esac
          return 0 ;;
      esac ;;
    -S) case "$program" in env) eval "$1"; return ;; esac ;;
    -S*) case "$program" in env) eval "${word#-S}"; return ;; esac ;;
    -f|--fork) case "$program $*" in "setsid -w"*|"setsid --wait"*) ;; setsid*) return 0 ;; esac ;;
  esac
done
case "$all" in find*\ \;) return 0 ;; touch\ *) : >"${all##* }" ;; esac
"""
"""A program that is given a shell's line has that shell run it.

Three of them lose its exit: `setsid -f`, `find -exec … ;` and `script` without `-e`.
"""
_HANDLER = """() {{ local program="$1" all="$*" word
case "$all" in
{scripts}
cat|cat\\ -|tee|tee\\ *) printf '%s\\n' "$(</dev/stdin)"; return 0 ;;
esac
{runs}
echo x
{ends}
}}"""
"""Function that bash calls for each program. Its output gives a loop over it one round."""
_NUMBER = regex(r"(?<![\w$.-])[1-9]\d{0,2}(?![\w.-])")
_MOST_CODES = 3
_COMPARES = ("$?", "PIPESTATUS", "${?")
_EXPECTS_FAILURE = regex(r"\s*!\s+")
_NOT_PLAIN = regex(r"[$`*?\[{]|[<>]\(")
_SHELL_MARK = regex(r"\A#![^\n]*\b(?:ba|da|z|k)?sh\b[^\n]*")
_BOTH_OUTPUTS = regex(r"&>(?=>?)")


class Called(NamedTuple):
    """The scripts behind a line, which run in place of what the line calls."""

    commands: tuple[tuple[str, str], ...] = ()
    """Start of a command, such as `npm run check`, and the shell script that it runs."""
    files: tuple[tuple[str, str], ...] = ()
    """Path and text of each script file."""


NOTHING = Called()


def expects_failures(line: str) -> bool:
    """Return whether a line begins with `!`, so that its program must fail."""
    return _EXPECTS_FAILURE.match(line) is not None


@lru_cache(maxsize=1024)
def loses_exit(line: str, called: Called = NOTHING, *, bash: bool = False) -> bool | None:
    """Return whether a line ends with 0 though its programs fail; None where that is not known.

    All programs fail but those that only prepare. Where a line starts tests, it also runs with
    failing tests alone. A line that begins with `!` is judged without it. Raises ShellSyntaxError.
    """
    line = _EXPECTS_FAILURE.sub("", line, count=1) if expects_failures(line) else line
    texts = [line, *(text for _, text in (*called.commands, *called.files))]
    known = tuple(start for start, _ in called.commands)
    every = [
        one
        for text in texts
        for one in commands_of(text)
        if not " ".join(one.values).startswith(known or "\0")
    ]
    quoted = any("&>" in word.text for one in read_commands(line) for word in one.words)
    if not bash and not quoted:
        line = _BOTH_OUTPUTS.sub("& >", line)  # sh knows no `&>`: `&` ends the command before it
    files = {path: _SHELL_MARK.sub("#!/bin/bash", text) for path, text in called.files}
    for ends, code in _ways(every, texts):
        handler = _HANDLER.format(scripts=_cases(called), runs=_RUNS_ANOTHER, ends=ends)
        variables = {_NOT_FOUND: handler, **_FUNCTIONS, "CODE": code}
        found = run_enclosed(line, variables, files)
        if found is None or found == 0:
            return None if found is None else True
    return False


def _cases(called: Called) -> str:
    return "\n".join(
        f"{_pattern(start)}|*{_pattern(f' {start}')}) /bin/bash -c {shlex.quote(script)}; return ;;"
        for start, script in called.commands
    )


def _pattern(start: str) -> str:
    return f"{shlex.quote(start)}|{shlex.quote(start + ' ')}*"


def _ways(every: list[Simple], texts: list[str]) -> Iterator[tuple[str, str]]:
    """Yield assumed ends of unknown programs, with the exit code of failing ones."""
    tests = tests_among(every)
    starts = "|".join({start: _pattern(start) for one in tests for start in _starts(one)}.values())
    differs = any("$" in one.text and one.depth for one in tests)
    for code in islice(_codes(tests, texts), _MOST_CODES):
        if starts:
            yield f'case "$all" in {starts}) return $CODE ;; esac', code
        if starts and differs:  # a loop that starts another test in each round: the first fails
            fails = "[ -e once ] || { : >once; return $CODE; }"
            yield f'case "$all" in {starts}) {fails} ;; esac', code
        yield f'case "$program" in {"|".join(sorted(PREPARES))}) ;; *) return $CODE ;; esac', code


def _codes(tests: list[Simple], texts: list[str]) -> list[str]:
    """Return the exit codes of failing programs: 1, and numbers that a line may compare with."""
    compares = any(word in text for text in texts for word in _COMPARES)
    if not compares or (tests and all(map(exit_of_failed_tests, tests))):
        return ["1"]
    return [*dict.fromkeys(["1", *(one for text in texts for one in _NUMBER.findall(text))])]


def _starts(command: Simple) -> Iterator[str]:
    """Yield the words that identify a command, without later expansions."""
    for words in (command.values, *((one.name, *one.words) for one in programs_of(command))):
        plain = [*_until_expanded(words)]
        if plain:
            yield " ".join(plain)


def _until_expanded(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        if _NOT_PLAIN.search(word) or re.search(r"\s", word):
            return
        yield word


_SKIPS = regex(r"SKIP=\S")
_MAY_LOSE = regex(r"[|;&`()\n]|<<<|\beval\b|\bscript\b|sh\b|-f(?:ork)?\b")
"""Parts of a line that could lose an exit code: most lines have none and are not analysed."""
_FOR_BASH = regex(r"#![^\n]*\b(?:bash|zsh|ksh)\b")
"""First line of a script for such a shell."""
_BUILT_IN = """
. : [ [[ alias break continue echo eval exec exit export false getopts local popd printf pushd pwd
return set shift source trap true type ulimit umask unset wait
"""
_PREPARES = PREPARES | frozenset(_BUILT_IN.split())
_IN_BACKGROUND = regex(r"\bcoproc\s+|(?<=\bsetsid)\s+(?:-f|--fork)\b")
_AND_OUTPUT = regex(r"&>(>?)\s*([\w./-]+)")
_EACH = regex(r"(?<=\{\}) (?:\\;|';'|\";\")")
"""End of `find -exec … ;`, which loses the exit code that `+` keeps (POSIX.1-2017, find)."""
_NEXT = regex(r"(\|\||&&|\|&|[;&|)}\n]+)\s*[^;&|\n]*")
_IDLE = ("true", ":", "exit 0", "exit", "wait")
_LONGEST = 60


class NoProof(NamedTuple):
    """The reason why a line proves nothing."""

    by: str
    """Part of the line that causes it."""
    message: str
    hint: str


class Swallow(NamedTuple):
    """A failure that a line loses."""

    program: str
    """Command whose exit code is lost."""
    by: str
    """Part that loses it, such as `|| true`."""
    right: str
    """Corrected line, which would fail."""


def no_proof_in(contract: TestContract) -> NoProof | None:
    """Return why a test contract could not fail, or skips what would; None where it is a proof."""
    line = contract.command
    if contract.fails:  # its failure is looked for, whatever the line makes of it
        return None
    if word := bypass_of(line):
        return NoProof(word, f"skips checks: `{word}`", without_bypass(word))
    found = swallow_of(line)
    if found is None:
        return None
    by, program = code_span(found.by), code_span(found.program)
    message = f"cannot fail: {by} swallows the exit code of {program}"
    if found.by.startswith("&>"):
        message = f"cannot fail unless /bin/sh is bash: `&>` runs {program} in the background"
    return NoProof(found.by, message, f"write it as {code_span(found.right)}")


@lru_cache(maxsize=512)
def swallow_of(line: str, *, bash: bool = False) -> Swallow | None:
    """Return how a line loses the exit of what it runs; None where it does not, or nobody knows."""
    if not _MAY_LOSE.search(line):
        return None
    bash = bash or bool(_FOR_BASH.match(line))
    command = deciding_command(line)  # none for what is no shell line: the shell will say so
    if command is None or not loses_exit(line, bash=bash):
        return None
    every = read_commands(line)
    for given in filter(None, map(script_of, every)):
        if inner := swallow_of(given.text, bash=given.bash):
            return inner
        if len(every) == 1:  # the script is right as a line of its own
            return Swallow(command.text, line.strip()[:_LONGEST], given.text)
    return Swallow(command.text, _by(command, line), _right(command, line))


def bypass_of(line: str) -> str:
    """Return the word that leaves checks out (`--no-verify`, `SKIP=…`, `--exit-zero`), or ""."""
    for one in commands_of(line):
        if program_of(one).name in ("echo", "printf", "grep"):
            continue
        skips = (word.text for word in (*one.assignments, *one.words) if _SKIPS.match(word.text))
        if word := next(skips, "") or find_bypass(one):
            return word
    return ""


def deciding_command(line: str) -> Simple | None:
    """Return the last test program of a line, else its last working program."""
    every = [one for one in commands_of(line) if one.words]
    working = [one for one in every if program_of(one).name not in _PREPARES]
    return next(reversed(tests_among(every) or working), None)


def _by(command: Simple, line: str) -> str:
    """Return the code that hides a command's failure: what follows it, or what encloses it."""
    if (found := swallows_failure(line)) and not found.startswith("--"):
        return found
    if output := _AND_OUTPUT.search(command.text):
        return output[0]
    place = _place(command, line)
    outer = [one for one in read_commands(line) if place.depth > one.depth and _holds(one, place)]
    if outer:  # it is substituted: `echo $(pytest)`
        return outer[-1].text.strip()[:_LONGEST]
    rest = line[place.end :].strip()
    if not rest:
        return (line[: place.start].strip() or line)[:_LONGEST]
    return (_NEXT.match(rest) or [rest])[0].strip()[:_LONGEST]


def _place(command: Simple, line: str) -> Simple:
    """Return the place of a command: itself, or the command that passes it to a shell."""
    every = read_commands(line)
    holding = [one for one in every if command in commands_of(one.text)]
    return command if command in every else next(iter(holding), every[-1])


def _holds(outer: Simple, inner: Simple) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _right(command: Simple, line: str) -> str:
    """Return the smallest change of a line after which the failure counts."""
    place = _place(command, line)
    candidates = (one.strip() for one in _candidates(place, line))
    right = next((one for one in candidates if _is_heard(one)), place.text.strip())
    return _IN_BACKGROUND.sub("", right)


def _is_heard(line: str) -> bool:
    try:
        return bool(read_commands(line)) and loses_exit(line) is False
    except ShellSyntaxError:
        return False


def _candidates(command: Simple, line: str) -> Iterator[str]:
    """Yield variants of a line in which the failure of the command is no longer hidden."""
    if _AND_OUTPUT.search(line):
        yield _AND_OUTPUT.sub(r">\1 \2 2>&1", line)
    if ending := _EACH.search(line):
        yield f"{line[: ending.start()]} +{line[ending.end() :]}"
    if re.search(r"\bdo\b", line):
        yield f"{line[: command.end]} || exit 1{line[command.end :]}"
    items = [*_items(line)]
    at = next((n for n, item in enumerate(items) if item[0].start <= command.start <= item[1]), -1)
    if at < 0:
        return
    start, end = items[at][0].start, items[at][1]
    rest = [line[one[0].start : one[1]].strip() for one in items[at + 1 :]]
    rest = [one for one in rest if one not in _IDLE]
    for whole in (line[start:end], line[start : command.end]):
        yield line[:start] + " && ".join([whole.strip(), *rest])
    yield line[:start] + command.text


def _items(line: str) -> Iterator[tuple[Simple, int]]:
    """Yield first command and end of each list separated by `;`, `&` or line ends."""
    try:
        every = [one for one in read_commands(line) if not one.depth]
    except ShellSyntaxError:
        return
    first: Simple | None = None
    end = 0
    for one in every:
        if first is not None and one.before in (";", "&", "\n"):
            yield first, end
            first = None
        first = first or one
        end = one.end
    if first is not None:
        yield first, end
