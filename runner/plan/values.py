"""Parse field values from text into the model's types."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from runner.config.sizes import amount_of, explain_lacking
from runner.lazy_pattern import regex
from runner.model import Budget, Network, Requirement, Resource, ReviewMode, Status
from runner.model.task import PRIORITIES
from runner.plan import status as statuses
from runner.plan.globs import LONGEST_PATH
from runner.plan.markdown_text import EMPTY_WORDS, ListValue, literal, plain, words
from runner.plan.task_ids import task_id
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from enum import StrEnum

    from runner.plan.fields import PlanField
    from runner.plan.source import Run

    Choice = TypeVar("Choice", bound=StrEnum)

_SECONDS = {
    **dict.fromkeys(("s", "sec", "second"), 1),
    **dict.fromkeys(("m", "min", "minute"), 60),
    **dict.fromkeys(("h", "hr", "hour"), 3600),
}
# Only at the start of digits or blanks: then time is linear for any input.
_DURATION = regex(r"(?<!\d)(\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)
_LONGEST_DURATION = 366 * 86400.0
"""No system clock can wait for all durations that a plan may contain."""
_MOST_BUDGET = 1e15
"""More than any budget, and an integer that a float represents exactly."""
_ALL_PERCENT = 100
_YES = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_ONE = {"memory": "", "port": ""}
"""Not countable: without an amount it has no meaning."""
_AND = regex(r"(?<!\s)\s+(?:and|&|\+)\s+|(?:(?<!\s)\s+)?&\s*", re.IGNORECASE)
_SOUND = regex(rf"[a-z0-9_][a-z0-9_./-]{{0,{LONGEST_PATH - 1}}}")
"""Nearly all paths: they only need checks for two dots and git."""
_IDS = regex(r"TASK-\d{3,}(?:, TASK-\d{3,})*")
NUMBER = regex(r"#?(\d{1,9})")
"""A task's number without prefix."""
REMARK = regex(r"(?:(?<!\s)\s+[(\u2013—]|(?<!\s)\s+-+\s|:\s).*$")
"""Remark after a path, which is not part of it."""


class Complaint(NamedTuple):
    """A problem with a value, and its place; line and column count from 0 in the source."""

    message: str
    hint: str
    line: int
    column: int
    width: int


class BadValueError(ValueError):
    """A known field with a value that cannot be read; all complaints about it at once."""

    def __init__(self, *complaints: Complaint) -> None:
        super().__init__(complaints[0].message)
        self.complaints = complaints


class Located(NamedTuple):
    """One value of a list of values, with its place."""

    text: str
    line: int
    column: int
    width: int
    code: bool


def locate_values(field: PlanField, *, code_alone: bool = True) -> Iterator[Located]:
    """Yield all values of a list field with their positions."""
    for value in field.values:
        for run in value.runs:
            for word in words(run.text, code_alone=code_alone):
                yield _locate(word, run)


def _locate(word: ListValue, run: Run) -> Located:
    return Located(word.text, run.line, run.column + word.start, word.end - word.start, word.code)


def whole(field: PlanField) -> str:
    """Return the first value as plain text; empty for `none` and dashes."""
    text = plain(field.values[0].text) if field.values else ""
    return "" if text.casefold() in EMPTY_WORDS else text


def complain(field: PlanField, message: str, hint: str) -> BadValueError:
    """Return an error for the whole value of a field."""
    line, column = field.start
    last_line, last = field.end
    width = last - column if last_line == line else len(field.values[0].runs[0].text)
    return BadValueError(Complaint(message, hint, line, column, max(1, width)))


def complain_at(value: Located, message: str, hint: str) -> Complaint:
    """Return a complaint on one of several values."""
    return Complaint(message, hint, value.line, value.column, max(1, value.width))


def status(field: PlanField) -> tuple[Status, str]:
    """Parse a status and an optional note. Raises BadValueError."""
    text = field.values[0].text if field.values else ""
    read = statuses.read_status(text)
    if read is None:
        known = [entry.value for entry in Status]
        word = plain(text)
        raise complain(
            field,
            f'unknown status "{word}"',
            did_you_mean(re.split(r"(?<!\s)\s+[—\u2013-]", word)[0], known)
            or "write one of " + ", ".join(known),
        )
    return read


def word(field: PlanField) -> str:
    """Return a field's text in lower case."""
    return whole(field).casefold()


def name(field: PlanField) -> str:
    """Return a field's text as written."""
    return whole(field)


def command(field: PlanField) -> str:
    """Parse a shell line. Raises BadValueError for a YAML block."""
    text = literal(field.values[0].text) if field.values else ""
    if text.startswith(("|", ">")):
        hint = "write it on one line, or in a fenced block below - Command:"
        raise complain(field, "a YAML block is not a valid command", hint)
    return "" if text.casefold() in EMPTY_WORDS else text


