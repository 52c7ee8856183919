"""Every hint of the source code, read from its syntax trees."""

import ast
from pathlib import Path
from typing import NamedTuple

import runner

PRODUCT = Path(runner.__file__).parent
ANY = "\u25a1"
"""What takes the place of a value that is known at run time."""


class HintText(NamedTuple):
    """A text that a person may read as a hint, and the function that makes it."""

    module: str
    function: str
    line: int
    text: str

    @property
    def key(self):
        return f"{self.module}:{self.function}"


def all_hints():
    """Every text of a `hint=`, a variable `hint` or a constant whose name ends in HINT."""
    found = []
    for path in sorted(PRODUCT.rglob("*.py")):
        module = path.relative_to(PRODUCT.parent).as_posix()
        found += _hints_in(ast.parse(path.read_text("utf-8")), module, "")
    return found


def _hints_in(node, module, function):
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef) else function
        for value in _values(child):
            yield from (HintText(module, function, value.lineno, text) for text in _texts(value))
        yield from _hints_in(child, module, inside)


def _values(node):
    if isinstance(node, ast.keyword) and node.arg in ("hint", "again"):
        yield node.value
    if isinstance(node, ast.Assign) and any(_is_hint(target) for target in node.targets):
        yield node.value


def _is_hint(target):
    name = getattr(target, "id", "")
    return name in ("hint", "again") or name.endswith("_HINT")


def _texts(value):
    """The texts of an expression; of a choice each."""
    if isinstance(value, ast.Constant):
        if isinstance(value.value, str) and value.value:
            yield value.value
    elif isinstance(value, ast.JoinedStr):
        parts = (one.value if isinstance(one, ast.Constant) else ANY for one in value.values)
        yield "".join(parts)
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body)
        yield from _texts(value.orelse)
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _texts(one)
    elif isinstance(value, ast.BinOp):
        left = list(_texts(value.left)) or [ANY]
        right = list(_texts(value.right)) or [ANY]
        yield from (one + other for one in left for other in right)
