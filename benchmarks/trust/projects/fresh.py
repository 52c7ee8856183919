"""Five more public projects, and how the cases over them are written down."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from changes import CASES, NOTICES, TESTS_CHANGED, WRITTEN, Change, named
from repositories import Project

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

_ADDOPTS = (
    "addopts = --cov=parse --cov-report=term-missing --cov-append --cov-branch"
    " --doctest-modules --doctest-glob=README.rst"
)
PARSE = Project(
    "parse",
    "r1chardj0n3s/parse",
    "738447715c76f8ebc460b33320307faccafbc599",
    edits=((".pytest.ini", _ADDOPTS, "addopts = --doctest-modules"),),
)
SCHEDULE = Project(
    "schedule",
    "dbader/schedule",
    "82a43db1b938d8fdf60103bd41f329e06c8d3651",
    more={
        "check.sh": "#!/bin/sh\nset -eu\npython3 -m compileall -q schedule\n"
        "python3 -m unittest -q test_schedule\n",
    },
)
BYTES = Project(
    "bytes", "visionmedia/bytes.js", "9ddc13b6c66e0cb293616fba246e05db4b6cef4d", packages="mocha"
)
DESTR = Project(
    "destr", "unjs/destr", "541b6f9aeada9fc30de9c5a7e086dbfc1c6fcdc7", packages="vitest3"
)
VERSION = Project("version", "hashicorp/go-version", "8f84cf4e0c536ec09e197abb7dd32bebb3ee2390")

PYTEST = "python3 -m pytest -q tests"
UNITTEST = "python3 -m unittest -q test_schedule"
MOCHA = "npx mocha --check-leaks"
VITEST = "npx vitest run"
GO = "go test ./..."
CONTRACTS = {"parse": PYTEST, "schedule": UNITTEST, "bytes": MOCHA, "destr": VITEST, "version": GO}


@dataclass(frozen=True)
class Told(Change):
    """A case whose task also says what must be true in the end."""

    acceptance: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def section(self, command: str, outputs: list[str]) -> str:
        more = list(self.fields)
        if self.acceptance:
            more += ["- Acceptance:", *(f"  - {one}" for one in self.acceptance)]
        line = "- Test contracts:\n"
        text = super().section(command, outputs)
        return text.replace(line, "".join(f"{one}\n" for one in more) + line, 1)


@dataclass(frozen=True)
class Wrong:
    """Product code made wrong, and the test of the base that notices it."""

    project: Project
    path: str
    old: str
    new: str
    test: str
    title: str

    def seed(self, tree: Files) -> None:
        tree.replace(self.path, self.old, self.new)


def bends(
    wrong: Wrong, by: str, contract: str = ""
) -> Callable[[Callable[[Files], None]], Callable[[Files], None]]:
    """Register a change that hides `wrong` from the tests that are there."""

    def register(edit: Callable[[Files], None]) -> Callable[[Files], None]:
        def both(tree: Files) -> None:
            wrong.seed(tree)
            edit(tree)

        said = "|".join(filter(None, (re.escape(wrong.test), TESTS_CHANGED, by)))
        CASES.append(
            Told(
                name=f"fresh-{named(edit.__name__)}",
                family=named(edit.__name__),
                part="base",
                project=wrong.project,
                edit=both,
                contracts=(contract or CONTRACTS[wrong.project.name],),
                title=wrong.title,
                by=said,
                fails=wrong.test,
                seed=wrong.seed,
            )
        )
        return edit

    return register


def pretends(
    project: Project,
    title: str,
    by: str,
    *acceptance: str,
    prose: str = "",
    contract: str = "",
) -> Callable[[Callable[[Files], None]], Callable[[Files], None]]:
    """Register new code that does not do what the task says, or that nothing proves."""

    def register(edit: Callable[[Files], None]) -> Callable[[Files], None]:
        CASES.append(
            Told(
                name=f"fresh-{named(edit.__name__)}",
                family=named(edit.__name__),
                part="new",
                project=project,
                edit=edit,
                contracts=(contract or CONTRACTS[project.name],),
                title=title,
                by="|".join(filter(None, (NOTICES, by))),
                prose=prose,
                acceptance=acceptance,
            )
        )
        return edit

    return register


def holds(
    project: Project,
    title: str,
    *acceptance: str,
    prose: str = "",
    existing: bool = False,
    fields: tuple[str, ...] = (),
    type: str = "feature",  # noqa: A002 - the field's own name
) -> Callable[[Callable[[Files], None]], Callable[[Files], None]]:
    """Register a change that is good, though its shape may look like a bad one's."""

    def register(edit: Callable[[Files], None]) -> Callable[[Files], None]:
        CASES.append(
            Told(
                name=f"fresh-good-{named(edit.__name__)}",
                family=WRITTEN,
                part="good",
                project=project,
                edit=edit,
                contracts=(CONTRACTS[project.name],),
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