def choice(kind: type[Choice], what: str) -> Callable[[PlanField], Choice | None]:
    """Return a parser for the values of an enum."""

    def read(field: PlanField) -> Choice | None:
        text = whole(field).casefold()
        known = [entry.value for entry in kind]
        if text and text not in known:
            hint = did_you_mean(text, known) or "write one of " + ", ".join(known)
            raise complain(field, f'unknown {what} "{text}"', hint)
        return kind(text) if text else None

    return read


def yes_or_no(field: PlanField) -> bool | None:
    """Read yes or no; None for an empty value."""
    text = whole(field).casefold()
    if text and text not in _YES:
        raise complain(field, f'"{text}" is neither yes nor no', "write yes or no")
    return _YES.get(text)


def network(field: PlanField) -> Network:
    """Read a network value: yes, registries, loopback or no."""
    text = whole(field).casefold()
    as_bool = _YES.get(text)
    if as_bool is not None:
        return Network.YES if as_bool else Network.NO
    return choice(Network, "network")(field) or Network.NO


_PRIORITY_WORDS = {"urgent": 0, "highest": 0, "normal": 2, "backlog": 4}


def priority(field: PlanField) -> int | None:
    """Parse a priority from 0, the most urgent, to 4. Raises BadValueError."""
    text = whole(field).casefold()
    if not text or text in EMPTY_WORDS:
        return None
    if match := re.fullmatch(r"p?([0-4])", text):
        return int(match[1])
    if text in _PRIORITY_WORDS:
        return _PRIORITY_WORDS[text]
    if text not in PRIORITIES:
        raise complain(field, f'unknown priority "{text}"', f"write one of {', '.join(PRIORITIES)}")
    return PRIORITIES.index(text)


def model(field: PlanField) -> str:
    """Parse a model's name. Raises BadValueError for an invalid one."""
    text = whole(field).strip("`")
    if text and not re.fullmatch(r"[A-Za-z0-9][^\s`]*", text):
        raise complain(field, f'"{text}" is not a valid model name', "use one name without spaces")
    return text


def percent(field: PlanField) -> float | None:
    """Parse a percentage from 0 to 100. Raises BadValueError."""
    text = whole(field)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(?:%|percent)?", text, re.IGNORECASE)
    if not text:
        return None
    if match is None or float(match[1]) > _ALL_PERCENT:
        raise complain(field, f'"{text}" is not a valid percentage', "write 0 to 100, such as 80%")
    return float(match[1])


def seconds_in(text: str) -> float | None:
    """Parse a duration such as `1 h 30 min` into seconds; None if invalid or over a year."""
    total, rest = 0.0, text.strip().casefold()
    if not rest:
        return None
    for match in _DURATION.finditer(rest):
        unit = match[2] if match[2] in _SECONDS else match[2].rstrip("s")
        if unit not in _SECONDS:
            return None
        total += float(match[1]) * _SECONDS[unit]
    odd = _DURATION.sub("", rest).replace("and", "").strip(" ,")
    return total if total <= _LONGEST_DURATION and not odd else None


def duration(field: PlanField) -> float | None:
    """Parse a duration such as `10 minutes` into seconds. Raises BadValueError."""
    text = whole(field)
    seconds = seconds_in(text)
    if text and not seconds:
        raise complain(
            field, f'invalid duration "{text}"', "write a number and a unit, such as 10 minutes"
        )
    return seconds


def texts(field: PlanField) -> tuple[str, ...]:
    """Return comma-separated values without emphasis."""
    return tuple(entry.text if entry.code else plain(entry.text) for entry in locate_values(field))


def sentences(field: PlanField) -> tuple[str, ...]:
    """Return every item as one text with its Markdown."""
    collapsed = (" ".join(value.text.split()) for value in field.values)
    return tuple(text for text in collapsed if text.casefold() not in EMPTY_WORDS)


def paths(field: PlanField) -> tuple[str, ...]:
    """Return paths and globs relative to the project, without remarks; raises BadValueError."""
    found: list[str] = []
    bad: list[Complaint] = []
    for entry in locate_values(field):
        path = entry.text if entry.code else REMARK.sub("", entry.text)
        path = path.removeprefix("./") or path
        if complaint := path_complaint(path):
            bad.append(complain_at(entry, *complaint))
        found.append(path)
    if bad:
        raise BadValueError(*bad)
    return tuple(dict.fromkeys(found))


def outputs(field: PlanField) -> tuple[str, ...]:
    """Return the paths and globs that a task may write, or `any`. Raises BadValueError."""
    found = paths(field)
    anything = [entry for entry in found if entry.casefold() in ("any", "anything")]
    if anything and len(found) > 1:
        hint = "write only `any`, or only the paths"
        raise complain(field, "`any` is listed with other paths", hint)
    return ("any",) if anything else found


