"""Small wordings that several commands share: counts, times, places, lists.

A number with the name of what it counts.

Hints that help a person to the word they meant.

The optional parts of an installation: which one has a module, and what installs it.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.text.display import display

if TYPE_CHECKING:
    import difflib
    from collections.abc import Iterable, Sequence
    from importlib import metadata

    from runner.model import Finding
else:
    difflib = lazy_module("difflib")
    metadata = lazy_module("importlib.metadata")  # with all that reads e-mail

_LISTED = 3
_SHORT = 12
_LONGEST = 19
_COMMAND = 300
"""Characters of a command before it is abridged."""
_DETAIL_LINES = 4
_FAILED = regex(r"(?P<test>\S.*?) (?:failed|error) at (?P<place>\S+:\d+): (?P<why>.+)")
"""Start of a check's detail that names its tests (`gates/check_run`)."""


def read_number(text: str) -> int:
    """Parse a non-negative decimal number; return -1 for anything else, such as `²`."""
    return int(text) if len(text) < _LONGEST and text.isascii() and text.isdigit() else -1


def plural(number: int, noun: str) -> str:
    """Return a count with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_few(names: Sequence[str], most: int = _LISTED) -> str:
    """Join names as `TASK-001, TASK-002`; of many only the first ones and a count."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def abridge(command: str) -> str:
    """Shorten a command to its first words and the number of words left out."""
    if len(command) <= _COMMAND:
        return command
    words = command.split(" ")
    kept = [word for at, word in enumerate(words) if len(" ".join(words[: at + 1])) <= _COMMAND]
    return f"{' '.join(kept)} … and {plural(len(words) - len(kept), 'word')} more"


