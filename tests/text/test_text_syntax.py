"""Python is read by many threads at once; texts of constants are put together in bounds."""

from __future__ import annotations

import ast
import gc
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEP = (
    "x = " + "(" * 60 + "1" + ",)" * 60 + "\n" + "def f():\n    return [a.b(c) for c in d]\n" * 40
)


@pytest.fixture
def interrupting_collector() -> Iterator[None]:
    """The garbage collector comes often, and lets another thread go on each time."""
    threshold = gc.get_threshold()
    pause = lambda *_: time.sleep(0)  # noqa: E731 - the same object is taken out again
    gc.callbacks.append(pause)
    gc.set_threshold(50)
    yield
    gc.set_threshold(*threshold)
    gc.callbacks.remove(pause)


@pytest.mark.usefixtures("interrupting_collector")
def test_threads_that_parse_at_once_all_get_their_tree() -> None:
    expected = ast.dump(ast.parse(DEEP))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(python_tree, [DEEP] * 64))
    assert [tree is not None and ast.dump(tree) == expected for tree in trees] == [True] * 64


def test_what_is_no_python_has_no_tree() -> None:
    assert python_tree("def f(:\n") is None
    assert python_tree(b"\xff\xfe\x00") is None
    assert python_tree("(" * 5000) is None
