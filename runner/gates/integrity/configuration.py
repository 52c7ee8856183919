"""Configuration and hooks through which tests are left out, or their failure is swallowed."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING

from runner.gates.integrity import command_lines
from runner.gates.integrity.weaknesses import Weakness
from runner.gates.test_paths import is_test_path
from runner.languages.python.marks import name_of
from runner.languages.registry import is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.plan.commands import swallows_failure
from runner.plan.shell.selection import find_added_options
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runner.gates.integrity import selection
else:
    selection = lazy_module("runner.gates.integrity.selection")

_LARGEST = 2_000_000
_PYTEST_FILE = regex(r"(?:\A|/)(?:pytest\.ini|\.pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml)\Z")
_WITH_ADDOPTS = frozenset({"pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"})
_SCRIPT_CONFIG = regex(
    r"(?:\A|/)(?:(?:vite|vitest|jest|playwright|karma|cypress)\.config\.[cm]?[jt]s|jest\.config\.json"
    r"|\.mocharc\.[\w.]+|vitest\.workspace\.[cm]?[jt]s)\Z"
)
_COMMANDS = regex(
    r"(?:\A|/)(?:package\.json|Makefile|makefile|GNUmakefile|justfile|Justfile|Taskfile\.ya?ml"
    r"|tox\.ini|noxfile\.py|[^/]*\.mk)\Z"
)
_LEAVES_OUT = regex(
    r"--(?:ignore|ignore-glob|deselect|collect-only|co|maxfail|suppress-\w+|continue-on-\w+)\b"
    r"|(?<![\w-])-[km][ =]*[\"'\\]*not\b|\bcollect_ignore\w*|\bnorecursedirs\b"
    r"|-p[ =]no:(?!cacheprovider)"
    r"|\bxfail_strict\s*=\s*[\"']?(?:false|no|0)|(?<![\w-])(?:-x|--exitfirst)(?![\w-])"
)
# pycodestyle's `--ignore=E128` in a new tox.ini was taken for pytest's, and refused a real commit.
_RULE_CODES = regex(r"--ignore[ =]+[\"']?[A-Z]{1,4}\d{1,4}(?:,[A-Z]{1,4}\d{1,4})*(?=[\s\"']|\Z)")
"""Of a linter: what it ignores are rules, no tests."""
_SCRIPT_LEAVES_OUT = regex(
    r"\b(?:exclude|testPathIgnorePatterns|modulePathIgnorePatterns|testNamePattern|passWithNoTests"
    r"|allowOnly|testIgnore|grepInvert|dangerouslyIgnoreUnhandledErrors|retry|retries|bail)\b[\"']?\s*[:=]"
)
_IGNORED_RECIPE = regex(
    r"(?:\t|[^\s#:=][^:=]*::?[^=:;]*;)[@+ \t]*-[@+-]*\s*\S|\.IGNORE\b"
    r"|(?:(?:export|override)\s+)*MAKEFLAGS\s*[:+?]*=(?:\s*-?[A-Za-z]*[ik][A-Za-z]*(?!\S)"
    r"|.*(?:\s-[A-Za-z]*[ik]\b|--ignore-errors))"
)
_IGNORED_OF_JUST = regex(r"[ \t]+@?-\s*\S")
_GOES_ON = regex(
    r"\bignore_error:\s*true\b|\bsuccess_codes\s*=\s*[\[(](?!\s*0\s*,?\s*[\])])[^\])]*[\])]?"
)
"""By which Taskfile and nox pass over what fails."""
_PROVES = regex(
    r"test|lint|check|types|pytest|ruff|mypy|flake8|black|eslint|tsc|jest|cargo|clippy|\bgo\b|make|tox"
    r"|nox|coverage|build|compile|npm|yarn|IGNORE|MAKEFLAGS|ignore_error|success_codes",
    re.IGNORECASE,
)
"""What proves something; that cleaning up may fail is nobody's loss."""
_CLEANS = regex(
    r"[@\-\s]*(?:rm|rmdir|mkdir|unlink|find\s[^;&|]*-delete"
    r"|(?:python[\d.]*\s+-m\s+)?coverage\s+(?:combine|erase|html|xml|json|lcov|annotate))\b[^;&|]*\Z"
)
"""A command that only makes room, or writes what was measured, whatever the folder is called."""
_HOOKS = regex(
    r"\Apytest_(?:collection_modifyitems|ignore_collect|collect_file|pycollect_makeitem|deselected"
    r"|runtest_\w+|pyfunc_call|sessionfinish|unconfigure|report_teststatus|itemcollected"
    r"|cmdline_main|load_initial_conftests|exception_interact)\Z"
)
_ASSERTIONS = regex(
    r"TestCase\.(?:assert\w*|fail\w*|subTest|run)\Z|\Apytest\.(?:raises|fail|approx|warns)\Z"
)
_NO_PRODUCTS = sys.stdlib_module_names | {"pytest", "_pytest", "hypothesis", "mock"}
_INIT = regex(r"(?ms)^func init\(\) \{\n(?P<body>.*?)^\}")
_CHANGED = regex(r"\s+(?:delete\()?(?P<name>[A-Za-z_]\w*)(?:[\[.][^=:]*)?\s*(?:=(?!=)|,)")
_TAMPERS = regex(
    r"\b(?:outcome|exitstatus|deselected|wasxfail|excinfo|force_result|shouldstop)\b|items\s*\[|items\.(?:clear|remove"
    r"|pop)|\bskip\b|\bxfail\b|_exit\b|\bexit\b|\breturn True\b|\breturn 0\b"
)


