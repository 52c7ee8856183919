"""What the house is made of, in figures: `make house` prints them.

A function counts as named by a participle when the first word of its name is one: a maintainer of
another build tool writes `format_x`, not `told_x`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = "runner"

WORDS = """
begun bent bought bound bred broken brought built burnt caught chosen dealt done drawn driven
eaten fallen fed felt forbidden forgotten fought found frozen given gone grown held hidden hung
kept known laid learnt led left lent lost made meant met paid proven risen said seen sent shown
sold spent stood sunk sworn taken taught thought thrown told torn understood undone withheld
woken won worn wound written
"""
"""Participles that do not end in -ed, but those that are the plain verb too (`run`, `set`)."""
PARTICIPLES = frozenset(WORDS.split())
OTHER_WORDS = {
    "bed",
    "embed",
    "exceed",
    "feed",
    "need",
    "proceed",
    "red",
    "seed",
    "speed",
    "succeed",
}
"""Words in -ed that are none."""


class Function(NamedTuple):
    """A function or method, as its file has it."""

    file: Path
    line: int
    name: str
    lines: int


@cache
def files() -> tuple[Path, ...]:
    """All Python files of the product."""
    return tuple(sorted((ROOT / PACKAGE).rglob("*.py")))


@cache
def parsed(file: Path) -> ast.Module:
    """A module's syntax tree, read once for all questions."""
    return ast.parse(file.read_text())


def module_of(file: Path) -> str:
    """`runner.plan.globs`, for its file."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions() -> Iterator[Function]:
    """All functions and methods, those within others too."""
    for file in files():
        for node in ast.walk(parsed(file)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield Function(file, node.lineno, node.name, lines)


def is_participle(name: str) -> bool:
    """Whether a function's name begins with a participle: `told_lines`, `_judged`."""
    first = name.strip("_").partition("_")[0]
    return first in PARTICIPLES or (first.endswith("ed") and first not in OTHER_WORDS)


# --- imports --------------------------------------------------------------------------


@cache
def imports() -> dict[str, frozenset[str]]:
    """What each module imports of the product's own, type imports and those in functions too.

    A module brings the files of its packages along, but for those that it stands in itself.
    """
    known = {module_of(file) for file in files()}
    return {
        (one := module_of(file)): frozenset(_with_packages(_imported(file, known), one) - {one})
        for file in files()
    }


def _with_packages(brought: Iterable[str], one: str) -> set[str]:
    """Modules that one imports, with the packages that they bring along."""
    named = set(brought)
    return named | {up for other in named for up in _packages(other)} - set(_packages(one))


def _imported(file: Path, known: set[str]) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        yield from _named(node, known)


def _named(node: ast.AST, known: set[str]) -> Iterator[str]:
    """The product's modules that an import names."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in known)
    elif isinstance(node, ast.ImportFrom) and node.module in known:
        inner = {f"{node.module}.{alias.name}" for alias in node.names}
        yield from inner & known
        if inner - known:
            yield node.module


def circles() -> list[list[str]]:
    """Modules that import each other, over however many others."""
    graph = nx.DiGraph((one, other) for one, all_ in imports().items() for other in all_)
    return sorted(sorted(ring) for ring in nx.strongly_connected_components(graph) if len(ring) > 1)


def circles_at_start() -> list[list[str]]:
    """Modules of which whoever is imported first finds another half made.

    A module brings its package's own file along, so a circle may run through that, unseen in what
    the two import by name.
    """
    known = {module_of(file) for file in files()}
    graph = nx.DiGraph()
    for file in files():
        one = module_of(file)
        named = {other for node in _at_top(parsed(file)) for other in _named(node, known)}
        brought = _with_packages(named, one)
        graph.add_edges_from((one, other) for other in brought - {one})
    return sorted(sorted(ring) for ring in nx.strongly_connected_components(graph) if len(ring) > 1)


def _packages(module: str) -> Iterator[str]:
    while module := module.rpartition(".")[0]:
        yield module


def _at_top(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from node.body
        yield node


def imports_in_functions(but: tuple[str, ...] = ()) -> int:
    """Import statements that stand in a function; `but` are files or folders that do not count."""
    return sum(
        isinstance(inner, (ast.Import, ast.ImportFrom))
        for file in files()
        if not file.relative_to(ROOT / PACKAGE).as_posix().startswith(but)
        for node in ast.walk(parsed(file))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in _own(node)
    )


def lazy_modules(file: Path) -> set[tuple[str, str]]:
    """Modules that a file loads at their first use: the name in the file, and the full one."""
    return {
        (target.id, node.value.args[0].value)
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "lazy_module"
        and isinstance(node.value.args[0], ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a function and in no function within it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _own(child)


def imported_once() -> list[str]:
    """Modules that exactly one other module imports."""
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for one, all_ in imports().items():
        for other in all_:
            importers[other].add(one)
    packages = {module_of(file) for file in files() if file.stem == "__init__"}
    return sorted(one for one, by in importers.items() if len(by) == 1 and one not in packages)


def repeated_stems() -> list[str]:
    """File names that stand more than once in the house."""
    stems = Counter(file.stem for file in files() if not file.stem.startswith("__"))
    return sorted(stem for stem, count in stems.items() if count > 1)


# --- lines ----------------------------------------------------------------------------


def own_line_comments() -> int:
    """Lines that hold a comment alone; rulers between parts of a file are none."""
    return sum(
        bool(re.match(r"\s*#(?!\s*-{3})(?!:)\s*\w", line))
        for file in files()
        for line in _comment_lines(file)
    )


def _comment_lines(file: Path) -> Iterator[str]:
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
                yield token.line


def code_lines(file: Path) -> int:
    """Lines that hold code: neither blank nor comment nor docstring."""
    skip = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING)
    blank = (tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    docs = _docstring_lines(parsed(file))
    held: set[int] = set()
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type not in (*skip, *blank):
                held.update(range(token.start[0], token.end[0] + 1))
    return len(held - docs)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of texts that stand alone: docstrings, also of attributes."""
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


