"""Python is read by many threads at once; texts of constants are put together in bounds."""

from __future__ import annotations

import ast
import gc
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from runner.text.syntax import fold_text, python_tree

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


BOMBS = {
    "a replacement": f"'{'a' * 5000}'.replace('a', '{'b' * 5000}')",
    "replacements of each other": "'a'" + f".replace('a', '{'a' * 500}')" * 9,
    "a join": f"'{'-' * 5000}'.join('{'b' * 5000}')",
    "a join of joins": "'-'" + f".join('{'b' * 500}')" * 9,
    "tuples in tuples, escaped at each": "'%s' % ((" * 40 + r"'\\'" + ",),)" * 40,
    "fields in fields": "'{}{}'.format(" + f"'{'b' * 9000}', '{'b' * 9000}')",
    "a width": "'%300000000s' % 'a'",
    "a sum without an end": "+".join(["'a'"] * 900),
}


@pytest.mark.parametrize("said", BOMBS.values(), ids=BOMBS)
def test_no_text_put_together_of_constants_grows_without_bound(said):
    tracemalloc.start()
    text = fold_text(ast.parse(said, mode="eval").body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text == ""
    assert peak < 1_000_000


def test_texts_put_together_of_constants_are_what_they_are_when_they_run():
    for said, text in {
        "'GITHUB_' + 'ACTIONS'": "GITHUB_ACTIONS",
        "'_'.join(['CI', 'X'])": "CI_X",
        "'%s_%s' % ('A', 'B')": "A_B",
        "f\"{'A'}_{1}\"": "A_1",
        "'AxB'.replace('x', '_')": "A_B",
        "'{}_{}'.format('A', 'B')": "A_B",
    }.items():
        assert fold_text(ast.parse(said, mode="eval").body) == text
