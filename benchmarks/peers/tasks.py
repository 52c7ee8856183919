"""Graphs of trivial tasks: built cold, run again when all is DONE, looked at."""

from __future__ import annotations

import shutil
import statistics
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import graphs
from clock import Case, show, side_by_side

if TYPE_CHECKING:
    from pathlib import Path

    from place import Place

RUN = {
    "make": ("make", "-s", "-j2", "all"),
    "ninja": ("ninja", "--quiet", "-j2"),
    "doit": ("doit", "-v", "0", "-n", "2"),
    "go-task": ("task", "-s", "-C", "2", "all"),
    "snakemake": ("snakemake", "-q", "-c", "2"),
}
STATUS = {
    "make": ("make", "-q", "all"),
    "ninja": ("ninja", "-n"),
    "doit": ("doit", "list", "--all", "--status"),
    "go-task": ("task", "--list-all", "--json"),
    "snakemake": ("snakemake", "-n", "-q"),
}
LIST = {
    "ninja": ("ninja", "-t", "targets", "all"),
    "doit": ("doit", "list", "--all"),
    "go-task": ("task", "--list-all"),
    "snakemake": ("snakemake", "--list-rules"),
}
PROGRAM = {"go-task": "task"}
OURS = "ours, no sandbox"
APART = "ours, no sandbox, a command of its own each"
ENCLOSED = "ours, bubblewrap"
LARGE = 10_000
HOPELESS = 15.0


@dataclass(frozen=True, slots=True)
class Graph:
    """One size of graph, in a folder for each tool."""

    place: Place
    tasks: int
    tools: tuple[str, ...]
    bound: float

    def folder(self, tool: str) -> Path:
        return self.place.root / f"graph-{self.tasks}" / tool

    def write_ours(
        self, status: str = "PENDING", tool: str = "ours", *, apart: bool = False
    ) -> Path:
        """A new repository with the plan as its one commit."""
        folder = self.folder(tool)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "TASK-GRAPH.md").write_text(graphs.plan(self.tasks, status, apart=apart))
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "plan")):
            self.place.call(("git", *words), folder)
        self.place.forget()
        return folder

    def runner(self, *words: str, tool: str = "ours") -> bytes:
        return self.place.call((self.place.runner, *words), self.folder(tool), self.bound)

    def peer(self, tool: str, words: dict[str, tuple[str, ...]]) -> bytes:
        return self.place.call(words[tool], self.folder(tool), self.bound)

    def peers(self, title: str, words: dict[str, tuple[str, ...]]) -> list[Case]:
        return [
            Case(f"{tool}: `{title or ' '.join(words[tool])}`", lambda t=tool: self.peer(t, words))
            for tool in self.tools
            if tool in words
        ]


def tools_of(place: Place) -> tuple[str, ...]:
    return tuple(tool for tool in RUN if place.has(PROGRAM.get(tool, tool)))


# --- cold -----------------------------------------------------------------------------


def cold(graph: Graph, repeats: int, *, ours: bool = True, enclosed: bool = True) -> float:
    """Everything from nothing; the seconds of ours without a sandbox, 0 where it did not run."""
    cases = []
    if ours:
        cases.append(_cold_ours(graph, OURS, "ours", "--no-sandbox"))
        cases.append(_cold_ours(graph, APART, "apart", "--no-sandbox", apart=True))
    if enclosed:
        cases.append(_cold_ours(graph, ENCLOSED, "enclosed"))
    cases += [
        Case(
            tool,
            lambda t=tool: graph.peer(t, RUN),
            lambda t=tool: graphs.write(t, graph.folder(t), graph.tasks),
        )
        for tool in graph.tools
    ]
    found = side_by_side(cases, repeats)
    show(f"{graph.tasks:,} trivial tasks, cold, two at a time", found, OURS)
    return statistics.median(one.wall for one in found[OURS]) if OURS in found else 0.0


def _cold_ours(graph: Graph, title: str, tool: str, *words: str, apart: bool = False) -> Case:
    return Case(
        title,
        lambda: graph.runner("run", "--trust", "-q", "-j2", *words, tool=tool),
        lambda: graph.write_ours(tool=tool, apart=apart),
    )


# --- again, and looking ---------------------------------------------------------------


def adopt(graph: Graph) -> None:
    """A plan whose statuses say DONE: a person's word, taken over by the first run."""
    graph.write_ours("DONE")
    graph.runner("run", "--trust", "-q", "--no-sandbox")


def again(graph: Graph, repeats: int) -> None:
    """A run when all is DONE, and `status` and `list` of it, first and second call."""
    graph.runner("status")
    run = ("run", "--trust", "-q", "--no-sandbox")
    cases = [Case("ours: `runner run`", lambda: graph.runner(*run)), *graph.peers("", RUN)]
    show(f"A no-op run, {graph.tasks:,} DONE tasks", side_by_side(cases, repeats))
    for command, theirs in (("status", STATUS), ("list", LIST)):
        look = lambda word=command: graph.runner(word)  # noqa: E731 - two cases, one act
        cases = [
            Case(f"ours: `runner {command}`, second call", look),
            *graph.peers("", theirs),
        ]
        found = side_by_side(cases, repeats)
        first = [Case(f"ours: `runner {command}`, first call", look, graph.place.forget)]
        found |= side_by_side(first, min(repeats, 3))
        show(f"`{command}`, {graph.tasks:,} DONE tasks", found)


def version(place: Place, tools: tuple[str, ...], repeats: int) -> None:
    """How long it takes to say one line."""
    bare = (str(place.python), "-c", "pass")
    words = {tool: (PROGRAM.get(tool, tool), "--version") for tool in tools}
    home = place.root / "home"
    cases = [
        Case("ours: `runner version`", lambda: place.call((place.runner, "version"), home)),
        Case("`python -c pass`", lambda: place.call(bare, home)),
        *(
            Case(f"{tool}: `--version`", lambda w=words[tool]: place.call(w, home))
            for tool in tools
        ),
    ]
    show("`version`", side_by_side(cases, repeats))


def main(place: Place, *, quick: bool) -> None:
    """All sizes, in the order in which they are cheapest."""
    tools = tools_of(place)
    version(place, tools, 5 if quick else 9)
    small = Graph(place, 1_000, tools, 120)
    took = cold(small, 1 if quick else 3)
    again(small, 3 if quick else 7)
    large = Graph(place, LARGE, ("make", "ninja"), 300)
    hopeless = took > HOPELESS
    if quick or hopeless:
        why = f"1,000 took {took:.0f} s" if hopeless else "--quick"
        print(f"\n(10,000 tasks cold, ours and doit: left out, {why})")
        cold(large, 1, ours=False, enclosed=False)
        adopt(large)
    else:
        large = replace(large, tools=tuple(tool for tool in tools if tool != "snakemake"))
        cold(large, 1, enclosed=False)
    again(large, 3 if quick else 5)
