"""Held-out tests in a plan: `validate`'s findings, and their lines in a section."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from runner.errors import RunnerError
from runner.lazy_pattern import regex
from runner.model import Network, Severity, Status
from runner.plan.document import read_plan
from runner.plan.edit import read_section
from runner.plan.fields import Style
from runner.plan.proofs import TEST
from runner.plan.shell.shell_commands import tests_in
from runner.plan.source import line_end_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runner.model import HeldOutFile, Task, TestContract
    from runner.plan.fields import PlanField

_INLINE = regex(
    r"(?:\S*/)?(?:python[\d.]*|pypy3?)\s+(?:-\w+\s+)*-\w*c\b"
    r"|(?:\S*/)?(?:node|deno|bun|ruby|perl|php)\s+(?:-\S+\s+)*(?:-[epr]|--eval|--print|eval)\b"
)
"""A program that gets code on its command line."""
_PATH = regex(r"(?:\.{0,2}/|[\w@.\[\]-]+/|[\w.-]+\.[a-z]{1,4}\Z)\S*")
_MOST_NESTED = 3
_CONTRACTS, _FILES = "test_contracts", "held_out_files"
_LEAD = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]+")


class HeldOutProblem(NamedTuple):
    """A fault in the fields of held-out tests; `line` is that of a contract, 0 for the heading."""

    task: Task
    message: str
    hint: str
    line: int = 0
    severity: Severity = Severity.ERROR


def find_problems(
    tasks: Sequence[Task], is_agent: Callable[[Task], bool]
) -> Iterator[HeldOutProblem]:
    """Yield what is wrong with held-out tests, and one note for what agents could read."""
    for task in tasks:
        if task.test_author and not task.acceptance:
            yield HeldOutProblem(
                task,
                f"{task.id} has a Test author but no Acceptance",
                "add Acceptance with items such as A1: an end before its start is refused",
            )
        files, tests = task.held_out_files, task.test_contracts if task.test_author else ()
        is_run = any(runs_file(test.command, one.path) for test in tests for one in files)
        if files and not task.held_out_contracts and not is_run:
            yield HeldOutProblem(
                task,
                f"{task.id} has held-out files but no held-out test contract",
                f"mark the contract that runs them: TC-001 (unit, held out): `{_suggest(task)}`",
            )
        for test in task.held_out_contracts:
            if fault := _fault(task, test):
                yield HeldOutProblem(task, *fault, test.line)
    yield from _find_open(tasks, is_agent)


def _fault(task: Task, test: TestContract) -> tuple[str, str] | None:
    name = f"{test.id} of {task.id}"
    if _INLINE.search(test.command):
        return (
            f"{name} is held out, but its command contains the test itself",
            "move the test into a file and hold it out: runner hold-out TASK FILE",
        )
    if task.network in (Network.YES, Network.REGISTRIES):
        return (
            f"{name} is held out and runs without a network, but Network is {task.network}",
            "remove Network from the task, or `held out` from the contract",
        )
    if not task.held_out_files:
        return (
            f"{name} is held out, but the task has no Held-out files",
            f"hide its test files from the implementer: runner hold-out {task.id} FILE",
        )
    if not any(runs_file(test.command, one.path) for one in task.held_out_files):
        return (
            f"{name} is held out, but runs none of the Held-out files",
            f"name one of them in the command, such as {task.held_out_files[0].path}",
        )
    return None


def _find_open(tasks: Sequence[Task], is_agent: Callable[[Task], bool]) -> Iterator[HeldOutProblem]:
    """Yield one note on all agent tasks without held-out tests."""
    found = [
        task
        for task in tasks
        if task.status is not Status.DONE
        and task.writes_anything
        and not (task.held_out_contracts or task.test_author)
        and is_agent(task)
    ]
    if found:
        rest = len(found) - 1
        yield HeldOutProblem(
            found[0],
            f"agents build {found[0].id} and {rest} more tasks, and can read all of their tests"
            if rest
            else f"an agent builds {found[0].id} and can read all of its tests",
            "hold tests out: runner hold-out TASK FILE, or name a Test author",
            severity=Severity.NOTE,
        )


def _suggest(task: Task) -> str:
    return f"COMMAND {task.held_out_files[0].path}"


def names_file(command: str, path: str) -> bool:
    """Return whether a command names a file, with or without the id of a test in it."""
    return any(word == path for word in paths_in(command))


def runs_file(command: str, path: str) -> bool:
    """Return whether a command runs a test file, as far as its words say so.

    It names the file, a folder above it or its stem, or it is a test program that names no path.
    """
    words = tuple(_split(command))
    named = paths_in(command)
    parents = {str(folder) for folder in PurePosixPath(path).parents}
    if any(word == path or word in parents for word in named):
        return True
    return PurePosixPath(path).stem in words or (not named and tests_in(command))


def paths_in(command: str) -> tuple[str, ...]:
    """Return the words of a command that are written as paths; `./a/...` is `a`."""
    found = (word for word in _split(command) if not word.startswith("-") and _PATH.match(word))
    return tuple(_plain(word) for word in found)


def _plain(word: str) -> str:
    path = word.partition("::")[0].removesuffix("...").rstrip("/") or "."
    return str(PurePosixPath(path))


def _split(command: str, depth: int = 0) -> Iterable[str]:
    """Yield the words of a command, including those of nested commands (`sh -c '…'`)."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    for word in words:
        if " " in word and depth < _MOST_NESTED:
            yield from _split(word, depth + 1)
        else:
            yield word.strip(";&|()")


