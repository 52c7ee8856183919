"""Parse contract documents within bounds, and bundle split ones into one tree.

JSON and YAML come from tasks and clones, so: a bounded size, bounded nesting, aliases counted as
if they were written out (a few lines can stand for billions), no tags, and no reference that
leads out of the repository.
"""

from __future__ import annotations

import json
import posixpath
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote

from runner.contracts.entries import Refused
from runner.lazy_module import lazy_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import yaml
    from yaml import MappingNode, Node, SequenceNode
else:
    yaml = lazy_module("yaml")

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

LARGEST = 4 * 1024 * 1024
"""Maximum size of one document, in bytes."""
MOST_NODES = 200_000
"""Maximum number of values in a document, with aliases expanded."""
DEEPEST = 100
MOST_FILES = 100
"""Maximum number of files of one contract."""
FILES = "x-runner-files"
"""Key of the other files that are bound into the document."""


def parse_document(content: bytes, path: str) -> Json:
    """Parse JSON or YAML bytes; raises Refused if they are invalid."""
    if len(content) > LARGEST:
        raise Refused(f"{path} is larger than {LARGEST} bytes", path=path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Refused(f"{path} is not UTF-8", path=path) from problem
    if path.endswith((".yaml", ".yml")):
        return _yaml(text, path)
    return _json(text, path)


def _json(text: str, path: str) -> Json:
    try:
        value: Json = json.loads(text)
    except json.JSONDecodeError as problem:
        message = f"{path} is not JSON: {problem.msg}"
        hint = f"to find the error: python3 -m json.tool {path}"
        raise Refused(message, hint=hint, path=path, line=problem.lineno) from problem
    except (ValueError, RecursionError) as problem:
        raise Refused(f"{path} is not readable as JSON", path=path) from problem
    _check_size(value, path)
    return value


def _check_size(value: Json, path: str) -> None:
    """Refuse what is nested too deep; JSON has no aliases, so its bytes bound its nodes."""
    level: list[Json] = [value]
    for _ in range(DEEPEST):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise Refused(f"{path} is nested more than {DEEPEST} levels deep", path=path)


def _children(value: Json) -> Iterator[Json]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


# --- YAML -----------------------------------------------------------------------------


def _yaml(text: str, path: str) -> Json:
    """Parse YAML to nodes first, so that they can be counted before values are built."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(text)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 0
        message = f"{path} is not YAML: {problem.problem or problem.context}"
        raise Refused(message, hint="fix that line", path=path, line=line) from problem
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise Refused(f"{path} is not YAML: {str(problem).splitlines()[0]}", path=path) from problem
    if node is None:
        return None
    if _weight(node, path, {}, ()) > MOST_NODES:
        message = f"{path} has more than {MOST_NODES} values after expanding its aliases"
        raise Refused(message, hint="remove aliases inside other aliases", path=path)
    return _value(node, path)


def _check_depth(text: str) -> None:
    """Stop before the parser's own recursion does."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise yaml.YAMLError(f"the document is nested more than {DEEPEST} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _weight(node: Node, path: str, known: dict[int, int], above: tuple[int, ...]) -> int:
    """Count the values below a YAML node with aliases expanded; raises Refused for a cycle."""
    if id(node) in above or len(above) > DEEPEST:
        message = f"{path} has an alias that contains itself"
        raise Refused(message, path=path, line=node.start_mark.line + 1)
    if id(node) not in known:
        below = (_weight(child, path, known, (*above, id(node))) for child in _parts(node))
        known[id(node)] = 1 + sum(below)
    return known[id(node)]


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from (key, value)
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _value(node: Node, path: str) -> Json:
    """Convert a YAML node to JSON; keys become strings (`200:` is a status)."""
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path)
    if isinstance(node, yaml.SequenceNode):
        return _sequence(node, path)
    return _scalar(node)


def _sequence(node: SequenceNode, path: str) -> Json:
    return [_value(child, path) for child in node.value]


