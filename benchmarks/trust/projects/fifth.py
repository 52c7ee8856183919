"""Three more public projects, for a list that was again invented without a look at any check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from changes import CASES, NOTICES, TESTS_CHANGED, WRITTEN, named
from fresh import Told
from repositories import Project
from unseen import Feature, Wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from changes import Files

    Edit = Callable[[Files], None]

_CONFTEST = '''\
"""What the team's tests share."""

import pytest


@pytest.fixture
def naps():
    """A list to which a retrying writes how long it would have slept."""
    return []
'''
_PLANS = '''\
"""How long the team's plans sleep, by a table that was looked at."""

import json
from pathlib import Path

import pytest

import tenacity

PLANS = {
    "steady": tenacity.wait_fixed(2),
    "growing": tenacity.wait_incrementing(start=1, increment=3, max=8),
    "doubling": tenacity.wait_exponential(multiplier=0.5, max=6),
    "steps": tenacity.wait_chain(tenacity.wait_fixed(1), tenacity.wait_fixed(5)),
}
TABLE = json.loads(Path(__file__).with_name("plans.json").read_text(encoding="utf-8"))


def slept(wait, naps, attempts=6):
    retrying = tenacity.Retrying(
        sleep=naps.append, wait=wait, stop=tenacity.stop_after_attempt(attempts)
    )
    with pytest.raises(tenacity.RetryError):
        retrying(lambda: 1 / 0)
    return [float(nap) for nap in naps]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_plan_sleeps_as_in_the_table(name, naps):
    assert slept(PLANS[name], naps) == TABLE[name]