class HeldOutLines(NamedTuple):
    """The held-out lines for a task's section."""

    files: tuple[HeldOutFile, ...]
    mark: frozenset[str] = frozenset()
    """IDs of visible contracts that become held out."""
    add: tuple[tuple[str, str], ...] = ()
    """ID and command of new held-out contracts."""
    drop: frozenset[str] = frozenset()
    """IDs of contracts to remove."""
    level: str = "unit, held out"
    """Text in the parentheses of new contracts; without `held out` they are visible."""

    def show(self) -> str:
        """Return the lines as a person would write them."""
        contracts = [f"  - {id_} ({self.level}): `{command}`" for id_, command in self.add]
        files = [f"  - `{one.path}` {one.digest}" for one in self.files]
        head = ["- Test contracts:"] if contracts else []
        return "\n".join((*head, *contracts, "- Held-out files:", *files))


def write_held_out(
    data: bytes, task_id: str, wanted: HeldOutLines, prefixes: tuple[str, ...] = ()
) -> bytes:
    """Return the plan with these lines in the section of a task.

    Raises RunnerError, with the lines to write, where the section cannot be edited safely.
    """
    task = _find(data, task_id, prefixes)
    _, _, body = read_section(data, task)
    page = _Page(data, task.line - 1)
    fields: dict[str, PlanField] = {}
    for field in body.fields:
        if field.key in (_CONTRACTS, _FILES) and field.key in fields:
            raise _refuse(task_id, wanted)
        fields[field.key] = field
    anchor = fields.get(_CONTRACTS) or (body.fields[-1] if body.fields else None)
    held = [one for one in (anchor, fields.get(_FILES)) if one is not None]
    if anchor is None or any(
        one.style is not Style.LIST or any("\n" in value.text for value in one.values)
        for one in held
    ):
        raise _refuse(task_id, wanted)
    page.edit_contracts(fields.get(_CONTRACTS), anchor, task, wanted)
    page.edit_files(fields.get(_FILES), anchor, wanted)
    edited = page.join()
    _require_exact(task, edited, wanted, prefixes)
    return edited


def _find(data: bytes, task_id: str, prefixes: tuple[str, ...]) -> Task:
    tasks = read_plan(data, "TASK-GRAPH.md", prefixes=prefixes).tasks
    found = next((each for each in tasks if each.id == task_id), None)
    if found is None:
        raise RunnerError(
            f"the plan has no task {task_id}", hint="`runner status --list` shows the ids"
        )
    return found


def _refuse(task_id: str, wanted: HeldOutLines) -> RunnerError:
    return RunnerError(
        f"the fields of {task_id} have a form that the runner cannot edit",
        hint=f"write these lines into its section, then repeat the command:\n{wanted.show()}",
    )


def _require_exact(
    task: Task, edited: bytes, wanted: HeldOutLines, prefixes: tuple[str, ...]
) -> None:
    """Raise RunnerError unless the new text says exactly what was wanted of the task."""
    now = _find(edited, task.id, prefixes)
    held = {one.id for one in task.held_out_contracts} | wanted.mark
    hidden = {id_ for id_, _ in wanted.add if "held out" in wanted.level}
    held = (held | hidden) - wanted.drop
    commands = {one.id: one.command for one in task.test_contracts if one.id not in wanted.drop}
    if (
        now.held_out_files != wanted.files
        or {one.id for one in now.held_out_contracts} != held
        or {one.id: one.command for one in now.test_contracts} != commands | dict(wanted.add)
        or now.spec.what != task.spec.what
    ):
        raise _refuse(task.id, wanted)