def moment(time: str) -> str:
    """Format a journal time (RFC 3339) in local time; an invalid one is returned unchanged."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return display(time)


def short(commit: str) -> str:
    """Return the abbreviated commit."""
    return display(commit[:_SHORT])


def finding_lines(finding: Finding) -> list[str]:
    """Return the lines of a finding: check, place, message, key details and hint.

    A check that names its failing tests begins with these, each with its line and assertion; of
    another the begin and the end of its output are shown: linters name a rule first.
    """
    place = f"{finding.path}:{finding.line}: " if finding.line else ""
    place = place or (f"{finding.path}: " if finding.path else "")
    texts = [*list_failures(finding.detail), place + finding.message]
    if len(texts) == 1:
        printed = [line for line in finding.detail.splitlines() if line.strip()]
        if (left_out := len(printed) - 2 * _DETAIL_LINES) > 0:
            printed[_DETAIL_LINES:-_DETAIL_LINES] = [f"… {plural(left_out, 'line')} left out"]
        texts += printed
    lines = [f"{display(finding.check)}: {display(texts[0])}"]
    lines += [f"  {display(line)}".rstrip() for line in texts[1:]]
    if finding.hint:
        lines.append(f"  hint: {display(finding.hint)}")
    return lines


def refusal_lines(findings: Sequence[Finding], most: int) -> list[str]:
    """Return the lines of the first errors, and the number of further ones."""
    refusals = [finding for finding in findings if finding.refuses]
    lines = [line for finding in refusals[:most] for line in finding_lines(finding)]
    more = len(refusals) - most
    return [*lines, f"and {plural(more, 'more finding')}"] if more > 0 else lines


def without_repeated_hints(lines: Iterable[str], shown: set[str]) -> list[str]:
    """Return the lines but for hints that are `shown` already; new ones are added to these."""
    new = []
    for line in lines:
        _, _, hint = line.partition("  hint: ")
        if not hint or hint not in shown:
            new.append(line)
            shown |= {hint}
    return new


def list_failures(detail: str) -> list[str]:
    """Return the failed tests in a detail text: `tests/test_a.py:5: AssertionError: … (test_a)`."""
    found = [match for line in detail.splitlines() if (match := _FAILED.match(line))]
    lines = [f"{one['place']}: {one['why']}  ({one['test']})" for one in found[:_LISTED]]
    more = len(found) - _LISTED
    return [*lines, f"… and {plural(more, 'more failing test')}"] if more > 0 else lines


_MANY_WORDS = """
failures errors files instances lines operations problems requests tests
"""
_MANY = frozenset(_MANY_WORDS.split())


def count_words(number: int, name: str) -> str:
    """Return a count with its word: `3 failures`, `1 failure`, `1 passed`."""
    return f"{number} {name.removesuffix('s') if number == 1 and name in _MANY else name}"


_LONGEST_WORD = 100
_NUMBER = regex(r"[1-9]\d*")
_NEAR = 0.7
"""Minimum share of common letters (difflib's ratio) for a useful suggestion."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return `did you mean "status"?` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return f'did you mean "{display(near)}"?' if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word closest to `word`, ignoring case; empty if none is close.

    The same letters in another order come first: who types `statsu` means `status`, not `stats`.
    A number is never a misspelling of another: `TASK-009` does not mean `TASK-003`.
    """
    if not word or len(word) > _LONGEST_WORD:
        return ""  # nobody mistypes a hundred letters, and matching them is not free
    numbers = _NUMBER.findall(word)
    spelling = {one.casefold(): one for one in known if _NUMBER.findall(one) == numbers}
    found = difflib.get_close_matches(word.casefold(), list(spelling), n=3, cutoff=_NEAR)
    swapped = [near for near in found if sorted(near) == sorted(word.casefold())]
    return spelling[(swapped or found)[0]] if found else ""


def name_attempt(number: int) -> str:
    """Return `attempt 2`, or `plan 1` for a session that only plans and has a negative number."""
    return f"plan {-number}" if number < 0 else f"attempt {number}"


def attempt_folder(number: int) -> str:
    """Return the name of an attempt's log folder: `2`, `plan-1`."""
    return f"plan-{-number}" if number < 0 else str(number)


_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = regex(r"(\d{1,6})([mhdw])")


def seconds_of_age(typed: str, where: str) -> float:
    """Parse an age into seconds. Raises RunnerError with its source `where` if it is invalid."""
    match = _AGE.fullmatch(typed.strip().casefold())
    if match is None or not int(match[1]):
        raise RunnerError(
            f"invalid duration {typed!a}", where=where, hint=f"for example {where} 30d, 12h or 2w"
        )
    return float(int(match[1]) * _SECONDS[match[2]])


_DISTRIBUTION = "task-graph-runner"
_NAME = regex(r"[\w.-]+")
_EXTRA = regex(r"""extra\s*==\s*["']([\w-]+)["']""")
_OF_DEVELOPERS = frozenset({"dev", "docs", "release"})


def install_hint(extra: str) -> str:
    """Return the command that adds an extra to this installation.

    A bare `pip` is whichever comes first on PATH: the environment of the project as a rule, and of
    `pipx` none. Nobody is sent there to fetch a name that his index may give to somebody else.
    """
    pip = which("pip")
    is_ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    ask = "pip" if is_ours else f"{sys.executable} -m pip"
    return f"{ask} install 'task-graph-runner[{extra}]'"


def refusal_of_import(error: ImportError) -> RunnerError | None:
    """Return the error for a missing module of an extra, or None if it is a bug."""
    module = (error.name or "").partition(".")[0]
    extra = _find_extra(module) if module else ""
    if not extra:
        return None
    return RunnerError(f"{module} is required, but not installed", hint=install_hint(extra))


def _find_extra(module: str) -> str:
    """Return the extra of this distribution that requires a module; else empty."""
    try:
        wanted = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return ""
    for line in wanted:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        if name is None or extra is None or extra[1] in _OF_DEVELOPERS:
            continue
        given = name[0].lower().replace("-", "_")
        if given == module or given.startswith(f"{module}_"):
            return extra[1]
    return ""