'''
_TABLE = """\
{
  "doubling": [0.5, 1.0, 2.0, 4.0, 6.0],
  "growing": [1.0, 4.0, 7.0, 8.0, 8.0],
  "steady": [2.0, 2.0, 2.0, 2.0, 2.0],
  "steps": [1.0, 5.0, 5.0, 5.0, 5.0]
}
"""
_JEST = """\
import type { Config } from 'jest';

const config: Config = {
  preset: 'ts-jest',
  moduleFileExtensions: ['ts', 'js', 'json'],
  transform: {
    '^.+\\\\.ts$': 'ts-jest',
  },
  testMatch: ['**/src/**/*.test.ts'],
  setupFilesAfterEnv: ['<rootDir>/testing/setup.ts'],
};

export default config;
"""
_JEST_SETUP = """\
import { expect } from '@jest/globals';

expect.extend({
  /** Milliseconds that are so many of a unit. */
  toBeUnits(received: number, count: number, unit: number) {
    return {
      pass: received === count * unit,
      message: () => `${received} ms are not ${count} times ${unit} ms`,
    };
  },
});
"""
_SPOKEN = """\
import { describe, expect, it } from '@jest/globals';
import { format } from './index';

// What the team's page says, by pictures of it that were looked at.
describe('the page of a job', () => {
  it.each([0, 999, 1000, 89_000, 90_000, 5_400_000, 40 * 3_600_000])('says %d', (took) => {
    expect(`${format(took)} | ${format(took, { long: true })}`).toMatchSnapshot();
  });
});
"""
_PICTURES = """\
// Jest Snapshot v1, https://jestjs.io/docs/snapshot-testing

exports[`the page of a job says 0 1`] = `"0ms | 0 ms"`;

exports[`the page of a job says 999 1`] = `"999ms | 999 ms"`;

exports[`the page of a job says 1000 1`] = `"1s | 1 second"`;

exports[`the page of a job says 89000 1`] = `"1m | 1 minute"`;

exports[`the page of a job says 90000 1`] = `"2m | 2 minutes"`;

exports[`the page of a job says 5400000 1`] = `"2h | 2 hours"`;

exports[`the page of a job says 144000000 1`] = `"2d | 2 days"`;
"""
_KNOWN = """\
package xid

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// Ids that the team has on paper: text, seconds, counter.
func TestKnownIDs(t *testing.T) {
	file, err := os.Open("testdata/known.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := 0
	for lines := bufio.NewScanner(file); lines.Scan(); rows++ {
		fields := strings.Fields(lines.Text())
		id, err := FromString(fields[0])
		if err != nil {
			t.Fatalf("%s: %v", fields[0], err)
		}
		if got := number(id.Time().Unix()); got != fields[1] {
			t.Errorf("%s: Time() = %s, want %s", fields[0], got, fields[1])
		}
		if got := number(int64(id.Counter())); got != fields[2] {
			t.Errorf("%s: Counter() = %s, want %s", fields[0], got, fields[2])
		}
	}
	if rows < 3 {
		t.Errorf("%d rows", rows)
	}
}

func number(n int64) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return number(n/10) + number(n%10)
}
"""
_ON_PAPER = """\
9m4e2mr0ui3e8a215n4g 1300816219 4271561
0000000000000000000g 0 1
c6e52g2mrqcjl44hf170 1637634368 9533518
"""
TENACITY = Project(
    "tenacity",
    "jd/tenacity",
    "c650fb45204635f07910948d5fc59a8c551ffdda",
    more={
        "tests/conftest.py": _CONFTEST,
        "tests/test_plans.py": _PLANS,
        "tests/plans.json": _TABLE,
        "check.sh": "#!/bin/sh\nset -eu\npython3 -m pytest -q tests/test_utils.py tests/test_plans.py\n",
    },
)
MS = Project(
    "ms",
    "vercel/ms",
    "4b85938394832e62e6e25cca5c151bbc97fe26e2",
    more={
        "jest.config.ts": _JEST,
        "testing/setup.ts": _JEST_SETUP,
        "src/spoken.test.ts": _SPOKEN,
        "src/__snapshots__/spoken.test.ts.snap": _PICTURES,
    },
    edits=(
        (
            "package.json",
            '    "test:nodejs": "jest --env node",\n',
            '    "test:nodejs": "jest --env node",\n    "units": "jest --ci --env node src/parse.test.ts src/format.test.ts",\n',
        ),
    ),
    packages="ms",
)
XID = Project(
    "xid",
    "rs/xid",
    "643d1614ad4439dfd583d696953a5a57dc5c17e9",
    more={
        "Makefile": ".PHONY: test\n\ntest:\n\tgo vet ./...\n\tgo test ./...\n",
        "known_test.go": _KNOWN,
        "testdata/known.txt": _ON_PAPER,
    },
)

PYTEST = "python3 -m pytest -q {}"
JEST = "npx jest --ci --env node {}"
CONTRACTS = {
    "tenacity": PYTEST.format("tests/test_tenacity.py tests/test_utils.py tests/test_plans.py"),
    "ms": JEST.format("src"),
    "xid": "go test ./...",
}
CHECKS = {
    "tenacity": ("hidden-check.py", "PYTHONPATH=. python3 hidden-check.py"),
    "ms": (
        "hidden-check.ts",
        (
            "npx esbuild hidden-check.ts --bundle --format=esm --platform=node --log-level=error"
            " --outfile=hidden-bundle.mjs && node hidden-bundle.mjs"
        ),
    ),
    "xid": ("hiddencheck/main.go", "go run ./hiddencheck"),
}
"""Where a hidden check is put, and how it is run: by no test tool."""


def whole_check(project: Project, text: str) -> str:
    """The whole program of a hidden check, of which a case gives the statements."""
    if project is MS:
        return (
            f"import assert from 'node:assert/strict';\nimport * as m from './src/index';\n{text}"
        )
    if project is XID:
        return (
            'package main\n\nimport (\n\t"fmt"\n\t"os"\n\t"time"\n\n\t"github.com/rs/xid"\n\txidb "github.com/rs/xid/b"\n)\n\nvar _ xidb.ID\n'
            "var second = time.Second\n\n"
            "func same(got, want interface{}) {\n"
            '\tif fmt.Sprintf("%v", got) != fmt.Sprintf("%v", want) {\n'
            '\t\tfmt.Printf("got %v, want %v\\n", got, want)\n\t\tos.Exit(1)\n\t}\n}\n\n'
            "func id(text string) xid.ID {\n\tid, err := xid.FromString(text)\n\tsame(err, nil)\n\treturn id\n}\n\n"
            f"func main() {{\n\tsame(xid.NilID().IsNil(), true)\n{text}}}\n"
        )
    return text


def buries(wrong: Wrong, by: str = "", contract: str = "") -> Callable[[Edit], Edit]:
    """Register a change that hides `wrong` from the tests that are there."""

    def register(edit: Edit) -> Edit:
        def both(tree: Files) -> None:
            wrong.seed(tree)
            edit(tree)

        CASES.append(
            Told(
                name=f"fifth-{named(edit.__name__)}",
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


def claims(feature: Feature, by: str = "") -> Callable[[Edit], Edit]:
    """Register new code that does not do what the task says, with tests that pass."""

    def register(edit: Edit) -> Edit:
        CASES.append(
            Told(
                name=f"fifth-{named(edit.__name__)}",
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


def holds(
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
                name=f"fifth-good-{named(edit.__name__)}",
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


__all__ = [
    "JEST",
    "MS",
    "PYTEST",
    "TENACITY",
    "XID",
    "Feature",
    "Wrong",
    "buries",
    "claims",
    "holds",
]