def _mapping(node: MappingNode, path: str) -> dict[str, Json]:
    found: dict[str, Json] = {}
    merged: dict[str, Json] = {}
    for key, child in node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            value = _value(child, path)
            # Earlier entries win over later ones, and own keys over all (yaml.org/type/merge.html).
            for part in reversed(value if isinstance(value, list) else [value]):
                merged |= part if isinstance(part, dict) else {}
        elif isinstance(key.value, str):
            found[key.value] = _value(child, path)
        else:
            message = f"{path} has a key that is not a string"
            raise Refused(message, path=path, line=key.start_mark.line + 1)
    return merged | found


def _scalar(node: Node) -> Json:
    """Convert a scalar by its resolved tag; dates and binary data stay text, as in JSON."""
    text = str(node.value)
    match node.tag.rpartition(":")[2]:
        case "null":
            return None
        case "bool":
            # PyYAML follows YAML 1.1, in which these are also booleans.
            return text.casefold() in ("true", "yes", "on")
        case "int":
            return _number(text, int)
        case "float":
            return _number(text, float)
    return text


def _number(text: str, kind: Callable[[str], int] | Callable[[str], float]) -> Json:
    try:
        return kind(text.replace("_", ""))
    except ValueError:  # octal, hexadecimal, sexagesimal, .inf: no number of JSON
        return text


# --- references -----------------------------------------------------------------------


def bundle_document(path: str, read: Callable[[str], bytes]) -> Json:
    """Return the document with all referenced files included; raises Refused.

    A reference to another file becomes one into `x-runner-files` of this document (RFC 6901
    pointers): nothing that reads it afterwards opens a file or an address.
    """
    return _Bundle(path, read).whole()


class _Bundle:
    """The files of one document, as they are found."""

    def __init__(self, path: str, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._numbers = {path: -1}
        self._waiting = [path]

    def whole(self) -> Json:
        others: list[Json] = []
        root = self._next()
        while self._waiting:
            others.append(self._next())
        if others and isinstance(root, dict):
            root[FILES] = {str(number): value for number, value in enumerate(others)}
        return root

    def _next(self) -> Json:
        path = self._waiting.pop(0)
        value = parse_document(self._read(path), path)
        own = ""
        if isinstance(value, dict):
            id_ = value.get("$id", value.get("id"))
            own = id_.partition("#")[0] if isinstance(id_, str) else ""
            # `$id` is the base of references (JSON Schema 2020-12, Core, 8.2.1): with it, pointers
            # into this document would resolve to an address.
            if "$id" in value and isinstance(id_, str):
                value = {key: child for key, child in value.items() if key != "$id"}
        return self._rewrite(value, path, own)

    def _rewrite(self, value: Json, path: str, own: str) -> Json:
        if isinstance(value, list):
            return [self._rewrite(child, path, own) for child in value]
        if not isinstance(value, dict):
            return value
        found = {key: self._rewrite(child, path, own) for key, child in value.items()}
        for key in ("$ref", "$dynamicRef", "$recursiveRef", "operationRef"):
            target = found.get(key)
            if isinstance(target, str):
                found[key] = self._leads_to(target, path, own)
        return found

    def _leads_to(self, target: str, path: str, own: str) -> str:
        """Return a reference's target in the bundled document."""
        file, mark, pointer = target.partition("#")
        number = self._numbers[path] if not file or file == own else self._number(file, path)
        if number < 0:
            return f"#{pointer}"
        if pointer and not pointer.startswith("/"):
            return f"#{pointer}"  # an anchor: its name counts in the whole document
        return f"#/{FILES}/{number}{pointer if mark else ''}"

    def _number(self, file: str, path: str) -> int:
        name = _within(unquote(file), path)
        if name not in self._numbers:
            if len(self._numbers) >= MOST_FILES:
                raise Refused(f"{path} refers to more than {MOST_FILES} files", path=path)
            self._numbers[name] = len(self._numbers) - 1
            self._waiting.append(name)
        return self._numbers[name]


def _within(file: str, path: str) -> str:
    """Return the referenced file relative to the repository; raises Refused if it is outside."""
    scheme, colon, _ = file.partition(":")
    outside = (colon and "/" not in scheme) or file.startswith(("/", "\\"))
    name = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
    if outside or name.startswith("../") or name == "..":
        raise Refused(
            f"{path} refers to {file}, outside the repository",
            hint="put a copy in the repository and refer to it",
            path=path,
        )
    return name
