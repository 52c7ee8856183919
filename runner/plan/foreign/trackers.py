"""Parse Task Master's tasks.json, beads' issues.jsonl, and Backlog.md files.

Sources: each tool's own documentation of its files.
"""

from __future__ import annotations

import json
import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # untyped; it tells where a text ends
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from runner.errors import RunnerError
from runner.lazy_module import lazy_module
from runner.model.task import PRIORITIES
from runner.plan.foreign.tasks import (
    DoneMark,
    ForeignPlan,
    ForeignState,
    ForeignTask,
    Form,
    paths_in,
    title_of,
)
from runner.text.foreign_documents import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import yaml
else:
    yaml = lazy_module("yaml")

_DONE = frozenset({"done", "completed", "complete", "closed", "finished"})
_DROPPED = frozenset({"cancelled", "canceled", "tombstone", "deleted", "duplicate", "archived"})
_DEEPEST = 40
"""Maximum nesting of JSON; tasks are at the fourth level."""


class _Value(Struct, frozen=True):
    """A value of a JSON text: `of` is a dict or list of these, or a plain value."""

    of: Any
    start: int
    end: int

    def get(self, name: str) -> Any:
        """Return the plain value of a member, or None."""
        return plain(self.of[name]) if isinstance(self.of, dict) and name in self.of else None


def plain(value: _Value) -> Any:
    """Convert a value to plain JSON values without positions."""
    if isinstance(value.of, dict):
        return {name: plain(one) for name, one in value.of.items()}
    return [plain(one) for one in value.of] if isinstance(value.of, list) else value.of


_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")


def _read(text: str, at: int, depth: int = 0) -> _Value:
    """Parse the JSON value at `at` with positions. Raises JSONDecodeError."""
    at = _skip(text, at)
    char = text[at : at + 1]
    if depth > _DEEPEST:
        raise JSONDecodeError("nested too deeply", text, at)
    if char == '"':
        string, end = scanstring(text, at + 1)
        return _Value(string, at, end)
    if char in ("{", "["):
        return _read_many(text, at, depth)
    found = _WORD.match(text, at)
    if found is None:
        raise JSONDecodeError("expected a value", text, at)
    words = {"true": True, "false": False, "null": None}
    word = found[0]
    return _Value(words[word] if word in words else float(word), at, found.end())


