"""Functions are read by syntax trees, and a changed one raises in the stubbed tree."""

import subprocess
import sys

import pytest

from runner.gates.mutation.function_bodies import (
    code_of,
    find_changed_functions,
    functions_in,
    stub_changes,
)
from runner.languages import syntax_tree
from runner.model import Action, Change, digest_of

PYTHON = b'''"""Doc."""
from typing import Protocol
class Shop(Protocol):
    def size(self): ...
    def price(self, item: int = 3) -> int:
        """Return it.

        >>> 1
        """
        def inner():
            yield item
        return next(inner())
def tax(): return 1
def refuse(): raise NotImplementedError
'''
SCRIPT = b"""class Shop { constructor(private x: number) { this.y = x } abstract m(): void
  h = (x: number) => x + 1; static get k() { return [1].map(x => x * 2) } }
export default () => ({ a: 1 });
(function () { const q = () => 3; q() })();
app.get('/x', (req, res) => { res.send(1) });
function over(a: string): void;
"""
GO = b"""package a
func (b *B) Go(x int) int { return x*2 }
var f = func() int { return 1 }
func init() { f() }
func Start() { go func() { f() }() }
"""
RUST = b"""#[test]
fn check() { a() }
#[cfg(test)]
mod tests { fn b() { a() } }
impl X { const fn c(&self) -> bool { true } }
trait T { fn d(); fn e() { a() } }
"""


@pytest.mark.parametrize(
    ("path", "content", "names"),
    [
        ("a.py", PYTHON, ["Shop.price", "Shop.price.inner", "tax"]),
        ("a.ts", SCRIPT, ["Shop.constructor", "Shop.h", "Shop.k", "a function", "q", "a function"]),
        ("a.go", GO, ["B.Go", "f", "Start"]),
        ("a.rs", RUST, ["X.c", "T.e"]),
        ("a.sql", b"select 1", []),
        ("a.py", b"def f(:", []),
        ("a.js", b"function f( {", []),
        ("a.py", b"def f(): return '\xff'", []),
    ],
)
def test_functions_that_run_something_are_found_by_name(path, content, names):
    assert [one.name for one in functions_in(path, content)] == names


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        (
            "a.py",
            "def f(a):\n    return a\n",
            "# x\ndef f(a: int) -> int:\n    'D.'\n    return a\n",
            [],
        ),
        ("a.py", "def f(a):\n    return a\n", "def f(a):\n    return a + 1\n", ["f"]),
        ("a.py", "def f(a, b=1):\n    return a\n", "def f(a, b=2):\n    return a\n", ["f"]),
        ("a.py", "def f(a):\n    b()\n    return a\n", "def f(a):\n    return a\n", ["f"]),
        (
            "a.py",
            "def f():\n    def g():\n        return 1\n    return g\n",
            "def f():\n    def g():\n        return 2\n    return g\n",
            ["f.g"],
        ),
        ("a.ts", "function f(a) { return a }", "function f(a: number) { /* x */ return a }", []),
        ("a.ts", "function f(a) { return a }", "function f(a) { return -a }", ["f"]),
        (
            "a.go",
            "package a\nfunc F() int { return 1 }",
            "package a\n\n// F.\nfunc F() int {\nreturn 1 }",
            [],
        ),
        (
            "a.go",
            "package a\nfunc F() int { return 1 }",
            "package a\nfunc F() int { return 2 }",
            ["F"],
        ),
        ("a.rs", "fn f() -> i32 { 1 }", "fn f() -> i32 { 2 }\nfn g() {}", ["f"]),
    ],
)
def test_a_function_changes_with_its_code_alone(path, before, after, changed):
    found = find_changed_functions(path, before.encode(), after.encode())
    assert [one.name for one in found] == changed
    assert (code_of(path, before.encode()) == code_of(path, after.encode())) == (not changed)


@pytest.mark.parametrize(
    ("path", "content", "use", "command"),
    [
        ("a.py", "def f(): return 1\n", "f()", [sys.executable]),
        (
            "a.py",
            "def f(a):\n    'D.'\n    @str\n    class B: pass\n    yield 1\n",
            "[*f(1)]",
            [sys.executable],
        ),
        ("a.js", "const f = async x => x + 1;\n", "f(1)", ["node"]),
        ("a.js", "class A { get f() { return 1 } }\n", "new A().f", ["node"]),
        ("a.js", "const o = { f: () => ({ a: 1 }) };\n", "o.f()", ["node"]),
        ("a.js", "function* f() { 'use strict'; yield 1 }\n", "[...f()]", ["node"]),
    ],
)
def test_a_stubbed_function_raises_when_it_runs(tmp_path, path, content, use, command):
    for used in ("", use):
        made = f"{content}{used}\n".encode()
        change = Change(path, Action.CREATE, 0o100644, None, digest_of(made), made)
        (stubbed,) = stub_changes((change,), lambda _path: None)
        assert stubbed.after == digest_of(stubbed.content)
        (tmp_path / path).write_bytes(stubbed.content)
        ended = subprocess.run([*command, path], cwd=tmp_path, capture_output=True, check=False)
        assert (b"the runner replaced the body" in ended.stderr) == bool(used)


def test_go_and_rust_compile_with_stubs(tmp_path):
    go = b'package main\nimport "os"\nfunc f() int { os.Exit(0); return 1 }\nfunc main() { f() }\n'
    rust = b'#![deny(warnings)]\nfn f() -> i32 { 1 }\nfn main() { println!("{}", f()); }\n'
    for name, content, build in (
        ("a.go", go, ["go", "build", "-o", "out", "a.go"]),
        ("a.rs", rust, ["rustc", "-o", "out", "a.rs"]),
    ):
        change = Change(name, Action.CREATE, 0o100644, None, digest_of(content), content)
        (stubbed,) = stub_changes((change,), lambda _path: None)
        (tmp_path / name).write_bytes(stubbed.content)
        built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (built.returncode, built.stderr) == (0, "")
        ran = subprocess.run(["./out"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode
        assert "the runner replaced the body" in ran.stderr


@pytest.mark.parametrize(
    ("path", "content"),
    [("tests/test_a.py", b"def f(): return 1\n"), ("a.py", b"A = 1\n"), ("a.css", b"p {}\n")],
)
def test_nothing_is_stubbed_in_tests_constants_and_other_files(path, content):
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    assert stub_changes((change,), lambda _path: None) == ()


def test_no_function_is_found_where_a_grammar_cannot_be_loaded(monkeypatch):
    monkeypatch.setattr(syntax_tree, "_load_parser", lambda _language: None)
    assert functions_in("a.ts", SCRIPT) == ()
    assert code_of("a.ts", SCRIPT) is None
