"""Find the tests in a source file, and build commands that run test files which no contract runs.

A test has a name, its code, and whether it asserts anything. Python is read by `ast`; JavaScript,
TypeScript, Go and Rust by their tree-sitter trees. A command takes the files, the content of one of
them, and the task's own commands.
"""

from __future__ import annotations

import ast
import re
import shlex
from typing import TYPE_CHECKING

from runner.languages import syntax_tree
from runner.languages.base import NamedTest
from runner.languages.c_like_lexer import find_closing, mask_literals
from runner.languages.rust import LITERALS
from runner.lazy_pattern import regex
from runner.text.python_syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tree_sitter import Node


_ASSERTS = regex(
    r"(?:\A|[._])(?:assert|expect|verify|should|raises|warns|fail|approx|check)|\A(?:assert|raises)",
    re.IGNORECASE,
)
"""Names of assertion functions."""
_CALLED = {"call_expression": "function", "macro_invocation": "macro"}
"""Kinds of nodes that may assert, with the field of their name."""
_IS_ASSERTION = {
    "javascript": regex(r"(?:.*\.)?(?:expect|assert|should|is|deepEqual|equal|throws|fail)\w*\b.*"),
    "go": regex(
        r"\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)|(?:assert|require|is|qt)\.\w+|panic"
        r"|(?:.*\.)?(?:[aA]ssert|[cC]heck|[eE]xpect|[vV]erify|[mM]ust)\w*"
    ),
    "rust": regex(
        r"(?:\w+::)*\w*assert\w*|panic|unreachable|.*\.(?:unwrap|expect)\w*|.*\?", re.DOTALL
    ),
}
_SCRIPT_TEST = regex(r"(?:it|test|specify|xit|fit)(?:\.\w+)*(?:\(.*)?", re.DOTALL)
_SCRIPT_GROUP = regex(r"[xf]?(?:describe|suite|context)(?:\.\w+)*(?:\(.*)?", re.DOTALL)
# The word must not be followed by a lower-case letter (go help testfunc).
_GO_TEST = regex(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])\w*")
_RUNS_ALL = regex(r"\*\s*(?:\w+\.)?M\b")
"""Parameter of `TestMain`: it runs the tests but is none itself."""
_RUST_TEST = regex(r"#\[(?:\w+::)*(?:test|rstest|test_case|proptest)\b")
_RUST_PANICS = regex(r"#\[should_panic")
_PRINTED = regex(r"//[ \t]*(?i:(?:unordered )?output):")


# --- Python -------------------------------------------------------------------------------


def find_python_tests(_path: str, text: str) -> tuple[NamedTest, ...] | None:
    """Return the functions called `test…`; None where the text cannot be parsed."""
    tree = python_tree(text)
    return None if tree is None else tuple(_of_python(tree))


def _of_python(tree: ast.Module) -> Iterator[NamedTest]:
    functions = [*_functions(tree.body, "")]
    helpers = {one.name for _, one in functions if _asserts(one, frozenset())}
    for name, node in functions:
        if node.name.startswith("test"):
            code = ast.unparse(ast.Module(node.body, []))
            yield NamedTest(name, node.lineno, code, _asserts(node, frozenset(helpers)))


def _functions(
    body: Iterable[ast.stmt], group: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{group}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{group}{node.name}.")
        else:
            inner = (one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt))
            yield from _functions(inner, group)


def _asserts(node: ast.AST, helpers: frozenset[str]) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Assert | ast.Raise):
            return True
        if isinstance(one, ast.Call):
            name = ast.unparse(one.func)
            if _ASSERTS.search(name) or name.rpartition(".")[2] in helpers:
                return True
    return False


# --- by tree-sitter -----------------------------------------------------------------------


def find_script_tests(path: str, text: str) -> tuple[NamedTest, ...] | None:
    """Return the calls of `it` and `test`, with the groups around them."""
    return _find(path, text, _of_script)


def find_go_tests(path: str, text: str) -> tuple[NamedTest, ...] | None:
    """Return the functions that `go test` calls."""
    return _find(path, text, _of_go)


def find_rust_tests(path: str, text: str) -> tuple[NamedTest, ...] | None:
    """Return the functions that are marked as tests."""
    return _find(path, text, _of_rust)


def _find(
    path: str, text: str, read: Callable[[Node], Iterator[NamedTest]]
) -> tuple[NamedTest, ...] | None:
    parsed = syntax_tree.parse_file(path, text)
    return None if parsed is None else tuple(read(parsed.tree.root_node))


