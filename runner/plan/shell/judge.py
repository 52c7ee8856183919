"""Whether a shell line can fail at all: a real shell runs it with programs that all fail.

Nothing of the repository runs. If the line still ends with 0, the exit of its programs is lost.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from runner.lazy_pattern import regex
from runner.plan.shell.programs import exit_of_failed_tests, programs_of
from runner.plan.shell.shell_commands import commands_of, tests_among
from runner.plan.shell.syntax import read_commands
from runner.process.enclosed_shell import run_enclosed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.plan.shell.syntax import Simple

_PREPARES = """
cat cd chmod chown clear cp date dirname hash head kill less ln ls mkdir more mktemp mv read rm
rmdir rsync sed sleep sync tail tee test touch tr wc
"""
PREPARES = frozenset(_PREPARES.split())
"""Programs that prepare or show: they succeed, so that only those that check can fail."""
_NOT_FOUND = "BASH_FUNC_command_not_found_handle%%"
_FUNCTIONS = {"BASH_FUNC_cd%%": "() { :; }"}
"""In an empty folder no other can be entered."""
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
"""What bash calls for each program. It prints a word, so that a loop over it has a round."""
_NUMBER = regex(r"(?<![\w$.-])[1-9]\d{0,2}(?![\w.-])")
_MOST_CODES = 3
_COMPARES = ("$?", "PIPESTATUS", "${?")
_EXPECTS_FAILURE = regex(r"\s*!\s+")
_NOT_PLAIN = regex(r"[$`*?\[{]|[<>]\(")
_SHELL_MARK = regex(r"\A#![^\n]*\b(?:ba|da|z|k)?sh\b[^\n]*")
_AND_OUTPUT = regex(r"&>(?=>?)")


class Called(NamedTuple):
    """The scripts behind a line, which run in place of what the line calls."""

    commands: tuple[tuple[str, str], ...] = ()
    """The beginning of a command, such as `npm run check`, and the shell script that it runs."""
    files: tuple[tuple[str, str], ...] = ()
    """Path and text of each script file."""


NOTHING = Called()


def expects_failures(line: str) -> bool:
    """Whether a line begins with `!`: its program must fail."""
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
        line = _AND_OUTPUT.sub("& >", line)  # sh knows no `&>`: `&` ends the command before it
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
    """How unknown programs end, as the end of the handler, and the code of failing ones."""
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
    """With what failing programs end: 1, and numbers that a line may compare an exit with."""
    compares = any(word in text for text in texts for word in _COMPARES)
    if not compares or (tests and all(map(exit_of_failed_tests, tests))):
        return ["1"]
    return [*dict.fromkeys(["1", *(one for text in texts for one in _NUMBER.findall(text))])]


def _starts(command: Simple) -> Iterator[str]:
    """The words by which a command is recognized when the shell comes to it."""
    for words in (command.values, *((one.name, *one.words) for one in programs_of(command))):
        plain = [*_until_expanded(words)]
        if plain:
            yield " ".join(plain)


def _until_expanded(words: tuple[str, ...]) -> Iterator[str]:
    for word in words:
        if _NOT_PLAIN.search(word) or re.search(r"\s", word):
            return
        yield word
