"""Changes of one kind each: bodies, constants, defaults, attributes, decorators, texts, imports …

As in `mutants`, a change is the same for the same number; the kinds take turns.
"""

from __future__ import annotations

import ast
import random
from typing import TYPE_CHECKING

from mutants import Mutant, changed_node, differs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def mutant_of_kind(number: int, files: dict[str, bytes]) -> Mutant:
    """The change of a number; where a project has no place for its kind, the next kind's."""
    chosen = random.Random(number)
    names = list(KINDS)
    for step in range(len(names)):
        kind = names[(number + step) % len(names)]
        places = [(path, node) for path, one in sorted(files.items()) for node in KINDS[kind](one)]
        for _ in range(200 if places else 0):
            path, node = chosen.choice(places)
            source = files[path].decode()
            after = _changed(kind, source, node, chosen, files)
            if after is not None and (kind == "comment" or differs(source, after)):
                return Mutant(path, node.lineno, kind, after.encode())
    raise LookupError("nothing can be changed")


def _changed(
    kind: str, source: str, node: ast.AST, chosen: random.Random, files: dict[str, bytes]
) -> str | None:
    lines = source.splitlines(keepends=True)
    at = node.lineno - 1
    match kind:
        case "comment":
            indent = len(lines[at]) - len(lines[at].lstrip())
            return "".join([*lines[:at], " " * indent + "# a remark\n", *lines[at:]])
        case "docstring":
            line = lines[at]
            quote = next((one for one in ('"""', "'''") if one in line), "")
            said = line.replace(quote, quote + "X ", 1)
            return "".join([*lines[:at], said, *lines[at + 1 :]]) if quote else None
        case "decorator":
            return "".join([*lines[:at], *lines[node.end_lineno :]])
        case "import":
            return _instead(lines, at, node.end_lineno, "pass")
        case "deleted":
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            return _instead(lines, first, node.end_lineno, "pass")
        case "override":
            return _overridden(lines, node, chosen, files)
        case _:
            return changed_node(source, node, chosen)


def _instead(lines: list[str], first: int, last: int, said: str) -> str:
    indent = len(lines[first]) - len(lines[first].lstrip())
    return "".join([*lines[:first], " " * indent + said + "\n", *lines[last:]])


def _overridden(
    lines: list[str], node: ast.ClassDef, chosen: random.Random, files: dict[str, bytes]
) -> str | None:
    """The class with a method that its base has, which does nothing."""
    bases = {getattr(one, "id", getattr(one, "attr", "")) for one in node.bases}
    own = {getattr(one, "name", "") for one in node.body}
    methods = [
        method.name
        for content in files.values()
        for one in ast.walk(ast.parse(content))
        if isinstance(one, ast.ClassDef) and one.name in bases
        for method in one.body
        if isinstance(method, _FUNCTIONS) and method.name not in own and not method.decorator_list
    ]
    if not methods:
        return None
    last = node.body[-1]
    indent = " " * node.body[0].col_offset
    name = chosen.choice(methods)
    text = f"\n{indent}def {name}(self, *args, **kwargs):\n{indent}    return None\n"
    return "".join([*lines[: last.end_lineno], text, *lines[last.end_lineno :]])


# --- where each kind can be ------------------------------------------------------------------


def _bodies(content: bytes) -> Iterator[ast.AST]:
    kinds = (ast.Compare, ast.BinOp, ast.Return, ast.If, ast.Assign)
    for function in _of(content, _FUNCTIONS):
        for statement in function.body:
            yield from (one for one in ast.walk(statement) if isinstance(one, kinds))


def _constants(content: bytes) -> Iterator[ast.AST]:
    yield from _plain_values(ast.parse(content).body)


def _attributes(content: bytes) -> Iterator[ast.AST]:
    for one in _of(content, ast.ClassDef):
        yield from _plain_values(one.body)


def _plain_values(body: list[ast.stmt]) -> Iterator[ast.AST]:
    for node in body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for one in ast.walk(node.value):
                if isinstance(one, ast.Constant) and isinstance(one.value, bool | int | str):
                    yield one


def _defaults(content: bytes) -> Iterator[ast.AST]:
    for function in _of(content, _FUNCTIONS):
        for one in (*function.args.defaults, *filter(None, function.args.kw_defaults)):
            if isinstance(one, ast.Constant) and isinstance(one.value, bool | int | str):
                yield one


def _decorators(content: bytes) -> Iterator[ast.AST]:
    for function in _of(content, _FUNCTIONS):
        yield from function.decorator_list


def _docstrings(content: bytes) -> Iterator[ast.AST]:
    for one in _of(content, (ast.ClassDef, *_FUNCTIONS)):
        match one.body[0]:
            case ast.Expr(ast.Constant(str())):
                yield one.body[0]


def _imports(content: bytes) -> Iterator[ast.AST]:
    for node in ast.parse(content).body:
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if is_import and getattr(node, "module", "") != "__future__":
            yield node


def _of(content: bytes, kinds: type | tuple[type, ...]) -> Iterator[ast.AST]:
    return (one for one in ast.walk(ast.parse(content)) if isinstance(one, kinds))


def _classes(content: bytes) -> Iterator[ast.AST]:
    return (one for one in _of(content, ast.ClassDef) if one.bases)


KINDS: dict[str, Callable[[bytes], Iterator[ast.AST]]] = {
    "body": _bodies,
    "constant": _constants,
    "default": _defaults,
    "attribute": _attributes,
    "decorator": _decorators,
    "docstring": _docstrings,
    "comment": lambda content: _of(content, _FUNCTIONS),
    "import": _imports,
    "override": _classes,
    "deleted": lambda content: _of(content, _FUNCTIONS),
}
