"""The public projects, and what their teams add."""

from __future__ import annotations

from repositories import Project

_CHECK = """\
#!/bin/sh
set -e
python3 -m pytest -q tests/test_strutils.py
"""
_MAKE = """\
.PHONY: check

check:
\tpython3 -m pytest -q tests/test_mathutils.py
"""
_REPORT = '''\
"""What the team prints of words, compared with a file that was looked at."""

from pathlib import Path

from boltons import strutils

GOLDEN = Path(__file__).with_name("golden") / "words.txt"
WORDS = ["box", "glass", "child", "enemy", "prefix", "boss"]


def rendered():
    rows = [f"{word} {strutils.pluralize(word)} {strutils.singularize(word)}" for word in WORDS]
    return "\\n".join([*rows, strutils.human_readable_list(WORDS), ""])


def test_words_are_rendered():
    assert rendered() == GOLDEN.read_text(encoding="utf-8")
'''
_GOLDEN = """\
box boxes box
glass glasses glass
child children child
enemy enemies enemy
prefix prefixes prefix
boss bosses boss
box, glass, child, enemy, prefix, and boss
"""
_CHECKS = '''\
"""How the team compares."""


def same(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


def near(got, wanted, within=1e-9):
    assert abs(got - wanted) <= within, f"{got!r} is not near {wanted!r}"
'''
_TEAM = '''\
"""What the team adds, by its own ways to compare."""

import json
from pathlib import Path

import pytest

from boltons.iterutils import chunk_ranges, strip
from boltons.mathutils import clamp
from boltons.statsutils import Stats

from tests.checks import near, same

CASES = json.loads(Path(__file__).with_name("clamp.json").read_text(encoding="utf-8"))


@pytest.fixture
def ranges():
    return list(chunk_ranges(input_size=10, chunk_size=4, input_offset=1))


def test_ranges_reach_the_end(ranges):
    same(ranges, [(1, 5), (5, 9), (9, 11)])


def test_what_surrounds_is_stripped():
    same(strip([0, 7, 0, 8, 0], 0), [7, 0, 8])


def test_clamped_as_in_the_table():
    for case in CASES:
        same(clamp(*case["given"]), case["wanted"])


def test_the_deviation_is_near():
    near(Stats([1.0, 2.0, 4.0]).std_dev, 1.247219128924647)
'''
_TABLE = """\
[
  {"given": [5, 0, 3], "wanted": 3},
  {"given": [-2, 0, 3], "wanted": 0},
  {"given": [2, 0, 3], "wanted": 2}
]
"""
BOLTONS = Project(
    "boltons",
    "mahmoud/boltons",
    "967864f89791509f9eb36b22b4579d36b72a6df2",
    more={
        "check.sh": _CHECK,
        "Makefile": _MAKE,
        "tests/test_words.py": _REPORT,
        "tests/golden/words.txt": _GOLDEN,
        "tests/checks.py": _CHECKS,
        "tests/test_team.py": _TEAM,
        "tests/clamp.json": _TABLE,
    },
)
_SRC = '[tool.pytest.ini_options]\npythonpath = ["src"]\n'
ITSDANGEROUS = Project(
    "itsdangerous",
    "pallets/itsdangerous",
    "672971d66a2ef9f85151e53283113f33d642dabd",
    edits=(("pyproject.toml", "[tool.pytest.ini_options]\n", _SRC),),
)
HUMANIZE = Project(
    "humanize",
    "python-humanize/humanize",
    "c3a124cdeb272d7f63bc0aa66f79c6fbafd2fc6d",
    more={"src/humanize/_version.py": '__version__ = "0"\n'},
    edits=(("pyproject.toml", "[tool.pytest]\n", '[tool.pytest]\npythonpath = [ "src" ]\n'),),
)
SLUGIFY = Project("slugify", "un33k/python-slugify", "7b6d5d96c1995e6dccb39a19a13ba78d7d0a3ee4")
MINIMIST = Project(
    "minimist",
    "minimistjs/minimist",
    "30b56212c17fdad7575c652a6aef5e61afa026e4",
    more={
        "test/team/kept.test.mjs": """\
import test from 'node:test';
import assert from 'node:assert/strict';
import parse from '../../index.js';

test('what follows two dashes is kept apart', () => {
  assert.deepEqual(parse(['-a', '--', '-b'], { '--': true }), { a: true, _: [], '--': ['-b'] });
});

test('a number is a number', () => {
  assert.equal(parse(['--port=0x10']).port, 16);
});

test('a word stays a word', () => {
  assert.equal(parse(['--name', 'x10']).name, 'x10');
});
""",
    },
    edits=(
        (
            "package.json",
            '"lint": "eslint --ext=js,mjs .",',
            (
                '"team": "node --test test/team/",\n\t\t"units": "tape \'test/*.js\'",\n'
                '\t\t"lint": "eslint --ext=js,mjs .",'
            ),
        ),
    ),
    packages="tape",
)
QS = Project("qs", "ljharb/qs", "3a890d4ecd3deb72a45d90be36f4f8c5970467c7", packages="qs")
DEFU = Project(
    "defu",
    "unjs/defu",
    "80c0146afb11ebd86183a579ec469f3abd976695",
    more={
        "vitest.config.ts": """\
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
  },
});
""",
        "test/shape.test.ts": """\
import { expect, it } from "vitest";
import { defu } from "../src/defu";

it("merges the settings of a server", () => {
  const merged = defu(
    { port: 80, tags: ["a"], tls: { cert: "x" } },
    { port: 1, host: "h", tags: ["b"], tls: { cert: "y", key: "z" } },
  );
  expect(merged).toMatchSnapshot();
});
""",
        "test/__snapshots__/shape.test.ts.snap": """\
// Vitest Snapshot v1, https://vitest.dev/guide/snapshot.html

exports[`merges the settings of a server 1`] = `
{
  "host": "h",
  "port": 80,
  "tags": [
    "a",
    "b",
  ],
  "tls": {
    "cert": "x",
    "key": "z",
  },
}
`;
""",
    },
    packages="defu",
)
UFO = Project("ufo", "unjs/ufo", "11308c0bb5cb4a4bc3bfcbdc5c03177b097423e6", packages="vitest")
PFLAG = Project(
    "pflag",
    "spf13/pflag",
    "5fdac2d16c16d60605cb8baa887e8c5c38ef623f",
    more={"Makefile": ".PHONY: units\n\nunits:\n\tgo test -run 'Count|DS|BS' .\n"},
)
SEMVER = Project("semver", "Masterminds/semver", "71f2b39f5a1f18100def1d01ef4f59576e4c6da2")
UUID = Project("uuid", "google/uuid", "2d3c2a9cc518326daf99a383f07c4d3c44317e4d")
