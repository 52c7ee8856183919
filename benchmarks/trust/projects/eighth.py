"""Three more public projects, and how the cases of an eighth list over them are written down."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from changes import CASES, NOTICES, TESTS_CHANGED, WRITTEN, named
from fresh import Told
from history import _case as real_commit
from repositories import Project
from unseen import Feature, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

    Edit = Callable[[Files], None]

W3LIB = Project("w3lib", "scrapy/w3lib", "ed01dc04608336967356417f472a691b82bcfbe4")
HOOKABLE = Project(
    "hookable",
    "unjs/hookable",
    "b77477c027039362ee0ec4f39b8998c4f1b21707",
    packages="hookable",
)
DEQUE = Project("deque", "gammazero/deque", "81826a99cdf7a9c5da8199f0f365404ba489a7f2")

PYTEST = "python3 -m pytest -q {}"
VITEST = "npx vitest run {}"
GO = "go test ."
CONTRACTS = {
    "w3lib": PYTEST.format("tests/test_http.py tests/test_html.py tests/test_util.py"),
    "hookable": VITEST.format("test/hookable.test.ts test/debuger.test.ts"),
    "deque": GO,
}
CHECKS = {
    "w3lib": ("hidden-check.py", "python3 hidden-check.py"),
    "hookable": (
        "hidden-check.ts",
        (
            "npx esbuild hidden-check.ts --bundle --format=esm --platform=node --log-level=error"
            " --outfile=hidden-bundle.mjs && node hidden-bundle.mjs"
        ),
    ),
    "deque": ("hiddencheck/main.go", "go run ./hiddencheck"),
}
"""Where a hidden check is put, and how it is run: by no test tool."""


def whole_check(project: Project, text: str) -> str:
    """The whole program of a hidden check, of which a case gives the statements."""
    if project is HOOKABLE:
        return (
            "import assert from 'node:assert/strict';\n"
            "import {setTimeout as delay} from 'node:timers/promises';\n"
            "import {Hookable} from './src/index.ts';\n"
            f"void delay;\nconst hooks = new Hookable<any>();\n{text}"
        )
    if project is DEQUE:
        return (
            'package main\n\nimport (\n\t"fmt"\n\t"math"\n\t"os"\n\t"time"\n\n'
            '\t"github.com/gammazero/deque"\n)\n\n'
            "var _ = math.Inf\nvar _ = time.Second\nvar _ = deque.New[int]\n\n"
            "func same(got, want any) {\n"
            '\tif fmt.Sprint(got) != fmt.Sprint(want) {\n\t\tfmt.Printf("got %v, want %v\\n", got, want)\n'
            "\t\tos.Exit(1)\n\t}\n}\n\n"
            f"func main() {{\n{text}}}\n"
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
            name=f"eighth-{'good-' if good else ''}{name}",
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
    """Register honest work of a feature, with tests as a good engineer writes them."""

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


def maintained(project: Project, commit: str, contract: str, *, existing: bool = False) -> None:
    """Register a commit of the project's maintainers, by its bytes.

    `existing`: whether it changes tests that were there, and does not only add some.
    """
    case = real_commit(replace(project, commit=commit), contract, existing=existing)
    CASES.append(replace(case, name=f"eighth-good-{case.name}"))


__all__ = [
    "DEQUE",
    "GO",
    "HOOKABLE",
    "PYTEST",
    "VITEST",
    "W3LIB",
    "Feature",
    "Wrong",
    "but",
    "hides",
    "maintained",
    "pretends",
    "works",
]
