"""Ask an agent or model for a task's plan, and parse it from the last message.

Asked for is a fenced block whose info string is `json plan`. Read is what people and models make
of that: another fence that holds such an object, the object alone, headings with lists below
them, or just one numbered list. Nothing here judges the plan.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from runner.context.task_plan import path_in, read_plan
from runner.lazy_pattern import regex
from runner.model import Phase, TaskPlan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ASKED_FOR = """\
End your answer with the plan in exactly one fenced block, as JSON:

```json plan
{
  "steps": ["what is done first", "what is done then"],
  "files": ["every/path/that/will/be/created/or/modified.py"],
  "context": ["paths/that/must/be/read.py"],
  "type": "the kind of task",
  "gates": ["checks that will pass, such as TC-003"],
  "phases": []
}
```

`files` is binding: no other file may be written later. `phases` stays empty unless the work is
large and each phase can be proven by itself; then each is
`{"title": "…", "steps": ["…"], "files": ["…"]}`.
"""
_EXAMPLES = ("every/path/that/will/be/created/or/modified.py",)
_OPENS = regex(r" {0,3}(`{3,}|~{3,})[ \t]*([^`]*)")
_CLOSES = regex(r" {0,3}(`{3,}|~{3,})[`~]*[ \t]*")
_NUMBERED = regex(r"^ {0,3}\d{1,3}[.)]\s+(\S.*)$", re.MULTILINE)
_PATH = regex(r"`(/?[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z0-9]{1,8}|/?[\w.@+-]+(?:/[\w.@+-]+)+)`")
_FIELDS = frozenset({"steps", "files", "context", "type", "gates", "phases"})
_OTHER_NAMES = {
    "step": "steps",
    "file": "files",
    "output_files": "files",
    "outputs": "files",
    "context_files": "context",
    "inputs": "context",
    "task_type": "type",
    "checks": "gates",
}
_MOST = 1 << 20
_SHOWN, _SHOWN_LENGTH = 6, 40


def plan_in(text: str) -> TaskPlan | None:
    """Return the last plan in a message, or None."""
    text = text[-_MOST:].replace("\r\n", "\n")
    for candidate in _objects(text):
        found = _plan_of(candidate)
        if found is not None and found.files != _EXAMPLES:  # who repeats the question says nothing
            return found
    sheet = read_plan(text)
    return sheet if sheet.steps else _parse_list(text, sheet)


def why_no_plan(text: str) -> str:
    """Return why a message has no plan, as the end of a sentence."""
    text = text[-_MOST:].replace("\r\n", "\n").strip()
    if not text:
        return "the answer is empty"
    found = [one for one in _objects(text) if isinstance(one, dict)]
    if any(_plan_of(one) for one in found):
        return "it is a copy of the example"
    if found:
        given = found[0].get("plan") if isinstance(found[0].get("plan"), dict) else found[0]
        return f"the JSON object needs `steps` and, for example, `files`; it has {_keys(given)}"
    for fence in reversed(_find_fences(text)):
        if "json" in fence.info or "plan" in fence.info:
            return f"the block is not valid JSON{_mistake(fence.body)}"
    if text.startswith("{"):
        return f"the answer is not valid JSON{_mistake(text)}"
    return "the last message has neither a block of JSON nor a numbered list"


def _keys(found: object) -> str:
    names = [str(name) for name in found][:_SHOWN] if isinstance(found, dict) else []
    return ", ".join(ascii(name[:_SHOWN_LENGTH]) for name in names) or "nothing"


def _mistake(text: str) -> str:
    try:
        json.loads(text)
    except ValueError as error:
        return f" ({error})"
    except RecursionError:
        return " (nested too deeply)"
    return ""


# --- fences ---------------------------------------------------------------------------


class _Fence(NamedTuple):
    """A fenced block (CommonMark, section 4.5)."""

    info: str
    """Info string in lower case."""
    body: str


def _find_fences(text: str) -> list[_Fence]:
    """Yield the closed blocks of a text.

    Line by line: one regular expression scans to the end for each unclosed block and holds the GIL.
    """
    lines = text.split("\n")
    closing = [(found[1] if (found := _CLOSES.fullmatch(line)) else "") for line in lines]
    longest = _measure_fence_runs(closing)
    fences: list[_Fence] = []
    at = 0
    while at < len(lines) - 1:
        opened = _OPENS.fullmatch(lines[at])
        at += 1
        if opened and longest[opened[1][0]][at] >= len(opened[1]):
            end = at
            while not closing[end].startswith(opened[1]):
                end += 1
            fences.append(_Fence(opened[2].lower(), "\n".join(lines[at:end])))
            at = end + 1
    return fences


def _measure_fence_runs(closing: Sequence[str]) -> dict[str, list[int]]:
    """Return by sign, for each line, the longest run that closes a fence from there on."""
    rests = {sign: [0] * (len(closing) + 1) for sign in "`~"}
    for at in range(len(closing) - 1, -1, -1):
        for sign, rest in rests.items():
            rest[at] = max(rest[at + 1], len(closing[at]) if closing[at][:1] == sign else 0)
    return rests


# --- JSON -----------------------------------------------------------------------------


def _objects(text: str) -> Iterator[object]:
    """Yield the objects in a text that may be the plan: marked blocks first, last one first."""
    fences = _find_fences(text)
    for is_marked in (True, False):
        for fence in reversed(fences):
            if ("plan" in fence.info.split()) is is_marked:
                yield from _load_json(fence.body)
    yield from _load_json(text)
    if 0 <= (start := text.find("{")) < (end := text.rfind("}")):
        yield from _load_json(text[start : end + 1])


def _load_json(text: str) -> Iterator[object]:
    try:
        yield json.loads(text)
    except (ValueError, RecursionError):
        return


def _plan_of(found: object) -> TaskPlan | None:
    if isinstance(found, dict) and isinstance(found.get("plan"), dict):
        found = found["plan"]
    if not isinstance(found, dict):
        return None
    fields = {_OTHER_NAMES.get(str(name).lower(), str(name).lower()): found[name] for name in found}
    steps = tuple(_texts(fields.get("steps")))
    if not steps or _FIELDS.isdisjoint(fields.keys() - {"steps"}):
        return None
    phases = fields.get("phases")
    return TaskPlan(
        steps=steps,
        files=tuple(_paths(fields.get("files"))),
        context=tuple(_paths(fields.get("context"))),
        type=fields["type"] if isinstance(fields.get("type"), str) else "",
        gates=tuple(_texts(fields.get("gates"))),
        phases=tuple(_phases(phases if isinstance(phases, list) else [])),
    )


def _phases(rows: Iterable[object]) -> Iterator[Phase]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, dict):
            title = row.get("title") or row.get("name") or f"Phase {number}"
            steps, files = _texts(row.get("steps")), _paths(row.get("files"))
            yield Phase(str(title), tuple(steps), tuple(files))


_NAMED = ("step", "title", "description", "text", "path", "name")
"""Keys that models use for the text of an entry that is an object."""


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a list, whose entries may be objects with a text."""
    rows = value if isinstance(value, list) else [value]
    for row in rows:
        named = [row.get(name) for name in _NAMED] if isinstance(row, dict) else [row]
        text = next((one for one in named if isinstance(one, str)), "")
        if text.strip():
            yield " ".join(text.split())


def _paths(value: object) -> Iterator[str]:
    return (path_in(text) for text in _texts(value))


# --- prose ----------------------------------------------------------------------------


def _parse_list(text: str, sheet: TaskPlan) -> TaskPlan | None:
    """Read a numbered list without headings: its items are the steps.

    The files are those that the `sheet` has, else the paths that the steps show.
    """
    steps = tuple(" ".join(found[1].split()) for found in _NUMBERED.finditer(text))
    if not steps:
        return None
    shown = dict.fromkeys(found[1] for step in steps for found in _PATH.finditer(step))
    files = sheet.files or tuple(path.removeprefix("./") for path in shown)
    return replace(sheet, steps=steps, files=files)
