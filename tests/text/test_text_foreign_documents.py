"""JSON and TOML of others end in a value or a ValueError, and soon."""

from __future__ import annotations

import ast
import gc
import json
import time
from concurrent.futures import ThreadPoolExecutor
from time import process_time
from typing import TYPE_CHECKING

import pytest

from runner.text.foreign_documents import parse_json, parse_toml
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEP = "[" * 100_000 + "]" * 100_000
MANY_PARTS = ".".join(['"a"'] * 20_000) + " = 1"


def test_json_of_others_is_a_value_or_a_value_error():
    assert parse_json(b'{"a": [1]}') == {"a": [1]}
    for text in (DEEP, "{", b"\xff", "9" * 5_000):
        with pytest.raises(ValueError, match=r"."):
            parse_json(text)


@pytest.mark.parametrize(
    "text",
    [
        f"a = {DEEP}",
        "a = [",
        MANY_PARTS,
        f"[{'a . ' * 20_000}a]",
        MANY_PARTS.replace('"a"', '"\N{LINE SEPARATOR}"'),
        "x = { " + MANY_PARTS + " }",
    ],
    ids=["deep", "open", "parts", "table", "another line end in a key", "inline"],
)
def test_toml_of_others_that_is_none_or_costs_much_is_a_value_error_at_once(text):
    start = process_time()
    with pytest.raises(ValueError, match=r"\(at "):
        parse_toml(text)
    assert process_time() - start < 8


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"a = {['1.2.3'] * 200}", ["1.2.3"] * 200),
        (f"a = {[1.5] * 400}", [1.5] * 400),
        (f"a = 1  # {'.' * 400}", 1),
        (f"a = {json.dumps('it is. ' * 400)}", "it is. " * 400),
    ],
    ids=["versions", "numbers", "a comment", "prose"],
)
def test_dots_that_are_no_key_s_cost_nothing(text, value):
    assert parse_toml(text) == {"a": value}


def test_looking_for_a_long_key_takes_no_time_itself():
    start = process_time()
    for text in ('"\\"' * 100_000 + "." * 301, "a" * 300_000 + "." * 301):
        with pytest.raises(ValueError, match=r"\(at "):
            parse_toml(text)
    assert process_time() - start < 8


DEEP_SYNTAX = (
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
    expected = ast.dump(ast.parse(DEEP_SYNTAX))
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(python_tree, [DEEP_SYNTAX] * 64))
    assert [tree is not None and ast.dump(tree) == expected for tree in trees] == [True] * 64


def test_what_is_no_python_has_no_tree() -> None:
    assert python_tree("def f(:\n") is None
    assert python_tree(b"\xff\xfe\x00") is None
    assert python_tree("(" * 5000) is None
