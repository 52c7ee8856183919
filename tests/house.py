"""Measure the source code: `make house` prints the figures with their bounds.

`tests/house_bounds.toml` holds the bounds, which may only fall: `python tests/house.py --lower`
writes every figure that has fallen. A function counts as named by a participle when the first word
of its name is one: a maintainer of another build tool writes `format_x`, not `told_x`.
"""

from __future__ import annotations

import ast
import gc
import json
import os
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = "runner"
BOUNDS = Path(__file__).with_name("house_bounds.toml")
PRIVATE_WORDS = ("said", "told", "bench", "crew", "ledger", "desk")
"""Words of a private language; each counts alone and as a part of a name."""

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
    """A module's syntax tree, read once for all questions.

    The garbage collector would look through all trees again and again: a quarter of the time.
    """
    gc.disable()
    try:
        return ast.parse(file.read_text())
    finally:
        gc.freeze()
        gc.enable()


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """All nodes of a module, walked once for all questions."""
    return tuple(ast.walk(parsed(file)))


def module_of(file: Path) -> str:
    """`runner.plan.globs`, for its file."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def functions() -> Iterator[Function]:
    """All functions and methods, those within others too."""
    for file in files():
        for node in nodes(file):
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
    for node in nodes(file):
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
        for node in nodes(file)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in _own(node)
    )


def lazy_modules(file: Path) -> set[tuple[str, str]]:
    """Modules that a file loads at their first use: the name in the file, and the full one."""
    return {
        (target.id, node.value.args[0].value)
        for node in nodes(file)
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


def repeated_classes() -> set[str]:
    """Name the public classes of which the product has more than one."""
    named = Counter(
        node.name
        for file in files()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name for name, count in named.items() if count > 1}


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
    """Count the files of which a function runs while one `command` task is built."""
    with tempfile.TemporaryDirectory() as folder:
        return len(_traced(_new_project(folder), "run", "--no-sandbox", "--trust"))


def files_of_a_change() -> int:
    """Count the files of which a function runs while `!change` is recorded for a DONE task."""
    with tempfile.TemporaryDirectory() as folder:
        place = _new_project(folder)
        _traced(place, "run", "--no-sandbox", "--trust")
        return len(_traced(place, "change", "--yes", "TASK-001", "write two lines"))


def _new_project(folder: str) -> Path:
    """Make a repository with a plan of one task below a folder that is also the HOME."""
    place = Path(folder, "shop")
    place.mkdir()
    (place / "TASK-GRAPH.md").write_text(_PLAN)
    (place / "in.txt").write_text("1\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
        subprocess.run(["git", *command], cwd=place, env=_environment(place), check=True)
    return place


def _environment(place: Path) -> dict[str, str]:
    home = str(place.parent)
    people = {
        f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache"} | people


def _traced(place: Path, *words: str) -> list[str]:
    """Run one command of the product there; the files of which a function ran."""
    report = place.parent / "seen.json"
    done = subprocess.run(
        [sys.executable, "-c", _TRACE, f"{ROOT / PACKAGE}{os.sep}", str(report), *words],
        cwd=place,
        env=_environment(place) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return list(json.loads(report.read_text()))


# --- the table --------------------------------------------------------------------------


def statements(file: Path) -> int:
    """Count the statements of a module's syntax tree."""
    return sum(isinstance(node, ast.stmt) for node in nodes(file))


def count_word(word: str) -> int:
    """Count a word in all source files, alone and as a part of a snake or camel case name."""
    title = word.title()
    pattern = re.compile(rf"(?<![A-Za-z]){word}(?![a-z])|{title}(?![a-z])")
    return sum(len(pattern.findall(file.read_text())) for file in files())


def room_of(file: Path) -> str:
    """Name the room of a file: its folder below the package (`extensions/team`), or `.`."""
    parts = file.relative_to(ROOT / PACKAGE).parts
    if parts[0] == "extensions" and len(parts) > 2:
        return f"extensions/{parts[1]}"
    return parts[0] if len(parts) > 1 else "."


