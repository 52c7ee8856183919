"""Small faults put into Python files, one at a time, each the same for the same number."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass

_COMPARISONS = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip
_ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*", ast.Mod: "+"}


@dataclass(frozen=True)
class Mutant:
    """A file with one fault."""

    path: str
    line: int
    what: str
    content: bytes


def mutant(number: int, files: dict[str, bytes]) -> Mutant:
    """The fault of a number: a place in a file, all places of the project being equally likely."""
    places = [(path, node) for path, content in sorted(files.items()) for node in _places(content)]
    chosen = random.Random(number)
    while True:
        path, node = chosen.choice(places)
        source = files[path].decode()
        after = changed_node(source, node, chosen)
        if after is not None and differs(source, after):
            return Mutant(path, node.lineno, type(node).__name__, after.encode())


def _places(content: bytes) -> list[ast.AST]:
    """Where a fault can be; annotations are left out, which nobody runs."""
    kinds = (ast.Compare, ast.BinOp, ast.Constant, ast.Return, ast.If, ast.Assign, ast.Expr)
    tree = ast.parse(content)
    hidden = {id(inner) for one in _annotations(tree) for inner in ast.walk(one)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        and id(node) not in hidden
        and not _is_docstring(node)
        and not _is_lone_constant(node)
    ]


def _annotations(tree: ast.AST) -> list[ast.AST]:
    found = []
    for node in ast.walk(tree):
        found += [getattr(node, name, None) for name in ("annotation", "returns")]
    return [one for one in found if isinstance(one, ast.AST)]


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_lone_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool | int | str)


def changed_node(source: str, node: ast.AST, chosen: random.Random) -> str | None:
    """The source with one node changed; None where it cannot be."""
    match node:
        case ast.Compare(left, [operator], [right]) if type(operator) in _COMPARISONS:
            said = f"{_text(source, left)} {_COMPARISONS[type(operator)]} {_text(source, right)}"
        case ast.BinOp(left, operator, right) if type(operator) in _ARITHMETIC:
            said = f"{_text(source, left)} {_ARITHMETIC[type(operator)]} {_text(source, right)}"
        case ast.Constant(bool(value)):
            said = str(not value)
        case ast.Constant(int(value)):
            said = str(value + chosen.choice((-1, 1)))
        case ast.Constant(str(value)) if _text(source, node)[:1] in "'\"":
            said = repr(value + "x")
        case ast.Return(value) if value is not None:
            said = "return None"
        case ast.If(test):
            return _replaced(source, test, f"not ({_text(source, test)})")
        case ast.Assign() | ast.Expr():
            said = "pass"
        case _:
            return None
    return _replaced(source, node, f"({said})" if isinstance(node, ast.expr) else said)


def _text(source: str, node: ast.AST) -> str:
    return ast.get_source_segment(source, node) or ""


def _replaced(source: str, node: ast.AST, said: str) -> str:
    lines = source.splitlines(keepends=True)
    before = (
        "".join(lines[: node.lineno - 1]).encode()
        + lines[node.lineno - 1].encode()[: node.col_offset]
    )
    after = (
        lines[node.end_lineno - 1].encode()[node.end_col_offset :]
        + "".join(lines[node.end_lineno :]).encode()
    )
    return (before + said.encode() + after).decode()


def differs(source: str, after: str) -> bool:
    """Whether a program is another one, and still one."""
    try:
        return ast.dump(ast.parse(source)) != ast.dump(ast.parse(after))
    except SyntaxError:
        return False