def _of_script(root: Node) -> Iterator[NamedTest]:
    waiting = [(root, "")]
    while waiting:
        node, group = waiting.pop()
        called = (
            _text(node.child_by_field_name("function")) if node.type == "call_expression" else ""
        )
        name = _first_argument(node) if called else ""
        if name and _SCRIPT_TEST.fullmatch(called):
            asserts = _has_assertion(node, "javascript", called)
            yield NamedTest(f"{group}{name}", node.start_point[0] + 1, _code(node), asserts)
            continue
        inner = f"{group}{name} > " if name and _SCRIPT_GROUP.fullmatch(called) else group
        waiting += [(one, inner) for one in reversed(node.named_children)]


def _first_argument(call: Node) -> str:
    arguments = call.child_by_field_name("arguments")
    first = arguments.named_children[:1] if arguments else []
    quoted = bool(first) and first[0].type in ("string", "template_string")
    return _text(first[0])[1:-1] if quoted else ""


def _of_go(root: Node) -> Iterator[NamedTest]:
    for node in root.named_children:
        name = _text(node.child_by_field_name("name"))
        given = _text(node.child_by_field_name("parameters"))
        if (
            node.type == "function_declaration"
            and _GO_TEST.fullmatch(name)
            and not _RUNS_ALL.search(given)
        ):
            asserts = _has_assertion(node, "go", "") or bool(_PRINTED.search(_text(node)))
            body = node.child_by_field_name("body")
            yield NamedTest(name, node.start_point[0] + 1, _code(body or node), asserts)


def _of_rust(root: Node) -> Iterator[NamedTest]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        attributes = ""
        for one in node.named_children:
            if one.type == "attribute_item":
                attributes += _text(one)
                continue
            if one.type == "function_item" and _RUST_TEST.search(attributes):
                asserts = bool(_RUST_PANICS.search(attributes)) or _has_assertion(one, "rust", "")
                name = _text(one.child_by_field_name("name"))
                body = one.child_by_field_name("body")
                yield NamedTest(name, one.start_point[0] + 1, _code(body or one), asserts)
            elif one.type in ("mod_item", "declaration_list"):
                waiting.append(one)
            attributes = ""


def _has_assertion(node: Node, language: str, own: str) -> bool:
    names = (_text(one.child_by_field_name(_CALLED[one.type])) for one in _walk(node, _CALLED))
    tried = (_text(one) for one in _walk(node, ("try_expression",)))
    return any(_IS_ASSERTION[language].fullmatch(text) for text in (*names, *tried) if text != own)


def _walk(node: Node, kinds: Iterable[str]) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in kinds:
            yield one
        waiting += one.named_children


def _code(node: Node) -> str:
    """Return the tokens of a node without comments, separated by spaces."""
    tokens: list[str] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if "comment" in one.type:
            continue
        if one.child_count:
            waiting += reversed(one.children)
        else:
            tokens.append(_text(one))
    return " ".join(tokens)


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node else ""


_RUST_TEST_MODULE = re.compile(
    r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+(?P<name>\w+)\s*\{"
)


def find_inner_tests(source: str) -> list[tuple[int, int]]:
    """Return start and end of the test modules in a source file, in order."""
    mask = mask_literals(source, LITERALS)
    found = (match for match in _RUST_TEST_MODULE.finditer(mask))
    return [(one.start(), find_closing(mask, one.end() - 1) + 1) for one in found]


def make_python_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for these test files, with the Python of the known commands."""
    named = " ".join(map(shlex.quote, paths))
    python = next(iter(re.findall(r"\S*python[\d.]*(?= -m )", known)), "python3")
    if b"unittest" in text and b"pytest" not in text and "pytest" not in known:
        return f"{python} -m unittest -v {named}"
    return f"{python} -m pytest -q {named}"


def make_script_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for these test files if Node itself runs them, else ""."""
    del known
    if paths[0].endswith((".js", ".mjs", ".cjs")) and b"node:test" in text:
        return f"node --test {' '.join(map(shlex.quote, paths))}"
    return ""


def make_go_command(paths: tuple[str, ...], text: bytes, known: str) -> str:
    """Return a command for the packages of these test files."""
    del text, known
    # With `./`, because a bare path is an import path (go help packages); folders, because a single
    # named file is compiled without its neighbours.
    folders = sorted({f"./{path.rpartition('/')[0]}".rstrip("/") for path in paths})
    return f"go test -v {' '.join(map(shlex.quote, folders))}"