# --- what one task passes ---------------------------------------------------------------

_TRACE = """
import json, os, sys, threading
here, seen = sys.argv.pop(1), set()
def look(frame, event, arg):
    name = frame.f_code.co_filename
    if name.startswith(here) and frame.f_code.co_flags & 1:  # CO_OPTIMIZED: no module, no class
        seen.add(name)
threading.setprofile(look)
sys.setprofile(look)
from runner.__main__ import main
report = sys.argv.pop(1)
try:
    main()
finally:
    sys.setprofile(None)
    open(report, "w").write(json.dumps(sorted(seen)))
"""

_PLAN = """# House

## TASK-001: A file

- Output files: `out.txt`
- Command: `cp in.txt out.txt`
- Test contracts:
  - TC-001 (unit): `grep -q 1 out.txt`
"""


def files_of_one_task() -> int:
    """Files of which a function runs while one `command` task is built, from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "shop")
        place.mkdir()
        environ = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache"}
        environ |= {
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        (place / "TASK-GRAPH.md").write_text(_PLAN)
        (place / "in.txt").write_text("1\n")
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
            subprocess.run(["git", *command], cwd=place, env=environ, check=True)
        report = Path(folder, "seen.json")
        traced = [sys.executable, "-c", _TRACE, f"{ROOT / PACKAGE}{os.sep}", str(report)]
        done = subprocess.run(
            [*traced, "run", "--no-sandbox", "--trust"],
            cwd=place,
            env=environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr)
        return len(json.loads(report.read_text()))


# --- the table --------------------------------------------------------------------------


def table() -> Iterator[tuple[str, str, str]]:
    """Each figure with its name, what it is, and what it should be."""
    lines = {file: len(file.read_text().splitlines()) for file in files()}
    total = sum(lines.values())
    all_functions = list(functions())
    lengths = sorted(one.lines for one in all_functions)
    participles = sum(is_participle(one.name) for one in all_functions)
    comments = own_line_comments()
    yield "lines", f"{total:,}", "≤ 70,000"
    yield "lines of code", f"{sum(map(code_lines, files())):,}", ""
    yield "files", f"{len(files())}", "≤ 450"
    commands = sum(count for file, count in lines.items() if "commands" in file.parts)
    yield "lines of commands/", f"{commands:,}", "≤ 6,500"
    yield "files that one task passes", f"{files_of_one_task()}", "≤ 180"
    share = participles / len(all_functions)
    yield "functions named by a participle", f"{participles} = {share:.1%}", "≤ 3 %"
    yield "imports inside functions", f"{imports_in_functions():,}", "≤ 150"
    yield "circles, type imports counted", f"{len(circles())}", "0"
    yield "own-line comments", f"{comments} = {comments / total:.1%}", "1 to 2 %"
    yield "files with one importer", f"{len(imported_once())}", "≤ 60"
    yield "file names that repeat", f"{len(repeated_stems())}", ""
    yield "function length: median", f"{lengths[len(lengths) // 2]}", "≤ 8"
    yield "function length: 90 %", f"{lengths[len(lengths) * 9 // 10]}", "≤ 22"
    yield "longest file", f"{max(lines.values())}", "≤ 400"


def rooms() -> Iterator[tuple[str, int, int]]:
    """Files and lines of each room."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for file in files():
        found[file.relative_to(ROOT / PACKAGE).parts[0]].append(len(file.read_text().splitlines()))
    folders = (one for one in found if not one.endswith(".py"))
    yield from ((room, len(found[room]), sum(found[room])) for room in sorted(folders))


def main() -> None:
    """Print the table, the rooms, and the circles."""
    for name, value, aim in table():
        print(f"{name:34}{value:>16}   {aim}")
    print()
    for room, count, lines in rooms():
        print(f"{room:34}{count:>7} files{lines:>8,} lines")
    for ring in circles():
        print(f"\ncircle: {', '.join(one.removeprefix(f'{PACKAGE}.') for one in ring)}")


if __name__ == "__main__":
    main()
