"""Parse Python source into its syntax tree, one text at a time."""

from __future__ import annotations

import ast
import warnings
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_LOCK = RLock()  # reentrant: the collector may run any code in the middle of a parse
_TRIES = 5


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the parser lock, and suppress warnings of this parse.

    CPython before 3.13 counts the depth of syntax trees for all threads together, and raises
    SystemError ("AST constructor recursion depth mismatch", CPython issue 106905) where another
    thread parses while the garbage collector has interrupted this one; `catch_warnings` is for
    one thread, too.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def python_tree(source: str | bytes) -> ast.Module | None:
    """Parse Python source; return None if the syntax is not supported."""
    for _ in range(_TRIES):
        try:
            with one_at_a_time():
                return ast.parse(source)
        except SystemError:  # a library parsed at the same time, without the lock
            continue
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return None


def name_of(node: ast.expr) -> str:
    """Return the dotted name of a call or attribute; empty if it has none."""
    if isinstance(node, ast.Call):
        return name_of(node.func)
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}".lstrip(".")
    return node.id if isinstance(node, ast.Name) else ""
