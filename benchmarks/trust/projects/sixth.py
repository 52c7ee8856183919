"""Three more public projects, and how the cases of a sixth list over them are written down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from changes import CASES, NOTICES, TESTS_CHANGED, WRITTEN, named
from fresh import Told
from repositories import Project
from unseen import Feature, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

    Edit = Callable[[Files], None]

_OPTIONS = "[tool.pytest.ini_options]\n"
BLINKER = Project(
    "blinker",
    "pallets-eco/blinker",
    "c3364059663df1ddce32799d6b1922af89a345f6",
    edits=(("pyproject.toml", _OPTIONS, f'{_OPTIONS}pythonpath = ["src"]\n'),),
)
CONTENT = Project(
    "content-type-parse",
    "fastify/fast-content-type-parse",
    "9749c78c66db7230361ff587ce8f401a079250f0",
)
LRU = Project("golang-lru", "hashicorp/golang-lru", "5dd697da12cfd1af9605fbf9968cac4104eb1788")

PYTEST = "python3 -m pytest -q {}"
NODE = "node --test {}"
GO = "go test . ./simplelru"
CONTRACTS = {
    "blinker": PYTEST.format("tests"),
    "content-type-parse": NODE.format("test"),
    "golang-lru": GO,
}
CHECKS = {
    "blinker": ("hidden-check.py", "PYTHONPATH=src python3 hidden-check.py"),
    "content-type-parse": ("hidden-check.cjs", "node hidden-check.cjs"),
    "golang-lru": ("hiddencheck/main.go", "go run ./hiddencheck"),
}
"""Where a hidden check is put, and how it is run: by no test tool."""


def whole_check(project: Project, text: str) -> str:
    """The whole program of a hidden check, of which a case gives the statements."""
    if project is CONTENT:
        return f"const assert = require('node:assert/strict')\n{text}"
    if project is LRU:
        return (
            'package main\n\nimport (\n\t"fmt"\n\t"os"\n\t"sync"\n\t"time"\n\n'
            '\tlru "github.com/hashicorp/golang-lru/v2"\n)\n\n'
            "var _ sync.Mutex\nvar pause = 50 * time.Millisecond\n\n"
            "func same(got, want any) {\n"
            '\tif fmt.Sprint(got) != fmt.Sprint(want) {\n\t\tfmt.Printf("got %v, want %v\\n", got, want)\n'
            "\t\tos.Exit(1)\n\t}\n}\n\n"
            "func filled(size int, keys ...int) *lru.Cache[int, int] {\n\tc, _ := lru.New[int, int](size)\n"
            "\tfor _, k := range keys {\n\t\tc.Add(k, k*10)\n\t}\n\treturn c\n}\n\n"
            f"func main() {{\n\t_ = filled\n{text}}}\n"
        )
    return text


def but(text: str, *pairs: tuple[str, str]) -> str:
    """The text with other words, each of which stands in it once."""
    for old, new in pairs:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times")
        text = text.replace(old, new)
    return text


def _case(edit: Edit, part: str, project: Project, does: Edit, **more: Any) -> Edit:
    name = named(edit.__name__)
    good = part == "good"
    CASES.append(
        Told(
            name=f"sixth-{'good-' if good else ''}{name}",
            family=WRITTEN if good else name,
            part=part,
            project=project,
            edit=does,
            **more,
        )
    )
    return edit


def hides(wrong: Wrong, by: str = "") -> Callable[[Edit], Edit]:
    """Register a change that hides `wrong` from the tests that are there."""

    def register(edit: Edit) -> Edit:
        def both(tree: Files) -> None:
            wrong.seed(tree)
            edit(tree)

        return _case(
            edit,
            "base",
            wrong.project,
            both,
            contracts=(wrong.contract or CONTRACTS[wrong.project.name],),
            title=wrong.title,
            by="|".join(filter(None, (re.escape(wrong.test), TESTS_CHANGED, by))),
            fails=wrong.test,
            seed=wrong.seed,
            hidden=wrong.hidden,
        )

    return register


def pretends(feature: Feature, by: str = "") -> Callable[[Edit], Edit]:
    """Register new code that does not do what the task says, with tests that pass."""

    def register(edit: Edit) -> Edit:
        return _case(
            edit,
            "new",
            feature.project,
            edit,
            contracts=(feature.contract,),
            title=feature.title,
            by="|".join(filter(None, (NOTICES, by))),
            prose=feature.prose,
            acceptance=feature.acceptance,
            hidden=feature.hidden,
            honest=feature.honest,
        )

    return register


def works(feature: Feature, name: str, path: str, tests: str) -> None:
    """Register honest work of a feature, with tests that a careful engineer wrote."""

    def edit(tree: Files) -> None:
        feature.honest(tree)
        tree.files[path] = tests

    edit.__name__ = name
    _case(
        edit,
        "good",
        feature.project,
        edit,
        contracts=(feature.contract,),
        title=feature.title,
        prose=feature.prose,
        acceptance=feature.acceptance,
    )


def changes(project: Project, title: str, prose: str, *acceptance: str) -> Callable[[Edit], Edit]:
    """Register honest work that changes tests which are there."""

    def register(edit: Edit) -> Edit:
        return _case(
            edit,
            "good",
            project,
            edit,
            contracts=(CONTRACTS[project.name],),
            title=title,
            prose=prose,
            acceptance=acceptance,
            existing=True,
        )

    return register


__all__ = [
    "BLINKER",
    "CONTENT",
    "GO",
    "LRU",
    "NODE",
    "PYTEST",
    "Feature",
    "Wrong",
    "but",
    "changes",
    "hides",
    "pretends",
    "works",
]
