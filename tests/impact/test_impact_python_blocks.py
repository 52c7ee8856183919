"""A Python file falls into blocks: what runs on import, and the body of each function."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from impact_build import code

from runner.impact.python_blocks import blocks_of, find_changed_blocks, ranges_of, runs, spans_in

FILE = code(
    '''
    import os

    LIMIT = 1

    @cached(LIMIT)
    def outer(a=1, *, b: int = 2):
        """What it does."""
        x = a

        def inner():
            return x

        return inner

    class Shape:
        sides = 0

        def area(self):
            # as Euclid has it
            return self.sides

    def waits():
        yield 1
    '''
)


def changed(old, new):
    """First and last lines of the blocks that a change of the text touches; 0 is the module."""
    assert old in FILE.decode()
    found = find_changed_blocks(FILE, FILE.replace(old.encode(), new.encode()))
    return sorted((block.first, block.last) for block in found)


@pytest.mark.parametrize(
    ("old", "new", "blocks"),
    [
        ("return x", "return -x", [(11, 11)]),
        ("x = a", "x = b", [(8, 13)]),
        ("return self.sides", "return 2", [(20, 20)]),
        ("sides = 0", "sides = 1", [(0, 0)]),
        ("LIMIT = 1", "LIMIT = 2", [(0, 0)]),
        ("@cached(LIMIT)", "@cached(2)", [(0, 0)]),
        ("a=1", "a=2", [(0, 0)]),
        ("b: int", "b: str", [(0, 0)]),
        ("What it does.", "What it did.", [(0, 0)]),
        ("def inner()", "def inner(y=0)", [(8, 13)]),
        ("# as Euclid has it", "# as it is", []),
        ("x = a", "x   =   a  # so", []),
        ("yield 1", "return [1]", [(0, 0), (23, 23)]),
    ],
)
def test_a_change_belongs_to_the_block_that_evaluates_it(old, new, blocks):
    assert changed(old, new) == blocks


def test_a_body_that_comes_or_goes_is_seen_where_the_function_is_defined():
    empty, full = b'def f():\n    "doc"\n', b'def f():\n    "doc"\n    raise ValueError\n'
    assert [one.first for one in find_changed_blocks(empty, full)] == [0]
    assert [one.first for one in find_changed_blocks(full, empty)] == [3, 0]


def test_two_functions_of_one_name_are_two_blocks():
    one = b"if x:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n"
    assert [block.first for block in find_changed_blocks(one, one.replace(b"2", b"3"))] == [6]


def test_what_cannot_be_parsed_is_not_decided():
    assert find_changed_blocks(b"def (", b"x = 1") is None
    assert find_changed_blocks(b"x = 1", b"x = \0") is None
    assert blocks_of(b"(" * 5000 + b")" * 5000) is None


def test_lines_of_a_function_inside_do_not_run_the_one_around_it():
    blocks = {key[0]: block for key, block in blocks_of(FILE).items()}
    every = tuple(blocks.values())
    assert runs(blocks[".outer.inner"], ((11, 11),), every)
    assert not runs(blocks[".outer"], ((11, 11),), every)
    assert runs(blocks[".outer"], ((8, 8),), every)
    assert runs(blocks[".outer"], ((11, 13),), every)
    assert not runs(blocks[".Shape.area"], ((8, 13),), every)
    assert runs(blocks[""], (), every)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, 400)))
def test_ranges_tell_the_same_lines(lines):
    spans = spans_in(ranges_of(lines))
    assert {line for start, end in spans for line in range(start, end + 1)} == lines


@pytest.mark.no_cover
def test_every_file_of_this_project_is_the_same_as_itself_laid_out_anew(request):
    for file in sorted((request.config.rootpath / "runner" / "impact").glob("*.py")):
        content = file.read_bytes()
        again = ast.unparse(ast.parse(content)).encode()
        assert find_changed_blocks(content, again) == (), file