def path_complaint(path: str) -> tuple[str, str] | None:
    """Return what is wrong with a path and a remedy, or None."""
    if _SOUND.fullmatch(path) and ".." not in path and ".git" not in path:
        return None
    parts = path.split("/")
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return f'bad path "{path}": it is absolute', "write it relative to the project's folder"
    if "\\" in path:
        return f'bad path "{path}": it has a backslash', "separate folders with /"
    if ".." in parts:
        return (
            f'bad path "{path}": must not contain `..`',
            "a task stays inside the project's folder",
        )
    # NTFS drops trailing blanks and dots of a name, and file systems may fold case: all of these
    # open git's own folder.
    if any(part.casefold().rstrip(" .") == ".git" for part in parts):
        return f'bad path "{path}": it is inside .git', "no task may write git's own files"
    if lines := re.search(r"(?<=\w):\d+(?:-\d+)?$", path):
        hint = f"write {path[: lines.start()]}: a task may change any line"
        return f'bad path "{path}": it has line numbers', hint
    if len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        return f'bad path "{path[:40]}…": it is longer than {LONGEST_PATH} bytes', "shorten it"
    if not path.strip() or any(ord(sign) < ord(" ") for sign in path):
        return f'bad path "{path}": it has invalid characters', "write the path in a code span"
    return None


def ids(field: PlanField, prefixes: tuple[str, ...]) -> tuple[str, ...]:
    """Read task ids and return them in canonical form."""
    found: list[str] = []
    bad: list[Complaint] = []
    if all(_IDS.fullmatch(run.text) for value in field.values for run in value.runs):
        runs = (run.text.split(", ") for value in field.values for run in value.runs)
        return tuple(dict.fromkeys(chain.from_iterable(runs)))
    for entry in locate_values(field, code_alone=False):
        for part in filter(str.strip, _AND.split(entry.text)):
            item = plain(part).strip("*_[] ")
            number = NUMBER.fullmatch(item)
            if not item and "[" in part:
                continue  # data's empty list
            if known := task_id(f"TASK-{number[1]}" if number else item, prefixes):
                found.append(known)
            else:
                message = f'"{plain(part)}" is not a valid task id'
                bad.append(complain_at(entry, message, "write ids such as TASK-001, or none"))
    if bad:
        raise BadValueError(*bad)
    return tuple(dict.fromkeys(found))


def resources(field: PlanField) -> tuple[Resource, ...]:
    """Read resources such as `gpu 1, memory 4GB`; the default amount is 1."""
    found: list[Resource] = []
    bad: list[Complaint] = []
    for entry in locate_values(field):
        name, _, amount = plain(entry.text).partition(" ")
        name, amount = name.casefold().rstrip(":"), amount.strip()
        if lacks := explain_lacking(name, amount or _ONE.get(name, "1")) or _nothing(amount):
            message = f'bad amount "{entry.text}": it must be {lacks}'
            bad.append(complain_at(entry, message, "for example gpu 1, port 5432, memory 4GB"))
        found.append(Resource(name, amount or "1"))
    if bad:
        raise BadValueError(*bad)
    return tuple(found)


def _nothing(amount: str) -> str:
    return "more than 0" if amount and amount_of(amount) == 0 else ""


def requirements(field: PlanField) -> tuple[Requirement, ...]:
    """Read requirements: `root`, `secret NAME` and `tool NAME`."""
    found: list[Requirement] = []
    bad: list[Complaint] = []
    for entry in locate_values(field):
        kind, _, thing = plain(entry.text).partition(" ")
        kind, thing = kind.casefold().rstrip(":"), thing.strip()
        if kind == "root" and not thing:
            found.append(Requirement("root"))
        elif kind in ("secret", "tool") and thing and " " not in thing:
            found.append(Requirement(kind, thing))
        else:
            message = f'unknown requirement "{entry.text}"'
            bad.append(complain_at(entry, message, "write root, secret NAME or tool NAME"))
    if bad:
        raise BadValueError(*bad)
    return tuple(found)


def budget(field: PlanField) -> Budget:
    """Read a budget: `5 attempts, 30 minutes, 200k tokens, $5` in any subset."""
    found: dict[str, float] = {}
    for entry in locate_values(field):
        part = _budget_part(plain(entry.text).casefold())
        if part is None or not part[1] < _MOST_BUDGET:
            message = f'unknown budget "{entry.text}"'
            hint = "for example 5 attempts, 30 minutes, 200k tokens, $5"
            raise BadValueError(complain_at(entry, message, hint))
        found[part[0]] = part[1]
    attempts, tokens = found.get("attempts"), found.get("tokens")
    return Budget(
        attempts=None if attempts is None else int(attempts),
        minutes=found.get("minutes"),
        tokens=None if tokens is None else int(tokens),
        dollars=found.get("dollars"),
    )


def _budget_part(text: str) -> tuple[str, float] | None:
    if match := re.fullmatch(
        r"(?:\$|usd\s*)(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*(?:\$|usd|dollars?)", text
    ):
        return "dollars", float(match[1] or match[2])
    if match := re.fullmatch(r"(\d+)\s*attempts?", text):
        return "attempts", float(match[1])
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([km]?)\s*tokens?", text):
        return "tokens", float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2]]
    seconds = seconds_in(text)
    return ("minutes", seconds / 60) if seconds else None


review = choice(ReviewMode, "review")
