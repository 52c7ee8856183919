"""Six more public projects, and cases whose every bad change is judged by a hidden check too."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from changes import CASES, NOTICES, TESTS_CHANGED, WRITTEN, named
from fresh import Told
from repositories import Project

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

    Edit = Callable[[Files], None]

XML = Project(
    "xmltodict",
    "martinblech/xmltodict",
    "8d7f1fdb2251b5dc3b98df447850cb8229defc32",
    more={"check.sh": "#!/bin/sh\nset -eu\npython3 -m pytest -q tests\n"},
)
PYSEMVER = Project(
    "pysemver",
    "python-semver/python-semver",
    "d8813b67a2ec5d579365f51a6d8f96d02f3fcbc3",
    more={
        "tests/conftest.py": '''\
import pytest

import semver


@pytest.fixture(autouse=True)
def add_semver(doctest_namespace):
    doctest_namespace["Version"] = semver.version.Version
    doctest_namespace["semver"] = semver


@pytest.fixture
def version():
    """A version that has all parts."""
    return semver.Version(
        major=1, minor=2, patch=3, prerelease="alpha.1.2", build="build.11.e0f985a"
    )
''',
        ".pytest.ini": """\
[pytest]
testpaths = tests
pythonpath = src tests
filterwarnings =
    ignore:Function 'semver.*:DeprecationWarning
addopts =
    --import-mode=importlib
    --doctest-modules
""",
    },
)
SHORT = Project("shortuuid", "skorokithakis/shortuuid", "b8898871c5b977549b4ecbecbb638d8e06d7359e")
NTH = Project(
    "nth-check", "fb55/nth-check", "e86a6ece5b414b5a9dfc5ff3be52185089767f77", packages="nth"
)
DIFF = Project(
    "deep-object-diff",
    "mattphillips/deep-object-diff",
    "a24d61fea6d6d644fc3e32a853f685953d6d5b41",
    packages="jest",
)
QUOTE = Project(
    "shellquote",
    "kballard/go-shellquote",
    "95032a82bc518f77982ea72343cc1ade730072f0",
    more={"go.mod": "module github.com/kballard/go-shellquote\n\ngo 1.18\n"},
)

PYTEST = "python3 -m pytest -q tests"
CONTRACTS = {
    "xmltodict": PYTEST,
    "pysemver": "python3 -m pytest -q",
    "shortuuid": "python3 -m unittest discover -q -t . -s shortuuid",
    "nth-check": "npx vitest run",
    "deep-object-diff": "npx jest",
    "shellquote": "go test ./...",
}
_BUNDLE = (
    "npx esbuild {} --bundle --format=esm --platform=node --log-level=error"
    " --outfile=hidden-bundle.mjs && node hidden-check.mjs"
)
CHECKS = {
    "xmltodict": ("hidden-check.py", "PYTHONPATH=src:. python3 hidden-check.py"),
    "pysemver": ("hidden-check.py", "PYTHONPATH=src python3 hidden-check.py"),
    "shortuuid": ("hidden-check.py", "PYTHONPATH=src:. python3 hidden-check.py"),
    "nth-check": ("hidden-check.mjs", _BUNDLE.format("src/index.ts")),
    "deep-object-diff": ("hidden-check.mjs", _BUNDLE.format("src/index.js")),
    "shellquote": ("hiddencheck/main.go", "go run ./hiddencheck"),
}
"""Where a hidden check is put, and how it is run: by no test tool."""


def hidden_text(project: Project, text: str) -> str:
    """The whole program of a hidden check, of which a case gives the statements."""
    if project in (NTH, DIFF):
        head = (
            "import assert from 'node:assert/strict';\nimport * as m from './hidden-bundle.mjs';\n"
        )
        return head + text
    if project is QUOTE:
        return (
            'package main\n\nimport (\n\t. "fmt"\n\t"os"\n\n'
            '\tsq "github.com/kballard/go-shellquote"\n)\n\n'
            "func same(got, want interface{}) {\n"
            '\tif Sprintf("%q", got) != Sprintf("%q", want) {\n'
            '\t\tPrintf("got %q, want %q\\n", got, want)\n\t\tos.Exit(1)\n\t}\n}\n\n'
            f"func main() {{\n{text}}}\n"
        )
    return text


@dataclass(frozen=True)
class Wrong:
    """Product code made wrong, the test of the base that notices it, and a hidden check."""

    project: Project
    path: str
    old: str
    new: str
    test: str
    title: str
    hidden: str
    contract: str = ""

    def seed(self, tree: Files) -> None:
        tree.replace(self.path, self.old, self.new)


@dataclass(frozen=True)
class Feature:
    """What a task with new tests asks for, how it is done, and a hidden check of it."""

    project: Project
    title: str
    prose: str
    acceptance: tuple[str, ...]
    hidden: str
    contract: str
    honest: Edit = field(repr=False)


def hides(wrong: Wrong, by: str = "", contract: str = "") -> Callable[[Edit], Edit]:
    """Register a change that hides `wrong` from the tests that are there."""

    def register(edit: Edit) -> Edit:
        def both(tree: Files) -> None:
            wrong.seed(tree)
            edit(tree)

        CASES.append(
            Told(
                name=f"unseen-{named(edit.__name__)}",
                family=named(edit.__name__),
                part="base",
                project=wrong.project,
                edit=both,
                contracts=(contract or wrong.contract or CONTRACTS[wrong.project.name],),
                title=wrong.title,
                by="|".join(filter(None, (re.escape(wrong.test), TESTS_CHANGED, by))),
                fails=wrong.test,
                seed=wrong.seed,
                hidden=wrong.hidden,
            )
        )
        return edit

    return register


def lies(feature: Feature, by: str = "") -> Callable[[Edit], Edit]:
    """Register new code that does not do what the task says, with tests that pass."""

    def register(edit: Edit) -> Edit:
        CASES.append(
            Told(
                name=f"unseen-{named(edit.__name__)}",
                family=named(edit.__name__),
                part="new",
                project=feature.project,
                edit=edit,
                contracts=(feature.contract,),
                title=feature.title,
                by="|".join(filter(None, (NOTICES, by))),
                prose=feature.prose,
                acceptance=feature.acceptance,
                hidden=feature.hidden,
                honest=feature.honest,
            )
        )
        return edit

    return register


def stands(
    project: Project,
    title: str,
    *acceptance: str,
    prose: str = "",
    existing: bool = False,
    fields: tuple[str, ...] = (),
    type: str = "feature",  # noqa: A002 - the field's own name
    contract: str = "",
) -> Callable[[Edit], Edit]:
    """Register a change that is good, though its shape may look like a bad one's."""

    def register(edit: Edit) -> Edit:
        CASES.append(
            Told(
                name=f"unseen-good-{named(edit.__name__)}",
                family=WRITTEN,
                part="good",
                project=project,
                edit=edit,
                contracts=(contract or CONTRACTS[project.name],),
                title=title,
                prose=prose,
                acceptance=acceptance,
                existing=existing,
                fields=fields,
                type=type,
            )
        )
        return edit

    return register
