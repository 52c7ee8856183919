"""What tests expect, recorded in a file by the same change as the code: nobody said it.

A snapshot or a golden file holds what came out, right or wrong. Written beside the code that it is
about, it proves that the code does what it does; one that the test itself writes where there is
none proves not even that. A family of the registry; it runs no command.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved, gravest
from runner.languages.python.marks import name_of
from runner.languages.registry import code_row, is_written_in
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.text.prose import IDENTIFIER
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.config.settings import Settings
    from runner.gates.base import GateContext
    from runner.model import Change, Task

CHECK = "recorded-answers"
_RECORD = regex(
    r"(?:\A|/)__(?:snapshots|image_snapshots)__/|\.(?:snap|ambr|golden|approved(?:\.\w+)?)\Z"
    r"|(?:\A|[/_.-])(?:goldens?|snapshots?|baselines?|recorded|expected)(?=[/_.-])[^\n]*\.\w+\Z",
    re.IGNORECASE,
)
"""What tools, and people, call what they record."""
_UPDATES = regex(
    r"\b(?:UPDATE_?\w*(?:SNAP|GOLD|EXPECT|BASELINE)\w*|(?:SNAP|GOLD)\w*_UPDATE|UPDATE_GOLDENS?|INSTA_UPDATE)=(?!0|no\b|false\b|\s)"
    r"|\s--(?:snapshot-update|update-?[sS]napshots?|force-regen|regen-all|inline-snapshot=(?:create|fix|update))\b"
    r"|\b(?:jest|vitest|ava|tap)\b[^|;&\n]*\s(?:-u|--update)\b"
    r"|\bgo test\b[^|;&\n]*\s-{1,2}update\b(?!=false)"
)
"""How test tools are told to write down what comes out, instead of comparing it."""
_TEMPORARY = regex(r"tmp|temp|TempDir|mkdtemp|cache", re.IGNORECASE)
_SCRIPT_WRITES = regex(
    r"if\s*\(\s*!\s*(?:\w+\.)?(?:existsSync|pathExistsSync)\(\s*(?P<path>[\w$.]+)\s*\)\s*\)\s*\{?\s*"
    r"[^{}]*?\b(?:writeFileSync|writeFile|outputFileSync)\(\s*(?P=path)\s*,(?P<what>[^;\n]*)"
)
_GO_WRITES = regex(
    r"(?:os\.Stat|(?:os|ioutil)\.ReadFile)\(\s*(?P<path>[\w.]+)\s*\)[^{}]*\b(?:err\w*\s*!=\s*nil|IsNotExist|ErrNotExist)[^{}]*\{"
    r"(?:[^{}]|\{[^{}]*\})*?\b(?:os|ioutil)\.WriteFile\(\s*(?P=path)\s*,(?P<what>[^\n]*)"
)
_LARGEST = 1_000_000
_MOST = 5


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One look at what a task that may write records."""
    if not task.writes_anything:
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:  # noqa: ARG001 - a family's shape
    """Each record that a change writes beside code: a warning, with `strict` a question.

    Records that a test writes where there is none, and a contract that has them written, are a
    question in every setting: whatever comes out passes.
    Nothing of what a person wrote, and nothing where the change has no code of the product.
    """
    code = any(
        one.content is not None and code_row(one.path) and not bench.is_test(one.path)
        for one in bench.changes
    )
    if bench.by_person or not code:
        return Proved(None, ())
    asks = bench.settings.mutation == "strict"
    severity = Severity.QUESTION if asks else Severity.WARNING
    found = [*_written_by_tests(bench), *_updated(bench)]
    found += [_finding(one, severity) for one in _records(bench)]
    found += [_recorded(one, severity) for one in _made(bench)]
    return Proved(None, gravest(found, _MOST))


def _records(bench: GateContext) -> Iterator[Change]:
    for one in bench.changes:
        if one.content is None or code_row(one.path) or not _RECORD.search(one.path):
            continue
        if bench.is_test(one.path) or _is_read(one.path, bench):
            yield one


def _is_read(path: str, bench: GateContext) -> bool:
    """Whether a test of the change names the file."""
    name = path.rpartition("/")[2].encode()
    return any(name in (one.content or b"") for one in bench.changes if bench.is_test(one.path))


def _finding(one: Change, severity: Severity) -> Finding:
    return Finding(
        check=INTEGRITY,
        message="what its tests expect is recorded here, by the change that wrote the code",
        path=one.path,
        severity=severity,
        hint="read it as you would code, or have a test say what must come out",
    )


# --- tests that write what they expect --------------------------------------------------------


def _made(bench: GateContext) -> Iterator[str]:
    """Records that were not there before a contract ran its tests."""
    yield from sorted(
        {
            path
            for trial in bench.ran.values()
            for path in trial.touched.made
            if _RECORD.search(path) and bench.is_test(path)
        }
    )


def _recorded(path: str, severity: Severity) -> Finding:
    return Finding(
        check=INTEGRITY,
        message="its tests recorded what they expect as they ran: whatever came out passed",
        path=path,
        severity=severity,
        hint="read it and have the change bring it, or have a test say what must come out",
    )


def _updated(bench: GateContext) -> Iterator[Finding]:
    for one in bench.task.test_contracts:
        if match := _UPDATES.search(f" {one.command}"):
            yield Finding(
                check=INTEGRITY,
                message=f"{one.id} writes what its tests expect: `{match[0].strip()}`",
                severity=Severity.QUESTION,
                hint="run it without, so that the tests compare",
            )


