"""Where code asks whether a test tool runs it: by names of tools and of their variables."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from runner.gates import call_stack, program_names, tool_changes
from runner.languages.c_like_lexer import line_of
from runner.languages.registry import code_row, row_of
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.text.syntax import fold_text, follow_aliases, join_literals, python_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates import script_conditions
    from runner.languages.registry import Row
else:
    script_conditions = lazy_module("runner.gates.script_conditions")


_VARIABLE = regex(
    r"\A(?:PYTEST_\w+|_PYTEST_\w+|COVERAGE_RUN|COV_CORE_\w+|TOX_ENV_NAME|TOX_WORK_DIR|NOX_\w+"
    r"|JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_TEST_CONTEXT|MOCHA_\w+|CYPRESS|NEXTEST(?:_\w+)?"
    r"|RUNNER_(?:TASK|ATTEMPT|COVER_\w+|WATCH_\w+))\Z"
)
_VARIABLES = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER", "COVERAGE_RUN")
"""Those that a proof has."""
_SHORTEST = 3
_TOOLS = frozenset(
    {"pytest", "_pytest", "py.test", "unittest", "nose", "nose2", "doctest", "coverage"}
)
_TRACERS = {
    **dict.fromkeys(("gettrace", "getprofile", "_getframemodulename"), "sys.{}"),
    **dict.fromkeys(("get_objects", "get_referrers"), "gc.{}"),
}
_LOOKING = "exists is_file is_dir isfile isdir glob rglob iterdir listdir"
_LOOKS_FOR = frozenset(_LOOKING.split())
PLACE = "where it is run"
_IN_ARGUMENTS = regex(r"pytest|unittest|py\.test|nose2?\b")
_TESTS = regex(r"(?<![a-z-])(?:tests?|specs?|testing)(?![a-z])(?!-)|__main__\.py\Z", re.IGNORECASE)
"""A word of a program's name or arguments that tests have; an option of its own is none."""
_ARGUMENTS = frozenset({"argv", "orig_argv", "cmdline"})
_ASKED = _ARGUMENTS | {"modules", "find_spec", "import_module", "stack", "f_globals"}
"""What a tool's name is looked up in."""
_STARTED = _ARGUMENTS | {"__main__", "__spec__", "environ", "getenv"}
_INSIDES = regex(r"AssertionRewritingHook|EncodedFile|DontReadFromInput|LogCaptureHandler")
"""What pytest puts in the place of streams, handlers and importers."""
_COMPARING = frozenset({"startswith", "endswith", "match", "search", "fullmatch"})
_DOUBLE = regex(
    r"\A(?:unittest\.|pytest_)?_?mock(?:\Z|[._])|\A(?:Magic|Async|NonCallable\w*)?Mock\Z"
    r"|\Aassert_(?:not_|any_)?(?:called|awaited|call\b|has_calls)\w*\Z|\Amock_calls\Z"
)
"""What only a test's double has, or is called."""
_LOOKING_AT = "__module__ __name__ __qualname__ __class__ __mro__ type hasattr getattr"
_LOOKS_AT = frozenset(_LOOKING_AT.split())
_TELLING = "process_time process_time_ns thread_time perf_counter monotonic time times"
_CLOCKS = frozenset(_TELLING.split())
"""Calls that tell how long it has run, or when: of what has a number in it, of no deadline."""
CLOCK = "how long it has run"
_TEST_FILE = regex(r"(?:\A|/)(?:tests?/|test_\w+\.py\Z|tests?\Z|\w+_test\.\w+\Z|conftest\.py\Z)")
_OF_ITSELF = regex(r"/proc/(?:self|thread-self)/(?:cmdline|environ|maps|comm|stat)\b")
"""Where a process is told how it was started."""
_SHOWN = 100
STACK = "the call stack"

