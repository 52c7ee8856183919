"""Sort the content below a task's heading: fields, prose, quotes, commands, file blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from runner.lazy_pattern import regex
from runner.model import Block, BlockKind
from runner.plan import fields as styles
from runner.plan.fields import PlanField, Taken, items_of
from runner.plan.markdown import Kind, Node
from runner.plan.values import Complaint, path_complaint

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from runner.plan.source import Source


_COMMANDS = frozenset(("command", "test_contracts"))
"""Fields whose value may be in a fence below them."""
_COMMAND = regex(r"!(?P<kind>change|replay)(?:\s+(?P<text>.*))?$")
_QUOTE = regex(r"^ {0,3}> ?")
_CHANGE = regex(r"CHANGE-\d+")


class Directive(NamedTuple):
    """A `!change` or `!replay` line; `line` counts from 0 in the source."""

    kind: str
    text: str
    line: int


class Body(Struct):
    """The parts of one task's section; filled block by block, then only read."""

    fields: list[PlanField] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    prose_texts: list[str] = field(default_factory=list)
    """Prose without its fenced examples, whose white space is significant."""
    examples: list[str] = field(default_factory=list)
    """Fenced blocks of the prose, byte for byte."""
    blocks: list[Block] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    complaints: list[Complaint] = field(default_factory=list)
    holders: list[Node] = field(default_factory=list)
    """Blocks that contain fields."""


def read_body(nodes: Sequence[Node], source: Source) -> Body:
    """Sort the blocks below a heading.

    Fields stand before the first heading further down; right under the task's heading they are
    recognised more freely than below prose.
    """
    body = Body()
    at_top = in_head = True
    open_field = False
    for node in nodes:
        if node.kind is Kind.HEADING:
            in_head = False
        continues = open_field and body.fields[-1].style is styles.Style.LINE
        taken = _take_node(node, source, at_top=at_top, continues=continues) if in_head else None
        if open_field and taken is None and _holds_items(node, body.fields[-1], source):
            _add_items(body, node, source)
            open_field = False
            continue
        if taken:
            _take(body, node, taken)
            open_field = not taken.prose and not taken.fields[-1].values
            continue
        open_field = False
        if node.kind is Kind.RULE or _is_comment(node, source):
            continue
        at_top = False
        _read_prose(body, node, source)
    return body


def _take_node(node: Node, source: Source, *, at_top: bool, continues: bool) -> Taken | None:
    if node.kind is Kind.LIST:
        return None if continues else styles.from_list(node, source, at_top=at_top)
    if node.kind is Kind.PARAGRAPH:
        return styles.from_paragraph(node, source, at_top=at_top)
    if node.kind is Kind.TABLE:
        return styles.from_table(node, source, at_top=at_top)
    return None


def _holds_items(node: Node, field: PlanField, source: Source) -> bool:
    """Return whether a block has the items of the empty field before it: list or fence.

    A list below a field that is an item itself is the next of its neighbours.
    """
    if node.kind is Kind.FENCE:
        return field.key in _COMMANDS and block_of(node, source) is None
    return node.kind is Kind.LIST and field.style is styles.Style.LINE


def _add_items(body: Body, node: Node, source: Source) -> None:
    values = tuple(items_of([node], source))
    body.fields[-1] = styles.with_items(body.fields[-1], values)


def _take(body: Body, node: Node, taken: Taken) -> None:
    body.fields.extend(taken.fields)
    body.holders.append(node)
    _add_lines(body, taken.prose)


def _is_comment(node: Node, source: Source) -> bool:
    return node.kind is Kind.HTML and source.lines[node.start].lstrip().startswith("<!--")


def _read_prose(body: Body, node: Node, source: Source) -> None:
    is_block = False
    for fence in fences([node]):
        made = block_of(fence, source)
        is_block = fence is node and made is not None
        if isinstance(made, Complaint):
            body.complaints.append(made)
        elif made:
            body.blocks.append(made)
        else:
            body.examples.append(f"{fence.info}\n{fence.text}")
    if node.kind is Kind.QUOTE:
        _read_quote(body, node, source)
    elif node.kind is Kind.PARAGRAPH:
        _add_lines(body, ((at, source.lines[at]) for at in range(node.start, node.end)))
    elif not is_block:
        text = source.between(node.start, node.end).rstrip("\n")
        body.prose.append(text)
        if node.kind is not Kind.FENCE:
            body.prose_texts.append(text)


def _add_lines(body: Body, lines: Iterable[tuple[int, str]]) -> None:
    """Add lines of prose, with command lines stored separately."""
    kept: list[str] = []
    for number, line in lines:
        if match := _COMMAND.match(line.strip()):
            body.directives.append(Directive(match["kind"], (match["text"] or "").strip(), number))
        else:
            kept.append(line)
    if text := "\n".join(kept).strip("\n"):
        body.prose.append(text)
        body.prose_texts.append(text)


def _read_quote(body: Body, node: Node, source: Source) -> None:
    """Read a quote: the changes that it records, or prose."""
    lines = [_QUOTE.sub("", source.lines[number]) for number in range(node.start, node.end)]
    first = next((at for at, line in enumerate(lines) if _CHANGE.match(line)), len(lines))
    if first:
        text = source.between(node.start, node.start + first).rstrip("\n")
        body.prose.append(text)
        body.prose_texts.append(text)
    for line in lines[first:]:
        if _CHANGE.match(line):
            body.changes.append(line.strip())
        elif line.strip():
            body.changes[-1] += " " + line.strip()


