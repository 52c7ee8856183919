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
_DETAIL_LINES = 4
_FAILED = regex(r"(?P<test>\S.*?) (?:failed|error) at (?P<place>\S+:\d+): (?P<why>.+)")
"""How the detail of a check begins that names its tests (`gates/check_run`)."""


def read_number(text: str) -> int:
    """The number that somebody typed; -1 for anything else: `²` is a digit of Unicode, too."""
    return int(text) if len(text) < _LONGEST and text.isascii() and text.isdigit() else -1


def plural(number: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def join_few(names: Sequence[str], most: int = _LISTED) -> str:
    """`TASK-001, TASK-002`; of many only the first, and how many more there are."""
    more = len(names) - most
    shown = ", ".join(names[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def abridge(command: str, most: int = 300) -> str:
    """Shorten a command: of very many files it shows the first, and how many more."""
    if len(command) <= most:
        return command
    words = command.split(" ")
    kept = [word for at, word in enumerate(words) if len(" ".join(words[: at + 1])) <= most]
    return f"{' '.join(kept)} … and {plural(len(words) - len(kept), 'word')} more"


def moment(time: str) -> str:
    """A time of the journal (RFC 3339) on the person's own clock; what is no time as it stands."""
    try:
        return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return display(time)


def short(commit: str) -> str:
    """A commit as a person writes it."""
    return display(commit[:_SHORT])


def finding_lines(finding: Finding) -> list[str]:
    """A finding as it is shown: check, place and message, what says most of its detail, its hint.

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
    """Why work was refused: the first of its findings, and how many more there are."""
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
    """The tests that a check names as failed, `tests/test_a.py:5: AssertionError: … (test_a)`."""
    found = [match for line in detail.splitlines() if (match := _FAILED.match(line))]
    lines = [f"{one['place']}: {one['why']}  ({one['test']})" for one in found[:_LISTED]]
    more = len(found) - _LISTED
    return [*lines, f"… and {plural(more, 'more failing test')}"] if more > 0 else lines


# --- counting -------------------------------------------------------------------------


_MANY_WORDS = """
failures errors files instances lines operations problems requests tests
"""
_MANY = frozenset(_MANY_WORDS.split())


def count_words(number: int, name: str) -> str:
    """`3 failures`, `1 failure`, `1 passed`."""
    return f"{number} {name.removesuffix('s') if number == 1 and name in _MANY else name}"


# --- hints ----------------------------------------------------------------------------


_LONGEST_WORD = 100
_NUMBER = regex(r"[1-9]\d*")
_NEAR = 0.7
"""Share of letters in common (difflib's ratio) below which a guess helps nobody."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean "status"?` for the known word nearest to `word`, or an empty text."""
    near = nearest(word, known)
    return f'did you mean "{display(near)}"?' if near else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word nearest to `word`, letter case ignored; empty when none is near.

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
    """`attempt 2`; `plan 1` of a session that only plans, which is numbered below zero."""
    return f"plan {-number}" if number < 0 else f"attempt {number}"


def attempt_folder(number: int) -> str:
    """The folder of its logs: `2`, `plan-1`."""
    return f"plan-{-number}" if number < 0 else str(number)


_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AGE = regex(r"(\d{1,6})([mhdw])")


def seconds_of_age(typed: str, where: str) -> float:
    """The seconds of an age. Raises RunnerError for what is none, naming `where` it was given."""
    match = _AGE.fullmatch(typed.strip().casefold())
    if match is None or not int(match[1]):
        raise RunnerError(
            f"invalid duration {typed!a}", where=where, hint=f"{where} 30d (or 90m, 12h, 2w)"
        )
    return float(int(match[1]) * _SECONDS[match[2]])


# --- extras that are missing ----------------------------------------------------------


_DISTRIBUTION = "task-graph-runner"
_NAME = regex(r"[\w.-]+")
_EXTRA = regex(r"""extra\s*==\s*["']([\w-]+)["']""")
_OF_DEVELOPERS = frozenset({"dev", "docs", "release"})


def install_hint(extra: str) -> str:
    """The command that adds an extra to this very installation.

    A bare `pip` is whichever comes first on PATH: the environment of the project as a rule, and of
    `pipx` none. Nobody is sent there to fetch a name that his index may give to somebody else.
    """
    pip = which("pip")
    is_ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    ask = "pip" if is_ours else f"{sys.executable} -m pip"
    return f"{ask} install '{_DISTRIBUTION}[{extra}]'"


def refusal_of_import(error: ImportError) -> RunnerError | None:
    """The error for a module that an extra brings and nobody installed; None for a bug."""
    module = (error.name or "").partition(".")[0]
    extra = _find_extra(module) if module else ""
    if not extra:
        return None
    message = f"{module} is required, but not installed"
    return RunnerError(message, hint=install_hint(extra))


def _find_extra(module: str) -> str:
    """Of what the distribution says it requires; distributions are named as their modules are."""
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
