"""Grammars find the first mistake of a file, and pass what is right."""

import pytest

from runner.languages import syntax_tree
from runner.languages.syntax_tree import parse, parse_file

RIGHT = {
    "a.ts": "enum E { A }\nconst f = <T,>(x: T) => x satisfies unknown;\nexport type { E };\n",
    "a.tsx": "export const A = () => <b title='x'>{1}</b>;\n",
    "a.js": "class A { #x = 1; static { await0(); } }\n",
    "flow.js": "function f(x: number): string { return ''; }\n",
    "a.go": "package a\n\nfunc F[T any](x T) T { return x }\n",
    "a.rs": "fn f<'a>(x: &'a str) -> &'a str { x }\n",
}
WRONG = {
    "a.ts": ("const a = 1;\nconst b: number = ;\n", 2),
    "a.tsx": ("export const A = () => <b>{1</b>;\n", 1),
    "a.mts": ("export function f( {\n", 1),
    "a.js": ("const ok = 1;\n\nfunction ( {\n", 3),
    "a.go": ("package a\n\nfunc F( {\n", 3),
    "a.rs": ("fn f() {\n    let x = ;\n}\n", 2),
}


@pytest.mark.parametrize("path", RIGHT)
def test_right_code_has_no_error(path):
    assert parse_file(path, RIGHT[path]).errors == ()


@pytest.mark.parametrize("path", WRONG)
def test_the_first_mistake_has_a_place(path):
    text, line = WRONG[path]
    assert parse_file(path, text).errors[0].line == line


def test_a_column_counts_characters():
    (first, *_) = parse("typescript", 'const a = "é" + ;\n').errors
    assert (first.line, first.column) == (1, 15)


def test_a_deeply_nested_text_is_parsed():
    assert parse("javascript", "(" * 20_000).errors


def test_a_grammar_that_is_not_installed_parses_nothing(monkeypatch):
    monkeypatch.setitem(syntax_tree._GRAMMARS, "toy", ("tree_sitter_toy", "language"))
    assert parse("toy", "x") is None
    assert parse_file("a.unknown", "x") is None
