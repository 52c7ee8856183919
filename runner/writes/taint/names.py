"""What names mean: imports by dotted name, and which functions answer a request."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.writes.taint.expressions import Expressions

_ROUTES = frozenset(
    ("route", "get", "post", "put", "delete", "patch", "api_route", "view", "expose")
)


def imported(node: ast.AST) -> dict[str, str]:
    """Names that imports bind anywhere in a module or function, by what they stand for."""
    names: dict[str, str] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.Import):
            for one in part.names:
                bound = one.asname or one.name.partition(".")[0]
                names[bound] = one.name if one.asname else bound
        elif isinstance(part, ast.ImportFrom) and part.module and not part.level:
            for one in part.names:
                names[one.asname or one.name] = f"{part.module}.{one.name}"
    return names


def route_of(node: ast.FunctionDef | ast.AsyncFunctionDef, walk: Expressions) -> str | None:
    """The path under which a function answers with a page; None where it is no such function.

    Flask's decorators and its kin's; FastAPI answers with JSON unless it is told otherwise. Empty
    where the path is no constant.
    """
    if "fastapi.FastAPI" in walk.names.values() or "fastapi.APIRouter" in walk.names.values():
        return None
    for one in node.decorator_list:
        called = one.func if isinstance(one, ast.Call) else one
        if isinstance(called, ast.Attribute) and called.attr in _ROUTES:
            path = one.args[0] if isinstance(one, ast.Call) and one.args else None
            told = path.value if isinstance(path, ast.Constant) else ""
            return told if isinstance(told, str) else ""
    return None