def weaknesses(path: str, old: bytes | None, new: bytes) -> Iterator[Weakness]:
    """What the new bytes of a file leave out or swallow that the old ones did not."""
    if len(new) > _LARGEST:
        return
    before, after = (old or b"").decode("utf-8", "replace"), new.decode("utf-8", "replace")
    if _PYTEST_FILE.search(path):
        yield from _lines(before, after, _leaves_out, "leaves tests out")
    if _SCRIPT_CONFIG.search(path):
        yield from _lines(before, after, _script_leaves_out, "may leave tests out")
    if command_lines.holds_commands(path):
        yield from command_lines.weaknesses(path, before, after, _proves)
        if command_lines.is_makefile(path):
            yield from _lines(before, after, _passes_over, "swallows a failure")
    elif _COMMANDS.search(path):
        part = _swallows_in_just if path.lower().endswith("justfile") else _swallows
        yield from _lines(before, after, part, "swallows a failure")
    if path.rpartition("/")[2] in _WITH_ADDOPTS:
        yield from _narrowed(path, old or b"", new)
    if is_written_in(path, "python") and is_test_path(path):
        yield from _hooks(before, after)
    if is_written_in(path, "go") and is_test_path(path):
        yield from _inits(before, after)


def _lines(before: str, after: str, part: Callable[[str], str], what: str) -> Iterator[Weakness]:
    """Lines that are new and hold something of the kind."""
    known = Counter(part(line) for line in before.splitlines())
    for number, line in enumerate(after.splitlines(), start=1):
        found = part(line)
        if not found:
            continue
        if known[found]:
            known[found] -= 1
        else:
            grave = part not in _OF_COMMANDS or _proves(line.partition(found)[0].strip() or found)
            yield Weakness(number, f"`{found}` {what}", grave)


def _proves(command: str) -> bool:
    return bool(_PROVES.search(command)) and not _CLEANS.match(command)


def _leaves_out(line: str) -> str:
    match = _LEAVES_OUT.search(line)
    if match and _RULE_CODES.match(line, match.start()):
        return ""
    return line[match.start() :].strip()[:80] if match and not line.lstrip().startswith("#") else ""


def _script_leaves_out(line: str) -> str:
    code = line.partition("//")[0]
    match = _SCRIPT_LEAVES_OUT.search(code)
    return code[match.start() :].strip()[:80] if match else ""


def _swallows(line: str) -> str:
    goes_on = _GOES_ON.search(line)
    return goes_on[0][:80] if goes_on else swallows_failure(line)


def _swallows_in_just(line: str) -> str:
    return line.strip()[:80] if _IGNORED_OF_JUST.match(line) else swallows_failure(line)


def _passes_over(line: str) -> str:
    """A line of a Makefile that goes on whatever its command says."""
    return line.strip()[:80] if _IGNORED_RECIPE.match(line) else ""


_OF_COMMANDS = (_swallows, _swallows_in_just, _passes_over)


def _narrowed(path: str, old: bytes, new: bytes) -> Iterator[Weakness]:
    """Options that pytest is always given, which leave out what ran before."""
    before, after = selection.addopts_of(path, old), selection.addopts_of(path, new)
    for said in () if not old else find_added_options(before, after):
        if not _LEAVES_OUT.search(said):  # that is told already
            line = new.decode("utf-8", "replace").partition(said.split()[0])[0].count("\n") + 1
            yield Weakness(line, f"`{said}` leaves tests out")


# --- hooks and exits of Python ---------------------------------------------------------------


def _hooks(before: str, after: str) -> Iterator[Weakness]:
    known = Counter(code for code, _, _ in _find_tampering(before))
    for code, line, grave in _find_tampering(after):
        if known[code]:
            known[code] -= 1
        else:
            first = code.splitlines()[0]
            what = "can change how tests end" if grave else "is called on how tests end"
            yield Weakness(line, f"`{first[:80]}` {what}", grave)