def _written_by_tests(bench: GateContext) -> Iterator[Finding]:
    """Tests that write what they expect from what comes out, where it is not there yet."""
    made = frozenset(
        word
        for one in bench.changes
        if one.content and code_row(one.path) and not bench.is_test(one.path)
        for word in IDENTIFIER.findall(one.content[:_LARGEST].decode("utf-8", "replace"))
    )
    for one in bench.changes:
        content = one.content
        if content is None or len(content) > _LARGEST or not bench.is_test(one.path):
            continue
        known = {path for path, _ in find_written(one.path, bench.before(one.path) or b"", made)}
        for path, line in find_written(one.path, content, made):
            if path not in known:
                yield Finding(
                    check=INTEGRITY,
                    message=f"the test writes what it expects, where {path} is not there:"
                    " whatever comes out passes",
                    path=one.path,
                    line=line,
                    severity=Severity.QUESTION,
                    hint="have the change bring what must come out, and the test fail without it",
                )


def find_written(path: str, content: bytes, product: frozenset[str]) -> Iterator[tuple[str, int]]:
    """Where a test file writes what it compares with, from words of the product, if absent.

    The expression of the file's path, and the line. None of temporary files.
    """
    text = content.decode("utf-8", "replace")
    if is_written_in(path, "python"):
        tree = python_tree(text)
        yield from _in_python(tree, product) if tree else ()
        return
    script, go = is_written_in(path, "javascript"), is_written_in(path, "go")
    pattern = _SCRIPT_WRITES if script else _GO_WRITES if go else None
    for match in pattern.finditer(text) if pattern else ():
        reads = re.compile(rf"\bread\w*\(\s*{re.escape(match['path'])}\b", re.IGNORECASE)
        bound = re.findall(rf"\b{re.escape(match['path'])}\s*:?=([^\n]*)", text)
        if any(map(_TEMPORARY.search, (match["path"], *bound))) or not reads.search(text):
            continue
        if _is_output(match["what"], product, text):
            yield match["path"], text.count("\n", 0, match.start()) + 1


def _is_output(what: str, product: frozenset[str], text: str) -> bool:
    """Whether what is written comes from the product, or is compared in the same file."""
    called = {*re.findall(r"([A-Za-z_$][\w$]*)\s*\(", what)}
    names = {*IDENTIFIER.findall(what)} - {
        "JSON",
        "stringify",
        "null",
        "utf8",
        "byte",
        "string",
        "json",
    }
    asked = re.findall(r"\b(?:assert\w*|expect|if|Equal|DeepEqual)\b[^\n]*", text)
    return bool(called & product) or any(names & {*IDENTIFIER.findall(one)} for one in asked)


def _in_python(tree: ast.Module, product: frozenset[str]) -> Iterator[tuple[str, int]]:
    bound = {
        target.id: ast.unparse(one.value)
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    asked = {
        name.id
        for one in ast.walk(tree)
        if isinstance(one, ast.Assert)
        for name in ast.walk(one)
        if isinstance(name, ast.Name)
    }
    for node in ast.walk(tree):
        for place, body in _where_absent(node):
            root = place.partition(".")[0].partition("(")[0]
            if _TEMPORARY.search(place) or _TEMPORARY.search(bound.get(root, "")):
                continue
            for one in (each for part in body for each in ast.walk(part)):
                if isinstance(one, ast.Call) and _writes(one) and place in _near(one, body):
                    words = {*IDENTIFIER.findall(" ".join(_values(one, place)))}
                    if words & product & _called(one, body) or words & asked:
                        yield place, one.lineno
                        break


def _where_absent(node: ast.AST) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The paths of files, and what is done where they are not there."""
    match node:
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=test), body=body):
            yield from ((place, body) for place in _asked_for(test))
        case ast.If(test=test, orelse=[_, *_] as body):
            yield from ((place, body) for place in _asked_for(test))
        case ast.Try(body=tried, handlers=handlers) | ast.TryStar(body=tried, handlers=handlers):
            for handler in handlers:
                kind = ast.unparse(handler.type) if handler.type else "OSError"
                if re.search(r"FileNotFoundError|OSError|IOError", kind):
                    for one in (each for part in tried for each in ast.walk(part)):
                        if isinstance(one, ast.Call) and (place := _read(one)):
                            yield place, handler.body


def _asked_for(test: ast.expr) -> Iterator[str]:
    match test:
        case ast.Call(func=ast.Attribute(attr="exists" | "is_file" | "isfile"), args=[given]):
            yield ast.unparse(given)
        case ast.Call(func=ast.Attribute(value=value, attr="exists" | "is_file"), args=[]):
            yield ast.unparse(value)


def _read(call: ast.Call) -> str:
    match call:
        case ast.Call(func=ast.Attribute(value=value, attr="read_text" | "read_bytes")):
            return ast.unparse(value)
        case ast.Call(func=ast.Name(id="open"), args=[given]):
            return ast.unparse(given)
    return ""


def _writes(call: ast.Call) -> bool:
    return name_of(call).rpartition(".")[2] in ("write_text", "write_bytes", "write", "dump")


def _near(call: ast.Call, body: list[ast.stmt]) -> str:
    """The statements that a call stands in: of `with open(…) as file` the path, too."""
    return "\n".join(
        ast.unparse(part) for part in body if any(one is call for one in ast.walk(part))
    )


def _values(call: ast.Call, place: str) -> Iterator[str]:
    for one in call.args:
        if (code := ast.unparse(one)) != place:
            yield code


def _called(call: ast.Call, body: list[ast.stmt]) -> set[str]:
    """What is called for what is written, there or just before."""
    return {
        name_of(one).rpartition(".")[2]
        for part in body
        for one in ast.walk(part)
        if isinstance(one, ast.Call) and one is not call
    }
