"""What names mean: imports by dotted name, and which functions answer a request.

What the parameters of a function are that answers a request: parts of its address or body.

A framework fills them in (Flask and its kin from the path, FastAPI from path, query, headers and
body by their annotations). What it turns into a number, a date or a model of its own is harmless.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.writes.taint.abstract_values import Named, Unknown, Value, either

if TYPE_CHECKING:
    from collections.abc import Iterator

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


# --- parameters -----------------------------------------------------------------------


_TEXTS = frozenset(("str", "bytes", "list", "List", "dict", "Dict", "Any", "Optional", "Union"))
_HARMLESS = frozenset(
    (
        "int",
        "float",
        "bool",
        "UUID",
        "UUID4",
        "date",
        "datetime",
        "time",
        "Decimal",
        "IPvAnyAddress",
    )
)
_OBJECTS = frozenset(("Request", "HttpRequest", "UploadFile", "WebSocket", "HTTPConnection"))
_SAID = frozenset(("Query", "Path", "Header", "Cookie", "Body", "Form", "File"))
_CONVERTED = r"<(?:int|float|uuid)(?:\([^)]*\))?:{}>"


def parameters(
    node: ast.FunctionDef | ast.AsyncFunctionDef, walk: Expressions
) -> Iterator[tuple[str, Value]]:
    """The parameters of a function that answers a request, with what is known of each."""
    paths = paths_of(node)
    if not paths:
        return
    arguments = node.args
    ordered = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(ordered) - len(arguments.defaults)) + list(arguments.defaults)
    given = [*zip(ordered, defaults, strict=True)]
    given += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    for one, default in given:
        if one.arg not in {"self", "cls", "request"} or one.annotation is not None:
            yield one.arg, _of(one, default, paths, walk)


def _of(one: ast.arg, default: ast.expr | None, paths: list[str], walk: Expressions) -> Value:
    said = _called(default)
    if default is not None and isinstance(default, ast.Call) and said not in _SAID:
        return Unknown()  # made by the program: Depends, Security
    words = _words(one.annotation)
    if words & _OBJECTS:
        return Named("fastapi.request")
    if words & _HARMLESS and not words & {"str", "bytes", "Any"}:
        return either()
    in_path = [path for path in paths if re.search(rf"[<{{:](?:\w+:)?{one.arg}\b", path)]
    if any(re.search(_CONVERTED.format(one.arg), path) for path in in_path):
        return either()
    if in_path or said in _SAID or words & _TEXTS:
        return walk.fresh(f"the parameter {one.arg} of the request", weak=False)
    return Unknown()


def _called(default: ast.expr | None) -> str:
    if not isinstance(default, ast.Call):
        return ""
    called = default.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _words(annotation: ast.expr | None) -> set[str]:
    """Names in an annotation; in one that is written as a text, too."""
    found: set[str] = set()
    for part in ast.walk(annotation) if annotation is not None else ():
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.update(re.findall(r"\w+", part.value))
    return found