def _read_many(text: str, start: int, depth: int) -> _Value:
    is_object, close = text[start] == "{", "}" if text[start] == "{" else "]"
    members: dict[str, _Value] = {}
    items: list[_Value] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        name = ""
        if is_object:
            # Whatever is in a name's place must not nest further.
            key = _read(text, at, _DEEPEST)
            name, at = str(key.of), _skip(text, key.end)
            if text[at : at + 1] != ":":
                raise JSONDecodeError("expected a colon", text, at)
            at += 1
        value = _read(text, at, depth + 1)
        items.append(value)
        # For a duplicate name the last value counts, as in most parsers (RFC 8259, 4).
        members[name] = value
        at = _skip(text, value.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != close:
            raise JSONDecodeError("expected a comma", text, at)
    return _Value(members if is_object else items, start, at + 1)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


class _Lines:
    """The line of a place; places are asked for in their order."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def find(self, at: int) -> int:
        self._line += self._text.count("\n", self._at, at)
        self._at = max(at, self._at)
        return self._line


def _name(value: object) -> str:
    """Return an ID as text: `5`, `5.2`, `bd-a1b2`."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | float) and value != "" else ""


def _mark(value: _Value, done: str, still_open: str) -> tuple[ForeignState, DoneMark | None]:
    status = value.of.get("status") if isinstance(value.of, dict) else None
    if status is None or not isinstance(status.of, str):
        return ForeignState.OPEN, None
    return _state(status.of), DoneMark(status.start + 1, status.end - 1, done, still_open)


def _state(word: str) -> ForeignState:
    folded = word.strip().casefold()
    if folded in _DONE:
        return ForeignState.DONE
    return ForeignState.DROPPED if folded in _DROPPED else ForeignState.OPEN


def _texts(*parts: tuple[str, object]) -> str:
    texts = ((head, one.strip()) for head, one in parts if isinstance(one, str) and one.strip())
    return "\n\n".join(f"{head}{one}" for head, one in texts)


def read_task_master(text: str) -> ForeignPlan:
    """Parse the tasks of every tag. Raises RunnerError if the file is invalid."""
    try:
        whole = _read(text, 0)
    except JSONDecodeError as error:
        raise RunnerError(f"not valid JSON: {error}", hint="fix that line") from None
    lines = _Lines(text)
    tasks: list[ForeignTask] = []
    for tag, listed in _tags(whole):
        prefix = "" if tag in ("", "master") else f"{tag}/"
        known = (one for one in listed if isinstance(one.of, dict))
        tasks.extend(_of_task_master(one, prefix, lines) for one in known)
    return ForeignPlan(Form.TASK_MASTER, tuple(tasks))


def _tags(whole: _Value) -> Iterator[tuple[str, Sequence[_Value]]]:
    if not isinstance(whole.of, dict):
        return
    if "tasks" in whole.of and isinstance(whole.of["tasks"].of, list):
        yield "", whole.of["tasks"].of
        return
    for tag, value in whole.of.items():
        listed = value.of.get("tasks") if isinstance(value.of, dict) else None
        if listed is not None and isinstance(listed.of, list):
            yield tag, listed.of


def _of_task_master(value: _Value, prefix: str, lines: _Lines) -> ForeignTask:
    line = lines.find(value.start)
    id_ = _name(value.get("id"))
    state, mark = _mark(value, "done", "pending")
    details, strategy = value.get("details"), value.get("testStrategy")
    needs = (_name(one).partition(".")[0] for one in _listed(value.get("dependencies")))
    below = [one for one in _listed(value.get("subtasks")) if isinstance(one, dict)]
    return ForeignTask(
        f"{prefix}{id_}" if id_ else f"line {line}",
        title_of(str(value.get("title") or "")) or f"Task {id_}",
        line,
        state,
        mark,
        needs=tuple(dict.fromkeys(f"{prefix}{one}" for one in needs if one and one != id_)),
        paths=paths_in(str(details or "")),
        acceptance=tuple(title_of(str(one.get("title") or "")) for one in below),
        priority=_priority(value.get("priority")),
        prose=_texts(("", value.get("description")), ("", details), ("Test strategy: ", strategy)),
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _priority(value: object) -> str:
    if isinstance(value, float) and value in range(len(PRIORITIES)):
        return PRIORITIES[int(value)]
    word = str(value or "").casefold()
    return word if word in PRIORITIES else ""


def read_beads(text: str) -> ForeignPlan:
    """Read one issue a line; report each line that is no issue."""
    tasks: list[ForeignTask] = []
    left: list[tuple[int, str]] = []
    parents: dict[str, list[str]] = {}
    position = 0
    for number, raw in enumerate(text.split("\n"), 1):
        begin, position = position, position + len(raw) + 1
        if not raw.strip():
            continue
        try:
            value = _read(text, begin)
        except JSONDecodeError:
            left.append((number, "is not valid JSON"))
            continue
        if isinstance(value.of, dict) and _name(value.get("id")):
            tasks.append(_of_beads(value, number, parents, left))
        else:
            left.append((number, "is not an issue"))
    return ForeignPlan(Form.BEADS, tuple(with_children(tasks, parents)), tuple(left))


def _of_beads(
    value: _Value, line: int, parents: dict[str, list[str]], left: list[tuple[int, str]]
) -> ForeignTask:
    id_ = _name(value.get("id"))
    state, mark = _mark(value, "closed", "open")
    needs: list[str] = []
    for one in _listed(value.get("dependencies")):
        other = _name(one.get("depends_on_id")) if isinstance(one, dict) else ""
        kind = one.get("type", "blocks") if isinstance(one, dict) else ""
        if kind == "blocks" and other:
            needs.append(other)
        elif kind == "parent-child" and other:
            parents.setdefault(other, []).append(id_)
        elif other:
            left.append((line, f"{id_} {kind} {other}"))
    asked = value.get("acceptance_criteria")
    prose = _texts(("", value.get("description")), ("Design: ", value.get("design")))
    return ForeignTask(
        id_,
        title_of(str(value.get("title") or "")) or f"Task {id_}",
        line,
        state,
        mark,
        needs=tuple(dict.fromkeys(one for one in needs if one != id_)),
        paths=paths_in(prose),
        acceptance=tuple(_lines_of(asked)),
        keywords=tuple(str(one) for one in _listed(value.get("labels"))),
        priority=_priority(value.get("priority")),
        prose=prose,
    )


def _lines_of(value: object) -> Iterator[str]:
    for line in str(value or "").splitlines():
        item = re.sub(r"^\s*(?:[-*+]|\d+[.)])?\s*(?:\[[ xX]\]\s*)?(?:#\d+\s+)?", "", line).strip()
        if item:
            yield item


def with_children(
    tasks: Sequence[ForeignTask], parents: Mapping[str, Sequence[str]]
) -> Iterator[ForeignTask]:
    """Yield the tasks with each parent depending on its children."""
    for task in tasks:
        below = [one for one in parents.get(task.key, ()) if one not in task.needs]
        if not below:
            yield task
            continue
        needs = tuple(dict.fromkeys((*task.needs, *below)))
        yield replace(task, needs=needs, is_group=not task.paths)


_HEAD = re.compile(r"\A---[ \t]*\r?\n(?P<head>.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_STATUS = re.compile(
    r"^status:[ \t]*(?P<quote>['\"]?)(?P<word>[^'\"\r\n#]*?)(?P=quote)[ \t]*(?:#[^\r\n]*)?\r?$",
    re.MULTILINE,
)
_ACCEPTANCE = re.compile(r"<!--\s*AC:BEGIN\s*-->(?P<in>.*?)<!--\s*AC:END\s*-->", re.DOTALL)
_OLD_ACCEPTANCE = re.compile(
    r"^##[ \t]+Acceptance Criteria[ \t]*\r?\n(?P<in>.*?)(?=^##[ \t]|\Z)", re.DOTALL | re.MULTILINE
)
_DESCRIPTION = re.compile(
    r"^##[ \t]+Description[ \t]*\r?\n(?P<in>.*?)(?=^##[ \t]|\Z)", re.DOTALL | re.MULTILINE
)
_MARKER = re.compile(r"<!--.*?-->", re.DOTALL)
_BARE_NAME = re.compile(r"^([ \t]*(?:-|\w+:)[ \t]+)(@[^\r\n]*?)(?=[ \t]*\r?$)", re.MULTILINE)
"""People as written by old versions of the tool, `assignee: @ada`: not valid YAML."""


def read_backlog(text: str) -> ForeignPlan:
    """Parse the one task of a Backlog.md file. Raises RunnerError if it is invalid."""
    task = _of_backlog(text)[0]
    return ForeignPlan(Form.BACKLOG, (task,))


def parent_of(text: str) -> str:
    """Return the parent in a Backlog.md file, or ""."""
    return _of_backlog(text)[1]


def _of_backlog(text: str) -> tuple[ForeignTask, str]:
    found = _HEAD.match(text)
    head = _read_head(found["head"]) if found else None
    if found is None or head is None or not _plain(head.get("id")):
        raise RunnerError("not a Backlog.md task: its front matter cannot be read")
    mark, state = None, ForeignState.OPEN
    if status := _STATUS.search(text, found.start("head"), found.end("head")):
        mark = DoneMark(status.start("word"), status.end("word"), "Done", "To Do")
        state = ForeignState.DONE if status["word"] == "Done" else _state(status["word"])
    body = text[found.end() :]
    asked = _ACCEPTANCE.search(body) or _OLD_ACCEPTANCE.search(body)
    match = _DESCRIPTION.search(body)
    prose = _MARKER.sub("", match["in"]).strip() if match else ""
    id_ = _plain(head["id"]).casefold()
    needs = (_plain(one).casefold() for one in _listed(head.get("dependencies")))
    task = ForeignTask(
        id_,
        title_of(_plain(head.get("title"))) or id_,
        1,
        state,
        mark,
        needs=tuple(dict.fromkeys(one for one in needs if one and one != id_)),
        paths=paths_in(prose),
        acceptance=tuple(_lines_of(asked["in"])) if asked else (),
        keywords=tuple(_strings(head.get("labels"))),
        priority=_priority(_plain(head.get("priority"))),
        prose=prose,
    )
    return task, _plain(head.get("parent_task_id")).casefold()


def _read_head(text: str) -> dict[str, Any] | None:
    if "&" in text and re.search(r"(?:^|[\s\[,:])\*\w", text):
        return None  # an alias: a head of a few lines may name itself a million times
    for source in (text, _BARE_NAME.sub(lambda one: one[1] + json.dumps(one[2]), text)):
        try:
            head = read_yaml(source)
        except yaml.YAMLError:
            continue
        return head if isinstance(head, dict) else None
    return None


def _plain(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _strings(value: object) -> Iterable[str]:
    return (str(one) for one in _listed(value) if isinstance(one, str | int | float))
