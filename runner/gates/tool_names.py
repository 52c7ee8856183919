"""Where code asks whether a test tool runs it: by names of tools and of their variables.

Where code changes a test tool: puts something in the place of what the tool says or does.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates import call_stack
from runner.languages.c_like_lexer import line_of
from runner.languages.registry import code_row
from runner.text.syntax import fold_text, join_literals, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_VARIABLE = re.compile(
    r"\A(?:PYTEST_\w+|_PYTEST_\w+|COVERAGE_RUN|COV_CORE_\w+|TOX_ENV_NAME|TOX_WORK_DIR|NOX_\w+"
    r"|JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|CYPRESS|NEXTEST(?:_\w+)?"
    r"|RUNNER_(?:TASK|ATTEMPT|COVER_\w+|WATCH_\w+))\Z"
)
_VARIABLES = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "COVERAGE_RUN")
"""Those that a proof has."""
_SHORTEST = 3
_TOOLS = frozenset({"pytest", "_pytest", "py.test", "unittest", "nose", "nose2", "doctest"})
_IN_ARGUMENTS = re.compile(r"pytest|unittest|py\.test|nose2?\b")
_TESTS = re.compile(r"(?<![a-z-])(?:tests?|specs?|testing)(?![a-z])(?!-)", re.IGNORECASE)
"""A word of a program's name or arguments that tests have; an option of its own is none."""
_ASKED = frozenset({"modules", "argv", "find_spec", "import_module", "stack", "f_globals"})
"""What a tool's name is looked up in."""
_ARGUMENTS = frozenset({"argv", "orig_argv"})
_COMPARING = frozenset({"startswith", "endswith", "match", "search", "fullmatch"})
_SHOWN = 100
STACK = "the call stack"

_SCRIPT = re.compile(
    r"\b(?P<variable>JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|CYPRESS"
    r"|RUNNER_(?:TASK|ATTEMPT))\b"
    r"|(?P<env>\bNODE_ENV\b['\"`\]\s]*[!=]==?\s*(?P<q>['\"`])test(?P=q)"
    r"|(?P<r>['\"`])test(?P=r)\s*[!=]==?[^;\n]*\bNODE_ENV\b)"
    r"|\btypeof\s+(?P<global>jest|vi|vitest|describe|it|test|expect|mocha|beforeEach)\b"
    r"|\b(?:globalThis|global|window)\s*(?:\.|\[\s*['\"])(?P<on>jest|vi|vitest|describe|expect)\b"
    r"|\bnpm_lifecycle_event\b[^\n;]*(?P<life>['\"`]test)"
    r"|\bargv\b[^\n;]*['\"`/](?P<argv>jest|vitest|mocha|ava|tap)\b"
    r"|\b(?:process\.(?:argv0?|title)|require\.main\.filename)\b[^\n;]*(?:[!=]==?|\.\w+\()\s*"
    r"(?:['\"`](?!-)|/)[^\n'\"`;]*?(?<![A-Za-z])(?P<program>tests?|specs?)(?![A-Za-z-])"
    r"|\bObject\.(?:keys|entries)\(\s*process\.env\s*\)[^;\n]*['\"`](?P<key>JEST|VITEST|NODE_TEST|MOCHA)"
    r"|\bprocess\.execArgv\b[^\n;]*['\"`](?P<exec>--test\b)"
)
_GO = re.compile(
    r"\btesting\.(?P<call>Testing)\(\)|\"(?P<flag>test\.(?:v|run|short|timeout|count|bench\w*"
    r"|list|skip|failfast|parallel|cpu|fuzz\w*|cover\w*|testlogfile|paniconexit0|gocoverdir))\""
    r"|\bos\.Args\b[^\n]*\"(?P<args>(?:[^\"\n-]*[^A-Za-z\"\n-]|-)?(?:test|spec)(?:[^A-Za-z\"\n-][^\"\n]*)?)\""
    r"|\bos\.(?:Getenv|LookupEnv)\(\s*\"(?P<variable>GO_TEST\w*|RUNNER_(?:TASK|ATTEMPT))\""
)
_RUST = re.compile(
    r"\bcfg!\(\s*(?:not\(\s*)?(?P<macro>test)\b|#\[cfg\(\s*not\(\s*(?P<without>test)\s*\)"
    r"|\benv::var(?:_os)?\(\s*\"(?P<variable>NEXTEST\w*|RUST_TEST_\w+|RUNNER_(?:TASK|ATTEMPT))\""
)
_BRACES = {"javascript": _SCRIPT, "go": _GO, "rust": _RUST}


class Named(NamedTuple):
    """One place that asks."""

    name: str
    """The tool or variable that it asks for."""
    line: int
    code: str
    """The condition as it is written, on one line."""