_GO = regex(
    r"\btesting\.(?P<call>Testing)\(\)|\"(?P<flag>test\.(?:v|run|short|timeout|count|bench\w*"
    r"|list|skip|failfast|parallel|cpu|fuzz\w*|cover\w*|testlogfile|paniconexit0|gocoverdir))\""
    r"|\bos\.Args\b[^\n]*\"(?P<args>(?:[^\"\n-]*[^A-Za-z\"\n-]|-)?(?:test|spec)(?:[^A-Za-z\"\n-][^\"\n]*)?)\""
    r"|\bos\.(?:Getenv|LookupEnv)\(\s*\"(?P<variable>GO_TEST\w*|RUNNER_(?:TASK|ATTEMPT))\""
)
_RUST = regex(
    r"\bcfg!\(\s*(?:not\(\s*)?(?P<macro>test)\b|#\[cfg\(\s*not\(\s*(?P<without>test)\s*\)"
    r"|\benv::var(?:_os)?\(\s*\"(?P<variable>NEXTEST\w*|RUST_TEST_\w+|RUNNER_(?:TASK|ATTEMPT))\""
)
_ENVIRONMENT = regex(r"\bprocess\.env(?:\.|\[\s*['\"])(?P<name>[A-Za-z_]\w*)")
_BRACES = {"go": _GO, "rust": _RUST}


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
    row = _row(path)
    if row is None:
        return ()
    if row.language.literals is None:
        tree = python_tree(text)
        return _once(_of_tree(follow_aliases(tree, _ARGUMENTS | {"modules"}))) if tree else ()
    bare = join_literals(row.language.literals.sub(lambda found: _without_comment(found[0]), text))
    return _once(_in_script(bare, path) if row.name == "javascript" else _in_braces(bare, row.name))


def _row(path: str) -> Row | None:
    """The language of a file of code, or of a template that has some in it."""
    of = row_of(path)
    return of if of and path.endswith(of.also) and of.language.literals else code_row(path)


def _of_tree(tree: ast.Module) -> Iterator[Named]:
    yield from _in_python(tree)
    yield from _of_stack(call_stack.in_python(tree))
    yield from (Named(one.name, one.line, _short(one.code)) for one in tool_changes.in_python(tree))


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
        if isinstance(node, ast.Try | ast.TryStar):
            yield from _find_tried_imports(node)
        if isinstance(node, ast.Constant) and _OF_ITSELF.match(str(node.value)):
            yield Named(str(node.value), node.lineno, repr(node.value))
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
    if seen := _tracer_in(node) or _place_in(node):
        return seen
    if compared := _arguments_in(node) or _double_in(node) or _clock_in(node):
        return compared
    asked = {
        inner.attr if isinstance(inner, ast.Attribute) else getattr(inner, "id", "")
        for inner in ast.walk(node)
    }
    for word in filter(None, words):
        if asked & _ASKED and (word.partition(".")[0] in _TOOLS or word in _TOOLS):
            return word
        if asked & _STARTED and (found := _IN_ARGUMENTS.search(word)):
            return found[0]
        if _INSIDES.search(word):
            return word
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
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
            pass
        case _:
            return ""
    every = [*ast.walk(node)]
    if not any(getattr(one, "attr", getattr(one, "id", "")) in _ARGUMENTS for one in every):
        return ""
    words = (word for one in every if (word := fold_text(one)) and not word.startswith("-"))
    return next((found[0] for word in words if (found := _TESTS.search(word))), "")


def _tracer_in(node: ast.expr) -> str:
    for one in ast.walk(node):
        name = one.attr if isinstance(one, ast.Attribute) else fold_text(one)
        if name in _TRACERS:
            return _TRACERS[name].format(name)
    return ""


def _place_in(node: ast.expr) -> str:
    """A test file that is looked for, or the working folder compared with the code's own."""
    every = [*ast.walk(node)]
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in every}
    if "__file__" in names and names & {"getcwd", "cwd"}:
        return PLACE
    if names & _LOOKS_FOR:
        words = (fold_text(one) for one in every)
        return next((word for word in words if word and _TEST_FILE.search(word)), "")
    return ""


def _double_in(node: ast.expr) -> str:
    """What of a test's double an expression looks for; a double of its own is none's."""
    every = [*ast.walk(node)]
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in every}
    if not names & _LOOKS_AT:
        return ""
    return next((word for one in every if _DOUBLE.match(word := fold_text(one))), "")


def _clock_in(node: ast.expr) -> str:
    """A clock that is compared with a number."""
    for one in ast.walk(node):
        if not isinstance(one, ast.Compare):
            continue
        sides = (one.left, *one.comparators)
        if any(_is_clock(side) for side in sides) and any(_is_number(side) for side in sides):
            return CLOCK
    return ""