def other_lines() -> int:
    """Count the lines of text files below the package that are not Python."""
    return sum(
        len(file.read_bytes().splitlines())
        for file in (ROOT / PACKAGE).rglob("*")
        if file.is_file() and file.suffix not in {".py", ".pyc", ".woff2", ".png"}
    )


def figures() -> dict[str, dict[str, int]]:
    """Measure everything that has a bound: the whole, each room, each private word."""
    lines: Counter[str] = Counter()
    syntax: Counter[str] = Counter()
    for file in files():
        lines[room_of(file)] += len(file.read_text().splitlines())
        syntax[room_of(file)] += statements(file)
    return {
        "whole": {
            "lines": lines.total(),
            "statements": syntax.total(),
            "files": len(files()),
            "other_lines": other_lines(),
            "longest_file": max(len(file.read_text().splitlines()) for file in files()),
            "files_of_one_task": files_of_one_task(),
            "files_of_a_change": files_of_a_change(),
            "one_importer": len(imported_once()),
            "imports_in_functions": imports_in_functions(),
            "circles": len(circles()),
            "repeated_classes": len(repeated_classes()),
        },
        "lines": dict(sorted(lines.items())),
        "statements": dict(sorted(syntax.items())),
        "words": {word: count_word(word) for word in PRIVATE_WORDS},
    }


def read_bounds() -> dict[str, dict[str, int]]:
    """Read the bounds that the figures must keep."""
    return tomllib.loads(BOUNDS.read_text())


def broken_bounds(found: dict[str, dict[str, int]], bounds: dict[str, dict[str, int]]) -> list[str]:
    """Name every figure above its bound, and every figure that has no bound."""
    return [
        f"{table}.{name} is {value}, its bound is {bounds.get(table, {}).get(name)}"
        for table, values in found.items()
        for name, value in values.items()
        if value > bounds.get(table, {}).get(name, -1)
    ]


def lower_bounds(found: dict[str, dict[str, int]]) -> None:
    """Write each figure that has fallen as its new bound; a room that is gone loses its row."""
    bounds = read_bounds()
    for table, values in bounds.items():
        bounds[table] = {
            name: min(bound, found[table][name])
            for name, bound in values.items()
            if name in found[table]
        }
    text = "# Upper bounds of the figures that `make house` prints. They may only fall.\n"
    for table, values in bounds.items():
        rows = "\n".join(f'"{name}" = {bound}' for name, bound in values.items())
        text += f"\n[{table}]\n{rows}\n"
    BOUNDS.write_text(text)


def style_figures() -> dict[str, str]:
    """Measure what has no bound of its own, for reading."""
    all_functions = list(functions())
    lengths = sorted(one.lines for one in all_functions)
    participles = sum(is_participle(one.name) for one in all_functions)
    total = sum(len(file.read_text().splitlines()) for file in files())
    return {
        "lines of code": f"{sum(map(code_lines, files())):,}",
        "functions named by a participle": f"{participles / len(all_functions):.1%}",
        "own-line comments": f"{own_line_comments() / total:.1%}",
        "file names that repeat": f"{len(repeated_stems())}",
        "function length: median": f"{lengths[len(lengths) // 2]}",
        "function length: 90 %": f"{lengths[len(lengths) * 9 // 10]}",
    }


def main(words: list[str]) -> int:
    """Print all figures with their bounds; with `--lower`, write the bounds that have fallen."""
    found = figures()
    if "--lower" in words:
        lower_bounds(found)
    bounds = read_bounds()
    for table, values in found.items():
        print(f"\n{table:34}{'now':>12}{'bound':>12}")
        for name, value in values.items():
            print(f"{name:34}{value:>12,}{bounds.get(table, {}).get(name, 0):>12,}")
    print()
    for name, text in style_figures().items():
        print(f"{name:34}{text:>12}")
    for ring in circles():
        print(f"\ncircle: {', '.join(one.removeprefix(f'{PACKAGE}.') for one in ring)}")
    broken = broken_bounds(found, bounds)
    for line in broken:
        print(f"above its bound: {line}")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
