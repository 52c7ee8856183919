"""Parse the fields of a plainly written section from its lines, without a Markdown parser.

The scanner finds plain sections. Each field has a form that is certainly right; below are only
paragraphs, flat lists and fences at the margin. The usual readers make the values; what they
complain of is left to the reader of sections. The scanner's property test holds the two equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.model import Block, Level, TestContract
from runner.plan import proofs
from runner.plan.body import Body, read_fence
from runner.plan.fields import box_end, plain_field
from runner.plan.markdown_text import EMPTY_WORDS, literal
from runner.plan.scanner import lines_of_plain
from runner.plan.schema import READERS, Surroundings
from runner.plan.sections import Section, make_task
from runner.plan.source import Run, text_of
from runner.plan.values import BadValueError

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

    from runner.model import Task
    from runner.plan.fields import PlanField
    from runner.plan.outline import Found, OutlineTask
    from runner.plan.status import StatusSpan

_BELOW = regex(
    r"\n+"
    r"|(?P<mark>`{3,})(?P<info>[^\n]*)\n(?P<text>(?:(?!(?P=mark))[^\n]*\n)*+)(?P=mark)`*(?:\n|\Z)"
    r"|(?P<lines>(?:[^\n]+(?:\n|\Z))+)"
)
"""Empty lines, a fence, or the lines of a paragraph or list."""
_LEVELS = {str(level): level for level in Level}
_TEST = regex(r"(?:(?P<id>TC-\d+)(?: \((?P<level>[a-z0-9]+)\))?: )?(?P<command>`.*`)")


def read_plain(data: bytes, found: Found) -> Section | None:
    """Return a scanned section in the parser's form; None if it needs the parser."""
    if not found.tasks:
        return _section(found, (), ())
    fields, at, below = lines_of_plain(data, found.start)
    light, first = found.tasks[0], found.first_line
    body = Body()
    begin = first + data.count(b"\n", found.start, below)
    if not _read_below(body, text_of(data[below : found.end]), begin):
        return None
    try:
        head = data.count(b"\n", found.start, at)
        values = _values(fields, data[at:below], light, first, head)
    except BadValueError:
        return None
    task = make_task(light.id, light.title, first, body, values)
    return _section(found, (task,), (light.span,))


def _section(found: Found, tasks: tuple[Task, ...], spans: tuple[StatusSpan, ...]) -> Section:
    return Section(
        start=found.start,
        end=found.end,
        first_line=found.first_line,
        line_count=found.lines,
        level=found.level,
        title=found.title,
        tasks=tasks,
        spans=spans,
        problems=(),
        written=(),
    )


def plain_fields(written: bytes, line: int) -> list[PlanField]:
    """Return the fields of a plain task; the first one is on 0-based `line` of its section."""
    heads: list[tuple[Run, list[Run]]] = []
    text = written.decode().removesuffix("\n")
    for at, row in enumerate(text.split("\n"), line):
        if row.startswith("  - "):
            heads[-1][1].append(Run(row[4:].strip(), at, 4))
        else:
            heads.append((Run(row[2:].strip(), at, 2), []))
    return [field for head, below in heads if (field := plain_field(head, below))]


def _values(
    raw_fields: Mapping[str, bytes], written: bytes, light: OutlineTask, first_line: int, first: int
) -> dict[str, object]:
    """Return the typed values by key; `first` is the first field's 0-based line.

    Raises BadValueError for a value that the scanner took for right and that is not.
    """
    known: dict[str, object] = {
        "status": (light.status, light.note),
        "type": light.type,
        "depends_on": light.depends_on,
        "outputs": light.outputs,
    }
    values: dict[str, object] = {}
    fields: dict[str, PlanField] = {}
    around, line = Surroundings((), first_line), first_line + first
    for key, raw in raw_fields.items():
        if key in known:
            values[key] = known[key]
        elif key == "acceptance":
            values[key] = tuple(_sentences(raw.decode()))
        elif key == "test_contracts":
            values[key] = tuple(_tests(raw.decode(), line))
        else:
            fields = fields or {one.key: one for one in plain_fields(written, first)}
            values[key] = READERS[key](fields[key], around)
            if key == "contracts":
                values["no_contracts"] = proofs.no_contracts(fields[key])
        line += raw.count(b"\n")
    return values


def _sentences(lines: str) -> Iterator[str]:
    first, *below = lines.removesuffix("\n").split("\n")
    for text in (first, *(one[4 + box_end(one[4:]) :] for one in below)):
        collapsed = " ".join(text.split())
        if collapsed.casefold() not in EMPTY_WORDS:
            yield collapsed


def _tests(raw: str, line: int) -> Iterator[TestContract]:
    number = 0
    for at, text in enumerate(raw.split("\n"), line):
        match = _TEST.fullmatch(text.removeprefix("  - ").strip()) if text else None
        if match is not None:
            number += 1
            id_, level, written = match.groups()
            command = written[1:-1]
            if command[0] == command[-1] == " ":  # a blank goes from both sides
                command = literal(written)
            yield TestContract(id_ or f"TC-{number:03}", _LEVELS[level or "unit"], command, at)


def _read_below(body: Body, text: str, line: int) -> bool:
    """Sort what stands below the fields from `line` of the file on; False where it is odd."""
    at = 0
    while at < len(text):
        match = _BELOW.match(text, at)
        if match is None or not _read_part(body, match, line):
            return False
        line += match[0].count("\n")
        at = match.end()
    return True


def _read_part(body: Body, match: re.Match[str], line: int) -> bool:
    if match["lines"]:
        body.prose.append(match[0].rstrip("\n"))
        body.prose_texts.append(match[0].rstrip("\n"))
    elif match["mark"]:
        made = read_fence(match["info"], match["text"], line)
        if isinstance(made, Block):
            body.blocks.append(made)
        elif made is not None:
            return False
        else:
            body.prose.append(match[0].rstrip("\n"))
            body.examples.append(f"{match['info']}\n{match['text']}")
    return True
