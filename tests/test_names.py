"""The house speaks plainly: a file is found by its name, a function says what it does."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from house import ROOT, files, is_participle, parsed

if TYPE_CHECKING:
    from pathlib import Path

PRODUCT = files()

SAME_ROLE = frozenset({"__init__", "__main__", "base", "registry", "types"})
"""Stems that mean the same wherever they stand."""
LISTS = ("languages",)
"""Folders whose folders are rows of one list: what plays one role in them has one name."""

MAY_STAND: dict[str, str] = {}
"""Public functions that are named by a participle all the same: `room/file.name`, and why."""
LARGEST_SHARE = 0.03
"""Of all functions, private ones and properties too, so many may be named by a participle."""


def short(file: Path) -> str:
    """`run/landing/lander`, for its file."""
    return file.relative_to(ROOT / "runner").with_suffix("").as_posix()


def functions(node: ast.AST, inside: str = "") -> list[tuple[str, ast.AST, bool]]:
    """All functions below a node by their names within the file; whether they are for others."""
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((f"{inside}{child.name}", child, not child.name.startswith("_")))
            # What stands within a function is nobody else's.
            found += [(name, one, False) for name, one, _ in functions(child, f"{child.name}.")]
        else:
            own = f"{inside}{child.name}." if isinstance(child, ast.ClassDef) else inside
            found += functions(child, own)
    return found


def is_data(function: ast.AST) -> bool:
    """Whether it is read like a field, and so is named as data is."""
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in function.decorator_list}
    return bool(marks & {"property", "cached_property"})


def floors() -> dict[str, int]:
    """The floor of each room, as import-linter holds them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = settings["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one["type"] == "layers")
    return {
        room.strip(): number
        for number, row in enumerate(contract["layers"])
        for room in row.replace(":", "|").split("|")
    }


def are_one_list(one: Path, other: Path) -> bool:
    """Whether both stand in sibling folders of a list of languages or the like."""
    above = one.parent.parent
    return above == other.parent.parent and above.name in LISTS


def test_a_file_s_name_is_met_once_on_its_floor_and_the_next_ones() -> None:
    floor = floors()
    by_stem: dict[str, list[Path]] = defaultdict(list)
    for file in PRODUCT:
        if file.stem not in SAME_ROLE and short(file).partition("/")[0] in floor:
            by_stem[file.stem].append(file)
    twice = [
        f"{short(one)} and {short(other)}"
        for files in by_stem.values()
        for place, one in enumerate(files)
        for other in files[place + 1 :]
        if abs(floor[short(one).partition("/")[0]] - floor[short(other).partition("/")[0]]) <= 1
        and not are_one_list(one, other)
    ]
    assert twice == []


@pytest.mark.parametrize("room", sorted(floors()))
def test_no_public_function_begins_with_a_participle(room: str) -> None:
    named = {
        f"{short(file)}.{name}"
        for file in PRODUCT
        if short(file).partition("/")[0] == room
        for name, function, is_public in functions(parsed(file))
        if is_public and is_participle(name.rpartition(".")[2]) and not is_data(function)
    }
    assert sorted(named - MAY_STAND.keys()) == []


def test_functions_are_named_by_what_they_do() -> None:
    names = [name.rpartition(".")[2] for file in PRODUCT for name, _, _ in functions(parsed(file))]
    share = sum(map(is_participle, names)) / len(names)
    assert share <= LARGEST_SHARE


def test_what_may_stand_stands() -> None:
    known = {f"{short(file)}.{name}" for file in PRODUCT for name, _, _ in functions(parsed(file))}
    assert sorted(MAY_STAND.keys() - known) == []


def test_two_files_of_tests_never_share_a_name() -> None:
    """Pytest imports them by name alone: with kept bytecode the second one is refused."""
    names = [file.name for file in (ROOT / "tests").rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
