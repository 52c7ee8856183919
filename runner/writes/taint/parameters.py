"""What the parameters of a function are that answers a request: parts of its address or body.

A framework fills them in (Flask and its kin from the path, FastAPI from path, query, headers and
body by their annotations). What it turns into a number, a date or a model of its own is harmless.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.writes.taint.abstract_values import Named, Unknown, Value, either
from runner.writes.taint.import_names import paths_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.writes.taint.expressions import Expressions

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
