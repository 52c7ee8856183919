"""Three more public projects, and how the cases of a ninth list over them are written down."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from changes import CASES, TESTS_CHANGED, WRITTEN, named
from fresh import Told
from history import _case as real_commit
from repositories import Project
from unseen import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

    Edit = Callable[[Files], None]

_SCHEDULES = """\
[
  {"name": "short of time", "waits": "constant", "with": {"interval": 4},
   "at": [0, 3, 8], "until": 10, "expected": [4, 4, 2]},
  {"name": "no end", "waits": "fibo", "with": {},
   "at": [0, 1, 2, 3], "until": null, "expected": [1, 1, 2, 3]},
  {"name": "one after the other", "waits": "constant", "with": {"interval": [1, 5]},
   "at": [0, 1], "until": 60, "expected": [1, 5]}
]
"""
_SCHEDULED = '''\
"""What is waited when, as the operators wrote it down."""

import json
from pathlib import Path

import pytest

import backoff
from backoff._common import _init_wait_gen, _next_wait

ROWS = json.loads(Path(__file__).with_name("schedules.json").read_text())


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_schedule(row):
    wait = _init_wait_gen(getattr(backoff, row["waits"]), row["with"])
    got = [_next_wait(wait, None, None, at, row["until"]) for at in row["at"]]
    assert got == row["expected"]
'''
_HEADERS = """\
[
  {
    "header": "attachment; filename=report.csv; size=20",
    "parameters": { "filename": "report.csv", "size": "20" }
  },
  {
    "header": "attachment; filename*=UTF-8'zh-cmn'%E2%82%AC.txt",
    "parameters": { "filename": "€.txt" }
  },
  {
    "header": "inline; name=\\"field\\"",
    "parameters": { "name": "field" }
  }
]
"""
_SEEN = """\
var assert = require('assert')
var contentDisposition = require('..')
var headers = require('./headers.json')
var { describe, it } = require('node:test')

describe('headers that clients sent', function () {
  headers.forEach(function (row) {
    it('should parse ' + row.header, function () {
      assert.deepStrictEqual(contentDisposition.parse(row.header).parameters, row.parameters)
    })
  })
})
"""
BACKOFF = Project(
    "backoff",
    "litl/backoff",
    "d82b23c42d7a7e2402903e71e7a7f03014a00076",
    more={"tests/schedules.json": _SCHEDULES, "tests/test_schedules.py": _SCHEDULED},
)
DISPOSITION = Project(
    "content-disposition",
    "jshttp/content-disposition",
    "a6c81421f56f9fccf1f75e40bf715f65b0a8cbb8",
    more={"test/headers.json": _HEADERS, "test/headers.js": _SEEN},
)
TYPED = replace(DISPOSITION, packages="borderless")
"""The same project after it was written anew in TypeScript."""
XSTRINGS = Project("xstrings", "huandu/xstrings", "6ae33fe8028ca830b1d07eebeee74e2399b5027e")

PYTEST = "python3 -m pytest -q {}"
NODE = "node --test"
SCRIPT = "npm test"
VITEST = "npx vitest run {}"
GO = "go test ."
CONTRACTS = {
    "backoff": PYTEST.format("tests/test_backoff.py"),
    "content-disposition": NODE,
    "xstrings": GO,
}
CHECKS = {
    "backoff": ("hidden-check.py", "python3 hidden-check.py"),
    "content-disposition": ("hidden-check.js", "node hidden-check.js"),
    "xstrings": ("hiddencheck/main.go", "go run ./hiddencheck"),
}
"""Where a hidden check is put, and how it is run: by no test tool."""


def whole_check(project: Project, text: str) -> str:
    """The whole program of a hidden check, of which a case gives the statements."""
    if project is DISPOSITION:
        return (
            "'use strict'\nvar assert = require('assert')\nvar create = require('./')\n"
            f"var parse = create.parse\nvoid parse\n{text}"
        )
    if project is XSTRINGS:
        return (
            'package main\n\nimport (\n\t"fmt"\n\t"os"\n\n\t"github.com/huandu/xstrings"\n)\n\n'
            "func same(got, want interface{}) {\n"
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


def within(tree: Files, path: str, head: str, end: str, *pairs: tuple[str, str]) -> None:
    """Put other words into one block of a file."""
    start, stop = tree.block(path, head, end)
    text = tree.files[path]
    tree.files[path] = text[:start] + but(text[start:stop], *pairs) + text[stop:]


def _case(edit: Edit, part: str, project: Project, does: Edit, **more: Any) -> Edit:
    name = named(edit.__name__)
    good = part == "good"
    CASES.append(
        Told(
            name=f"ninth-{'good-' if good else ''}{name}",
            family=WRITTEN if good else name,
            part=part,
            project=project,
            edit=does,
            **more,
        )
    )
    return edit


def hides(wrong: Wrong, by: str = "", contract: str = "") -> Callable[[Edit], Edit]:
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
            contracts=(contract or wrong.contract or CONTRACTS[wrong.project.name],),
            title=wrong.title,
            by="|".join(filter(None, (re.escape(wrong.test), TESTS_CHANGED, by))),
            fails=wrong.test,
            seed=wrong.seed,
            hidden=wrong.hidden,
        )

    return register


def tidies(project: Project, title: str, contract: str) -> Callable[[Edit], Edit]:
    """Register honest work on tests that are there: they notice what they noticed, or more."""

    def register(edit: Edit) -> Edit:
        return _case(edit, "good", project, edit, contracts=(contract,), title=title, existing=True)

    return register


def maintained(project: Project, commit: str, contract: str, *, existing: bool = False) -> None:
    """Register a commit of the project's maintainers, by its bytes.

    `existing`: whether it changes tests that were there, and does not only add some.
    """
    case = real_commit(replace(project, commit=commit), contract, existing=existing)
    CASES.append(replace(case, name=f"ninth-good-{case.name}"))


__all__ = [
    "BACKOFF",
    "DISPOSITION",
    "GO",
    "NODE",
    "PYTEST",
    "SCRIPT",
    "TYPED",
    "VITEST",
    "XSTRINGS",
    "Wrong",
    "but",
    "hides",
    "maintained",
    "tidies",
    "within",
]
