"""The same layered graph in every tool's own language.

Task `i` needs two tasks of the layer before, 50 a layer. The peers' tasks `touch` an empty file,
which is how they know that a task is done; ours runs `true` as a test contract of a task without
output files.
"""

from __future__ import annotations

import json
import shlex
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WIDTH = 50


def needs(number: int) -> tuple[int, ...]:
    """The two tasks of the layer before that a task (from 1) waits for."""
    if number <= WIDTH:
        return ()
    layer = (number - 1) // WIDTH
    place = (number - 1) % WIDTH
    first = (layer - 1) * WIDTH + 1
    return (first + place, first + (place + 1) % WIDTH)


def name(number: int) -> str:
    return f"t{number:06d}"


def plan(
    tasks: int,
    status: str = "PENDING",
    *,
    apart: bool = False,
    command: str = "true",
    wide: bool = False,
) -> str:
    """A TASK-GRAPH.md of checks that run `command`.

    `apart` gives each a command of its own, so that each runs; `wide` lets none wait for another.
    """
    sections = (
        _section(one, status, f"{command} {one}" if apart else command, () if wide else needs(one))
        for one in range(1, tasks + 1)
    )
    return "\n".join(("# Benchmark\n", *sections))


def _section(number: int, status: str, command: str, needed: tuple[int, ...]) -> str:
    wanted = ", ".join(f"TASK-{one:06d}" for one in needed) or "none"
    return (
        f"## TASK-{number:06d}: Check {number}\n\n"
        f"- Status: {status}\n"
        f"- Depends on: {wanted}\n"
        f"- Test contracts:\n  - TC-{number:06d} (unit): `{command}`\n"
    )


def _makefile(tasks: int, touch: tuple[str, ...]) -> Iterator[str]:
    outs = " ".join(f"out/{name(one)}" for one in range(1, tasks + 1))
    yield f"all: {outs}\n"
    for one in range(1, tasks + 1):
        wanted = " ".join(f"out/{name(each)}" for each in needs(one))
        yield f"out/{name(one)}: {wanted}\n\t@{shlex.join(touch)} $@\n"


def _ninja(tasks: int, touch: tuple[str, ...]) -> Iterator[str]:
    yield f"rule touch\n  command = {shlex.join(touch)} $out\n"
    for one in range(1, tasks + 1):
        wanted = " ".join(f"out/{name(each)}" for each in needs(one))
        yield f"build out/{name(one)}: touch {wanted}\n"


def _doit(tasks: int, touch: tuple[str, ...]) -> Iterator[str]:
    yield "from pathlib import Path\n"
    yield "GRAPH = {\n"
    for one in range(1, tasks + 1):
        yield f"    '{name(one)}': {[f'out/{name(each)}' for each in needs(one)]},\n"
    yield (
        "}\n\n\ndef task_t():\n    for name, wanted in GRAPH.items():\n"
        "        out = 'out/' + name\n"
        f"        yield {{'name': name, 'actions': [[*{touch}, out]], 'file_dep': wanted,\n"
        "               'targets': [out], 'uptodate': [True]}\n"
    )


def _taskfile(tasks: int, touch: tuple[str, ...]) -> Iterator[str]:
    yield "version: '3'\nrun: once\nsilent: true\ntasks:\n  all:\n    deps:\n"
    for one in range(1, tasks + 1):
        yield f"      - {name(one)}\n"
    for one in range(1, tasks + 1):
        command = shlex.join((*touch, f"out/{name(one)}"))
        yield f"  {name(one)}:\n    cmds: [{json.dumps(command)}]\n"
        yield f"    generates: ['out/{name(one)}']\n"
        if needs(one):
            yield f"    deps: {[name(each) for each in needs(one)]}\n"
            yield f"    sources: {[f'out/{name(each)}' for each in needs(one)]}\n"
        else:
            yield "    sources: ['Taskfile.yml']\n"


def _snakefile(tasks: int, touch: tuple[str, ...]) -> Iterator[str]:
    outs = [f"out/{name(one)}" for one in range(1, tasks + 1)]
    yield f"rule all:\n    input: {outs}\n"
    for one in range(1, tasks + 1):
        wanted = [f"out/{name(each)}" for each in needs(one)]
        given = f"    input: {wanted}\n" if wanted else ""
        yield f"rule {name(one)}:\n{given}    output: 'out/{name(one)}'\n"
        yield f"    shell: {shlex.join(touch) + ' {output}'!r}\n"


FILES: dict[str, tuple[str, Callable[[int, tuple[str, ...]], Iterator[str]]]] = {
    "make": ("Makefile", _makefile),
    "ninja": ("build.ninja", _ninja),
    "doit": ("dodo.py", _doit),
    "go-task": ("Taskfile.yml", _taskfile),
    "snakemake": ("Snakefile", _snakefile),
}


def write(tool: str, folder: Path, tasks: int, touch: tuple[str, ...] = ("touch",)) -> None:
    """A new folder with the graph for one peer, nothing done yet; `touch` with a path makes it."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    file, lines = FILES[tool]
    (folder / file).write_text("".join(lines(tasks, touch)))