class _Page:
    """The lines of the file, and what replaces or follows them."""

    def __init__(self, data: bytes, first: int) -> None:
        self._lines = data.splitlines(keepends=True)
        self._first = first
        self._end = line_end_of(data)
        self._new: dict[int, str | None] = {}
        self._behind: dict[int, list[str]] = {}

    def join(self) -> bytes:
        """Return the new text."""
        return b"".join(self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        for number, line in enumerate(self._lines):
            text = line
            if number in self._new:
                new = self._new[number]
                ending = line[len(line.rstrip(b"\r\n")) :]
                text = b"" if new is None else _encode(new) + ending
            behind = self._behind.get(number, ())
            if behind and text and not text.endswith((b"\n", b"\r")):
                text += self._end
            yield text
            yield from (_encode(one) + self._end for one in behind)

    def edit_contracts(
        self, field: PlanField | None, anchor: PlanField, task: Task, wanted: HeldOutLines
    ) -> None:
        """Mark, drop and add contracts."""
        numbers = {one.id: one.line - 1 - self._first for one in task.test_contracts}
        for id_ in wanted.mark:
            self._mark(numbers[id_], id_)
        for id_ in wanted.drop:
            self._new[self._first + numbers[id_]] = None
        added = [f"{id_} ({wanted.level}): `{command}`" for id_, command in wanted.add]
        if field is None and added:
            lead = self._lead(anchor.name.line)
            inner = " " * len(lead)
            lines = [f"{lead}Test contracts:", *(f"{inner}- {one}" for one in added)]
            self._put(_last_line(anchor), lines)
        elif field is not None:
            self._put(_last_line(field), [f"{self._item_lead(field)}{one}" for one in added])
            gone = {numbers[id_] for id_ in wanted.drop}
            lines_of = {run.line for value in field.values for run in value.runs}
            if lines_of and lines_of <= gone and not added:
                self._new[self._first + field.name.line] = None

    def edit_files(self, field: PlanField | None, anchor: PlanField, wanted: HeldOutLines) -> None:
        """Write the files anew, in the place of the lines that are there."""
        items = [f"`{one.path}` {one.digest}" for one in wanted.files]
        if field is not None:
            lead = self._lead(field.name.line)
            for number in range(field.name.line, _last_line(field) + 1):
                self._new[self._first + number] = None
            place, inner = field.name.line, self._item_lead(field)
        else:
            lead, place = self._lead(anchor.name.line), _last_line(anchor)
            inner = " " * len(lead) + "- "
        if items:
            self._put(place, [f"{lead}Held-out files:", *(f"{inner}{one}" for one in items)])

    def _mark(self, line: int, id_: str) -> None:
        text = self._text(line)
        lead = _LEAD.match(text)
        start = lead.end() if lead else 0
        if ":" in text[start:] and text[start:].casefold().startswith("test contracts:"):
            start += len("test contracts:")
            start += len(text[start:]) - len(text[start:].lstrip())
        match = TEST.match(text, start)
        if match and match["level"]:
            at = match.end("level")
            new = f"{text[:at]}, held out{text[at:]}"
        elif match:
            at = match.end("id")
            new = f"{text[:at]} (unit, held out){text[at:]}"
        else:
            new = f"{text[:start]}{id_} (unit, held out): {text[start:]}"
        self._new[self._first + line] = new

    def _put(self, line: int, texts: list[str]) -> None:
        if texts:
            self._behind.setdefault(self._first + line, []).extend(texts)

    def _text(self, line: int) -> str:
        raw = self._lines[self._first + line].rstrip(b"\r\n")
        return raw.decode("utf-8", "surrogateescape")

    def _lead(self, line: int) -> str:
        """Return the start of a field's line: indentation and list marker."""
        match = _LEAD.match(self._text(line))
        return match[0] if match else "- "

    def _item_lead(self, field: PlanField) -> str:
        """Return the start of an item below a field."""
        below = [run.line for value in field.values for run in value.runs[:1]]
        nested = next((line for line in reversed(below) if line != field.name.line), None)
        if nested is not None:
            return self._lead(nested)
        return " " * len(self._lead(field.name.line)) + "- "


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _last_line(field: PlanField) -> int:
    """Return the last 0-based line of a field in its section."""
    return max([field.name.line, *(run.line for value in field.values for run in value.runs)])
