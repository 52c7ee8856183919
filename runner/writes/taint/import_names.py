"""What names mean: imports by dotted name, and which functions answer a request."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runner.writes.taint.expressions import Expressions

_ROUTES = frozenset(
    ("route", "get", "post", "put", "delete", "patch", "api_route", "view", "expose")
)


_FRAMEWORKS = frozenset(
    {
        *("django", "rest_framework", "flask", "quart", "starlette", "fastapi", "aiohttp", "sanic"),
        *("bottle", "pyramid", "falcon", "tornado", "cherrypy", "litestar", "wagtail"),
    }
)


def serves(names: dict[str, str]) -> bool:
    """Whether a module imports a framework whose requests are somebody else's.

    A client's `request` is the program's own.
    """
    return any(name.partition(".")[0] in _FRAMEWORKS for name in names.values())


def find_imported_names(node: ast.AST) -> dict[str, str]:
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


def paths_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The paths under which a function answers, as its decorators say."""
    found = []
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            first = one.args[0] if one.args else None
            told = first.value if isinstance(first, ast.Constant) else ""
            if one.func.attr in _ROUTES | {"websocket"} and isinstance(told, str):
                found += [told] if told.startswith("/") else []
    return found


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