_WORD = regex(
    r"""(?P<key>[A-Za-z]+)=(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>\S*))|(?P<word>\S+)"""
)
_NAMED = regex(
    r"""(?:path|filename|filepath|title|name|src|target)\s*[=:]\s*["']?(?P<p>[^"'\s}]+)"""
)
_LANG_PATH = regex(r"[A-Za-z0-9+#-]+[:](?P<p>[\w./-]+\.\w+)")
_PATH = regex(r"(?:\./)?[\w@.+-]+(?:/[\w@.+-]+)*\.[A-Za-z]\w{0,7}|[\w@.+-]+(?:/[\w@.+-]+)+")
_COMMENT = regex(
    r"\s*+(?:#|//|/\*++|<!--|--|;++|%)\s*+(?:(?:file|path|filename)\s*+[:=]\s*+)?"
    r"(?P<p>[^\s*]++)\s*+(?:\*/|-->)?\s*+"
)
_LABEL = regex(
    r"(?:(?:file|path|create|write|in|new file)(?:\s*+:\s++|\s++))?[*_`]{0,6}"
    r"(?P<p>[\w@./+-]+\.[A-Za-z]\w*+)"
    r"[*_`]*+\s*+(?:\((?:new|changed|edited|modified|created)\))?\s*+:?[*_]*+",
    re.IGNORECASE,
)
"""A line with a path and little else."""
_SHELLS = frozenset({"sh", "bash", "shell", "zsh"})
_PATCHES = frozenset({"diff", "patch"})


def fences(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield all fences from top to bottom, including those in list items."""
    for node in nodes:
        if node.kind is Kind.FENCE:
            yield node
        for item in node.items:
            yield from fences(item.children)


def block_of(node: Node, source: Source) -> Block | Complaint | None:
    """Return the block of a fence or a complaint; None if it is only an example."""
    made = read_fence(node.info, node.text, node.start + source.first_line)
    return made if made is None or isinstance(made, Block) else _complaint(node, source, *made)


def read_fence(info: str, text: str, line: int) -> Block | tuple[str, str] | None:
    """Parse a fence into a block; return message and hint if it is wrong, None if it is text.

    `file=PATH` (quoted when it holds blanks) writes a file, with `diff` patches one, with `delete`
    removes one; `sh run` runs its text.
    """
    file, words = _read(info)
    if file is None:
        runs = words[:1] and words[0].casefold() in _SHELLS and "run" in words[1:]
        return Block(BlockKind.RUN, "", text, line) if runs else None
    path = file.removeprefix("./")
    if complaint := path_complaint(path):
        return complaint
    if "delete" in words:
        if text.strip():
            return (
                f'the block that deletes "{path}" is not empty',
                "remove the block's text, or the word delete from its first line",
            )
        return Block(BlockKind.DELETE, path, "", line)
    is_patch = bool(words) and words[0].casefold() in _PATCHES
    return Block(BlockKind.PATCH if is_patch else BlockKind.FILE, path, text, line)


def suggest_fence(
    node: Node, source: Source, label: str = "", outputs: Collection[str] = ()
) -> str:
    """Return the correct opening of a fence whose path is not in a supported place; else empty.

    In its info string (`python src/a.py`, `python:src/a.py`, `title="src/a.py"`), alone in a
    comment on its first line, or alone in the `label`: the paragraph or heading above it. A bare
    name in a comment is a path where it is one of the `outputs`.
    """
    mark = source.lines[node.start].lstrip(" \t-*+0123456789.)")[:3]
    info = node.info.strip()
    if suggestion := suggest_by_info(info, mark):
        return suggestion
    comment = _COMMENT.fullmatch(node.text.partition("\n")[0])
    path = comment["p"] if comment and is_path(comment["p"]) else ""
    if "/" not in path and path not in outputs:
        named = _LABEL.fullmatch(label.strip()) if info.split()[:1] != ["diff"] else None
        path = named["p"] if named and is_path(named["p"]) else ""
    return f"{mark}{info} file={path.removeprefix('./')}".replace(f"{mark} ", mark) if path else ""


def suggest_by_info(info: str, mark: str = "```") -> str:
    """Return a corrected fence line for an info string with a path; empty without one."""
    first, *rest = info.split() or [""]
    named = _NAMED.search(info) or _LANG_PATH.fullmatch(first)
    path = named["p"] if named else next((word for word in (*rest, first) if is_path(word)), "")
    language = re.split(r"[:{]", first)[0] if first != path else ""
    suggestion = f"{mark}{language} file={path.removeprefix('./')}".replace(f"{mark} ", mark)
    return suggestion if path else ""


def is_path(word: str) -> bool:
    """Return whether a word looks like a path."""
    return bool(_PATH.fullmatch(word.strip("\"'()[]{}")))


def _read(info: str) -> tuple[str | None, list[str]]:
    """Return the path in an info string and its other words."""
    file, words = None, []
    for match in _WORD.finditer(info):
        if match["word"]:
            words.append(match["word"])
        elif match["key"] == "file":
            file = next((match[kind] for kind in ("double", "single", "bare") if match[kind]), "")
    return file, words


def _complaint(node: Node, source: Source, message: str, hint: str) -> Complaint:
    column = max(source.lines[node.start].find("file="), 0)
    width = len(source.lines[node.start].rstrip()) - column
    return Complaint(message, hint, node.start, column, max(1, width))