def _is_clock(node: ast.expr) -> bool:
    return any(
        isinstance(one, ast.Call)
        and not one.args
        and getattr(one.func, "attr", getattr(one.func, "id", "")) in _CLOCKS
        for one in ast.walk(node)
    ) and not any(isinstance(one, ast.Sub) for one in ast.walk(node))  # a duration of its own


def _is_number(node: ast.expr) -> bool:
    """Whether it is written as a number, `1900 * 10**6` too."""
    return all(
        isinstance(one, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        or (isinstance(one, ast.Constant) and isinstance(one.value, int | float))
        for one in ast.walk(node)
    )


def variables_asked(path: str, content: bytes | None) -> tuple[Named, ...]:
    """Every condition of a Python or JavaScript file that asks for an environment's variable."""
    text = (content or b"").decode("utf-8", "replace")
    row = _row(path)
    if row is None or content is None:
        return ()
    if row.language.literals is None:
        tree = python_tree(text)
        return tuple(_asked_in_python(tree)) if tree else ()
    found = _ENVIRONMENT.finditer(text) if row.name == "javascript" else ()
    lines = text.split("\n")
    return tuple(
        Named(one["name"], (at := line_of(text, one.start())), _short(lines[at - 1].strip()))
        for one in found
    )


def _asked_in_python(tree: ast.Module) -> Iterator[Named]:
    for node in ast.walk(tree):
        for asked in _conditions(node):
            for one in ast.walk(asked):
                if name := _variable_of(one):
                    yield Named(name, asked.lineno, _short(ast.unparse(asked)))


def _variable_of(node: ast.AST) -> str:
    """The variable of `os.environ["X"]`, `.get("X")`, `getenv("X")` or `"X" in os.environ`."""
    match node:
        case ast.Call(func=func, args=[first, *_]):
            asks = ast.unparse(func).rpartition("os.")[2] in ("environ.get", "getenv")
            return fold_text(first) if asks else ""
        case ast.Subscript(value=value, slice=key):
            return fold_text(key) if ast.unparse(value).endswith("environ") else ""
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
            return fold_text(left) if ast.unparse(right).endswith("environ") else ""
    return ""


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


def _find_tried_imports(node: ast.Try | ast.TryStar) -> Iterator[Named]:
    """`try: import pytest` asks whether it is there, too."""
    caught = any(one.type and "ImportError" in ast.unparse(one.type) for one in node.handlers)
    for inner in node.body if caught else ():
        named = [one.name for one in inner.names] if isinstance(inner, ast.Import) else []
        if isinstance(inner, ast.ImportFrom):
            named = [inner.module or ""]
        for name in named:
            # These two come with Python: to try to import them asks nothing.
            if name.partition(".")[0] in _TOOLS - {"unittest", "doctest"}:
                yield Named(name.partition(".")[0], inner.lineno, _short(ast.unparse(inner)))


# --- languages with braces ------------------------------------------------------------


def _in_braces(bare: str, language: str) -> Iterator[Named]:
    pattern = _BRACES.get(language)
    for match in pattern.finditer(bare) if pattern else ():
        said = next((one for one in match.groupdict().values() if one), match[0])
        yield _named(bare, match.start(), said)
    if language == "go":
        yield from (_named(bare, start, name) for start, name in program_names.in_go(bare))
        yield from _of_stack(call_stack.in_go(bare))


def _in_script(bare: str, path: str) -> Iterator[Named]:
    lines = bare.split("\n")
    for one in script_conditions.in_script(bare, path):
        yield Named(one.name, one.line, _short(lines[one.line - 1].strip()))
    yield from (_named(bare, start, name) for start, name in tool_changes.in_script(bare))
    yield from _of_stack(call_stack.in_script(bare))


def _named(text: str, at: int, name: str) -> Named:
    line = line_of(text, at)
    return Named(name, line, _short(text.split("\n")[line - 1].strip()))


def _without_comment(token: str) -> str:
    return re.sub(r"[^\n]", " ", token) if token.startswith(("//", "/*")) else token


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