def names_of_tests(path: str, content: bytes | None) -> tuple[Named, ...]:
    """Every place of a file that asks whether a test tool runs it."""
    if content is None:
        return ()
    text = content.decode("utf-8", "replace")
    row = code_row(path)
    if row is None:
        return ()
    if row.language.literals is None:
        tree = python_tree(text)
        return _once(_of_tree(tree)) if tree else ()
    pattern, literals = _BRACES.get(row.name), row.language.literals
    return _once(_in_braces(text, pattern, literals, row.name)) if pattern and literals else ()


def _of_tree(tree: ast.Module) -> Iterator[Named]:
    yield from _in_python(tree)
    yield from _of_stack(call_stack.in_python(tree))
    yield from (Named(one.name, one.line, _short(one.code)) for one in in_python(tree))


def _once(found: Iterable[Named]) -> tuple[Named, ...]:
    """One of each line: a condition may ask in two ways."""
    return tuple({one.line: one for one in reversed([*found])}.values())[::-1]


def _of_stack(found: Iterable[call_stack.Decides]) -> Iterator[Named]:
    return (Named(STACK, one.line, _short(one.code)) for one in found)


# --- Python ---------------------------------------------------------------------------


def _in_python(tree: ast.Module) -> Iterator[Named]:
    """Conditions, and values that are there to be one, such as `"pytest" in sys.modules`."""
    seen: set[int] = set()
    keys = frozenset(_find_environment_keys(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            yield from _find_tried_imports(node)
        for asked in _conditions(node):
            if id(asked) in seen:
                continue
            seen |= {id(inner) for inner in ast.walk(asked)}
            name = _tool_in(asked, keys)
            if name:
                yield Named(name, asked.lineno, _short(ast.unparse(asked)))


def _conditions(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test
        case ast.comprehension(ifs=tests):
            yield from tests
        case ast.Match(subject=subject):
            yield subject
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            yield node
        case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
            yield value
        case ast.Call(args=arguments):
            yield node
            yield from arguments


def _tool_in(node: ast.expr, keys: frozenset[str]) -> str:
    """The tool or variable that an expression looks up; empty where it looks up none.

    `keys` are the names that go through the environment's variables, one after the other.
    """
    words = [fold_text(inner) for inner in ast.walk(node)]
    for word in words:
        if word and _VARIABLE.match(word):
            return word
    if keyed := _part_of_variable(node, keys):
        return keyed
    if compared := _arguments_in(node):
        return compared
    asked = {
        inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
        for inner in ast.walk(node)
    }
    if not asked & _ASKED:
        return ""
    for word in words:
        if word and (word.partition(".")[0] in _TOOLS or word in _TOOLS):
            return word
        if word and "argv" in asked and (found := _IN_ARGUMENTS.search(word)):
            return found[0]
    return ""


def _arguments_in(node: ast.expr) -> str:
    """The word of tests that a program's own name or arguments are compared with."""
    return next((word for one in ast.walk(node) if (word := _compare_subject(one))), "")


def _compare_subject(node: ast.AST) -> str:
    match node:
        case ast.Compare():
            pass
        case ast.Call(func=ast.Attribute(attr=name)) if name in _COMPARING:
            pass
        case _:
            return ""
    every = [*ast.walk(node)]
    if not any(getattr(one, "attr", getattr(one, "id", "")) in _ARGUMENTS for one in every):
        return ""
    words = (word for one in every if (word := fold_text(one)) and not word.startswith("-"))
    return next((found[0] for word in words if (found := _TESTS.search(word))), "")


def _find_environment_keys(tree: ast.Module) -> Iterator[str]:
    """Names that a loop or a comprehension binds to the environment's variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.For | ast.comprehension) and "environ" in ast.unparse(node.iter):
            yield from (one.id for one in ast.walk(node.target) if isinstance(one, ast.Name))


def _part_of_variable(node: ast.expr, keys: frozenset[str]) -> str:
    """The part of a tool's variable that such a name is compared with."""
    for one in ast.walk(node):
        if not isinstance(one, ast.Compare | ast.Call):
            continue
        every = [*ast.walk(one)]
        if not any(isinstance(inner, ast.Name) and inner.id in keys for inner in every):
            continue
        for word in map(fold_text, every):
            if len(word) >= _SHORTEST and any(_tells(word, one) for one in _VARIABLES):
                return word
    return ""


def _tells(word: str, variable: str) -> bool:
    """Whether a part of a name is enough to mean this variable, and few others."""
    return variable.startswith(word) or ("TEST" in word and word in variable)


def _find_tried_imports(node: ast.Try) -> Iterator[Named]:
    """`try: import pytest` asks whether it is there, too."""
    caught = any(one.type and "ImportError" in ast.unparse(one.type) for one in node.handlers)
    for inner in node.body if caught else ():
        named = [one.name for one in inner.names] if isinstance(inner, ast.Import) else []
        if isinstance(inner, ast.ImportFrom):
            named = [inner.module or ""]
        for name in named:
            if name.partition(".")[0] in _TOOLS - {"unittest", "doctest"}:
                yield Named(name.partition(".")[0], inner.lineno, _short(ast.unparse(inner)))


# --- languages with braces ------------------------------------------------------------


def _in_braces(
    text: str, pattern: re.Pattern[str], literals: re.Pattern[str], language: str
) -> Iterator[Named]:
    bare = join_literals(literals.sub(lambda found: _without_comment(found[0]), text))
    for match in pattern.finditer(bare):
        line = line_of(bare, match.start())
        code = bare.split("\n")[line - 1].strip()
        if "import.meta.vitest" in code:
            continue  # tests that stand beside the code
        said = next((one for one in match.groupdict().values() if one), match[0])
        name = "NODE_ENV" if match.groupdict().get("env") else said
        yield Named(name, line, _short(code))
    for start, name in in_script(bare) if language == "javascript" else ():
        line = line_of(bare, start)
        yield Named(name, line, _short(bare.split("\n")[line - 1].strip()))
    if language in ("javascript", "go"):
        read = call_stack.in_go if language == "go" else call_stack.in_script
        yield from _of_stack(read(bare))


def _without_comment(token: str) -> str:
    return re.sub(r"[^\n]", " ", token) if token.startswith(("//", "/*")) else token


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


# --- tool changes ---------------------------------------------------------------------


_REPLACED = frozenset({"pytest", "_pytest", "unittest", "nose", "nose2", "doctest", "hypothesis"})
_OF_SCRIPTS = (
    r"['\"`](?:node:)?(?:assert(?:/strict)?|test|chai|tape|ava|mocha|vitest|jest|expect|@jest/\w+"
    r"|@vitest/\w+)['\"`]"
)
_BOUND = re.compile(
    rf"(?:\b(?:const|let|var)\s+(?P<one>\w+|\{{[^}}\n]*\}})\s*=\s*(?:await\s+)?(?:require|import)\(\s*{_OF_SCRIPTS}"
    rf"|\bimport\s+(?P<two>[^;\n]*?)\s+from\s+{_OF_SCRIPTS})"
)
_DIRECT = re.compile(
    rf"\brequire\(\s*(?P<tool>{_OF_SCRIPTS})\s*\)(?:\.\w+|\[[^\]\n]*\])+\s*=(?![=>])"
    r"|\bprocess\.(?P<ends>reallyExit|exit|abort)\s*=(?![=>])"
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_WORDS = frozenset({"as", "type", "default", "from"})


class Changes(NamedTuple):
    """One place that does so."""

    name: str
    line: int
    code: str


def in_python(tree: ast.Module) -> Iterator[Changes]:
    """Assignments to, and `setattr` on, what was imported from a test tool."""
    known = dict(_imported(tree))
    if not known:
        return
    for node in ast.walk(tree):
        for target in _changed(node):
            root = _root(target)
            if root in known:
                yield Changes(known[root], target.lineno, ast.unparse(node))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                tool = one.name.partition(".")[0]
                if tool in _REPLACED:
                    yield one.asname or tool, tool
        elif isinstance(node, ast.ImportFrom) and not node.level:
            tool = (node.module or "").partition(".")[0]
            if tool in _REPLACED:
                for one in node.names:
                    yield one.asname or one.name, tool


def _changed(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            yield from (one for one in targets if isinstance(one, ast.Attribute | ast.Subscript))
        case ast.AugAssign(target=ast.Attribute() as target):
            yield target
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[target, *_]):
            yield target


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def in_script(bare: str) -> Iterator[tuple[int, str]]:
    """Offset and name of each such place of JavaScript and TypeScript, comments taken out."""
    for match in _DIRECT.finditer(bare):
        yield match.start(), (match["tool"] or match["ends"]).strip("'\"`")
    for bound in _BOUND.finditer(bare):
        names = set(_NAME.findall(bound["one"] or bound["two"])) - _WORDS
        for name in sorted(names):
            changed = re.compile(
                rf"(?<![\w.$])(?:{name}(?:\.\w+|\[[^\]\n]*\])+\s*=(?![=>])"
                rf"|Object\.(?:assign|defineProperty)\(\s*{name}\b)"
            )
            yield from ((match.start(), name) for match in changed.finditer(bare))
