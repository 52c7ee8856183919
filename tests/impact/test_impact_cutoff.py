"""Who depends on a task is proven again and not built anew when what it offers stayed the same."""

from __future__ import annotations

import pytest
from impact_build import code

from runner.impact.change import Changed
from runner.impact.reach import cut_off, find_exports

PYTHON = '''
    """A module."""
    import os
    LIMIT = 3
    _secret = 1

    def save(row, *, now: bool = False) -> int:
        """Save it."""
        return _do(row)

    def _do(row):
        return 1

    class Store(Base):
        size: int = 0

        def put(self, row):
            return row

        def _drop(self):
            pass
    '''
TYPESCRIPT = """
    import x from "y";
    export const A = { a: 1 };
    export async function f(a: T): Promise<R> { return hidden(a); }
    function hidden(a) { return "}"; }
    export { hidden as shown };
    """
GO = """
    package a
    func F(a int) (int, error) { return g(a), nil }
    func g(a int) int { return a }
    func (s *S) M(x int) string { return "" }
    type S struct { A int }
    """
RUST = """
    pub fn f(a: &str) -> u8 { g() }
    fn g() -> u8 { 1 }
    pub struct S { pub a: u8 }
    impl S { pub fn m(&self) -> u8 { if true { 2 } else { 3 } } }
    """


def compared(path, text, old, new):
    before = code(text)
    assert old.encode() in before
    return cut_off([Changed(path, before, before.replace(old.encode(), new.encode()))])


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("a.py", PYTHON, "return _do(row)", "return _do(row) + 1  # more"),
        ("a.py", PYTHON, "Save it.", "Keep it."),
        ("a.py", PYTHON, "def _do(row):", "def _do(row, more=None):"),
        ("a.py", PYTHON, "_secret = 1", "_secret = 2"),
        ("a.py", PYTHON, "import os", "import os, sys"),
        ("a.py", PYTHON, "def _drop(self):", "def _drop(self, all):"),
        ("a.py", PYTHON, "return row", "return [row]"),
        ("a.ts", TYPESCRIPT, "return hidden(a)", "return 1"),
        ("a.ts", TYPESCRIPT, 'return "}"', 'return "{"'),
        ("a.go", GO, "return g(a), nil", "return 1, nil"),
        ("a.go", GO, "func g(a int)", "func g(b int)"),
        ("a.rs", RUST, "{ g() }", "{ g() + 1 }"),
        ("a.rs", RUST, "if true { 2 }", "if false { 2 }"),
    ],
)
def test_a_change_inside_is_cut_off(path, text, old, new):
    found = compared(path, text, old, new)
    assert found.same, found.text
    assert found.text == f"the interface of {path} did not change"


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "said"),
    [
        ("a.py", PYTHON, "now: bool = False", "now: bool = True", "def save("),
        ("a.py", PYTHON, "-> int", "-> str", "def save("),
        ("a.py", PYTHON, "LIMIT = 3", "LIMIT = 4", "LIMIT = 4"),
        ("a.py", PYTHON, "size: int = 0", "size: int = 1", "Store.size: int = 1"),
        ("a.py", PYTHON, "def put(self, row)", "def put(self)", "Store.def put(self)"),
        ("a.py", PYTHON, "class Store(Base)", "class Store", "class Store()"),
        ("a.py", PYTHON, "def _drop", "def drop", "Store.def drop(self)"),
        ("pkg/__init__.py", PYTHON, "import os", "import sys", "import  sys as sys"),
        ("a.ts", TYPESCRIPT, "a: T", "a: U", "export async function f"),
        ("a.ts", TYPESCRIPT, "{ a: 1 }", "{ a: 2 }", "export const A"),
        ("a.go", GO, "F(a int)", "F(a string)", "func F"),
        ("a.go", GO, "A int", "B int", "type S struct"),
        ("a.rs", RUST, "a: &str", "a: &[u8]", "pub fn f"),
        ("a.rs", RUST, "pub fn m(&self)", "pub fn m(self)", "impl S"),
    ],
)
def test_a_change_of_what_others_use_is_not(path, text, old, new, said):
    found = compared(path, text, old, new)
    assert not found.same
    assert said in found.text


def test_what_cannot_be_read_counts_as_changed():
    for path, before, after in (
        ("a.py", b"x = 1", b"x = ("),
        ("a.bin", b"\0", b"\1"),
        ("a.java", b"class A {}", b"class A { }"),
    ):
        found = cut_off([Changed(path, before, after)])
        assert (found.same, "cannot be read" in found.text) == (False, True)


def test_files_that_come_or_go_and_contracts_that_change_are_not_cut_off():
    assert cut_off([Changed("a.py", None, b"")]).text == "a.py is new"
    assert cut_off([Changed("a.py", b"", None)]).text == "a.py was deleted"
    contract = Changed("c.py", b"x = 1", b"x = 1  # same")
    assert cut_off([contract], ["c.py"]).text == "the contract c.py changed"


def test_tests_of_a_task_are_nobody_elses():
    assert cut_off([Changed("tests/test_a.py", None, b"def test_x(): pass")]).same
    assert cut_off([]).text == "none of its files changed"


def test_any_bytes_are_compared_without_complaint():
    junk = bytes(range(256)) * 4 + b"'\"`{(\\"
    for path in ("a.py", "a.ts", "a.go", "a.rs", "a.js"):
        find_exports(path, junk)
    for begun in (
        b"func",
        b"func (",
        b"func (s *S)",
        b"func (s *S) Get",
        b"export",
        b"pub",
        b"impl",
    ):
        for path in ("a.ts", "a.go", "a.rs"):
            find_exports(path, begun)