def _inits(before: str, after: str) -> Iterator[Weakness]:
    """`func init()` of a test file that changes what is declared elsewhere."""
    for match in _INIT.finditer(after):
        for line in match["body"].splitlines():
            changed = _CHANGED.match(line)
            if changed is None or line.strip() in before:
                continue
            if not re.search(
                rf"(?m)\b(?:var|const)\s+{changed['name']}\b|^\t{changed['name']}\s", after
            ):
                number = after[: match.start("body")].count("\n") + 1
                yield Weakness(
                    number, f"`{line.strip()}` changes the product before tests run", grave=True
                )


def _find_tampering(source: str) -> list[tuple[str, int, bool]]:
    """Hooks of pytest and exits: their code, line, and whether they touch what counts."""
    tree = python_tree(source)
    if tree is None:
        return []
    found = [(ast.unparse(node), node.lineno, True) for node in _replaced_products(tree)]
    calls = (name_of(node) for node in ast.walk(tree) if isinstance(node, ast.Call))
    forks = any(name.endswith(("fork", "forkpty")) for name in calls)  # then a child may end so
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _HOOKS.search(node.name):
            code = ast.unparse(ast.Module(node.body, []))
            named = f"def {node.name}(...)\n{code}"
            found.append((named, node.lineno, bool(_TAMPERS.search(code))))
        elif isinstance(node, ast.Call) and _ends(node):
            found.append((ast.unparse(node), node.lineno, not forks))
        elif isinstance(node, ast.Call | ast.Assign) and _breaks(node):
            found.append((ast.unparse(node), node.lineno, True))
    return found


def _replaced_products(tree: ast.Module) -> Iterator[ast.stmt]:
    """Functions of an imported module that are replaced as the file is imported."""
    imported = {
        one.asname or one.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for one in node.names
        if _is_product(node, one.name)
    }
    own = {one.name for one in tree.body if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if _changes_private(node, imported):
            yield node
            continue
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                pass
            case ast.Expr(ast.Call(func=ast.Name("setattr"), args=[target, _, value])):
                pass
            case _:
                continue
        replaces = isinstance(value, ast.Lambda) or (
            isinstance(value, ast.Name | ast.Call) and name_of(value).partition(".")[0] in own
        )
        if replaces and name_of(target).partition(".")[0] in imported:
            yield node


_CHANGING = frozenset({"append", "clear", "extend", "insert", "pop", "remove", "update"})


def _changes_private(node: ast.stmt, imported: set[str]) -> bool:
    """Whether data that a module keeps to itself is set or changed from outside."""
    match node:
        case ast.Assign(targets=[ast.Subscript(value=target)]):
            pass
        case ast.Assign(targets=[ast.Attribute() as target]):
            pass
        case ast.Expr(ast.Call(func=ast.Attribute(value=target, attr=name))) if name in _CHANGING:
            pass
        case _:
            return False
    first, _, rest = name_of(target).partition(".")
    return first in imported and re.match(r"(?:\w+\.)*_[A-Za-z]\w*\Z", rest) is not None


def _is_product(node: ast.Import | ast.ImportFrom, name: str) -> bool:
    if isinstance(node, ast.ImportFrom):
        name = "" if node.level else node.module or ""
    return name.partition(".")[0] not in _NO_PRODUCTS


def _breaks(node: ast.Call | ast.Assign) -> bool:
    """Whether tests are left out or assertions made silent by a call or an assignment."""
    if isinstance(node, ast.Call):
        return _resets(node)
    return _ignores(node) or _replaces_assertion(node)


def _ends(node: ast.Call) -> bool:
    """Whether a call ends the interpreter as if all were well."""
    return name_of(node) in ("os._exit", "_exit", "sys.exit") and _is_success(node)


def _ignores(node: ast.Assign) -> bool:
    return any(name_of(target).startswith("collect_ignore") for target in node.targets)


def _replaces_assertion(node: ast.Assign) -> bool:
    """Whether an assertion of the test tool itself becomes something else."""
    return any(
        isinstance(target, ast.Attribute) and _ASSERTIONS.search(name_of(target))
        for target in node.targets
    )


def _resets(node: ast.Call) -> bool:
    """Whether something of unittest's `TestCase` itself is set, under whichever name."""
    sets = name_of(node).rpartition(".")[2] in ("setattr", "object")  # mock.patch.object, too
    return sets and bool(node.args) and name_of(node.args[0]).endswith("unittest.TestCase")


def _is_success(call: ast.Call) -> bool:
    return not call.args or (isinstance(call.args[0], ast.Constant) and not call.args[0].value)
