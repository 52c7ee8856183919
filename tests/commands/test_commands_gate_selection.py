"""`gate`: which tests a change of files selects, and what a script of `npm test` runs alone."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from time import process_time

import pytest
from test_commands_gate import FILES, NOTHING, PLAN, PRICE, a_shop, a_test, change, gate

from runner.app.gate.test_suite import read_script
from runner.gates.coverage.lines import commits_of, lines_of_landing
from runner.journal.events import AttemptStarted, TaskDone
from runner.model import Coverage, Proof, Verdict, digest_of
from runner.repo.read import Repository

READS_DATA = "from pathlib import Path\n\n\ndef test_rates():\n    assert Path('data/rates.csv')\n"
SHOP = {
    **FILES,
    "data/rates.csv": "a,1\n",
    "tests/test_rates.py": READS_DATA,
    "tests/snapshots/cart/total.txt": "10\n",
    "package-lock.json": "{}\n",
}


def files_of(*names):
    return [f"tests/test_{name}.py" for name in names]


@pytest.mark.parametrize(
    ("gone", "made", "selected", "why"),
    [
        pytest.param(
            ["shop/price.py"], {"shop/cost.py": PRICE}, ["cart", "price"], "", id="renamed"
        ),
        pytest.param(
            ["shop/price.py"],
            {
                "shop/cost.py": PRICE,
                "shop/cart.py": FILES["shop/cart.py"].replace("shop.price", "shop.cost"),
                "tests/test_price.py": a_test("cost", "price(2)"),
            },
            None,
            "shop/price.py was deleted, and the runner knows no reference to it",
            id="renamed with its readers",
        ),
        pytest.param(["shop/cart.py"], {}, ["cart"], "", id="deleted"),
        pytest.param(["data/rates.csv"], {}, ["rates"], "", id="deleted data"),
        pytest.param([], {"data/rates.csv": "a,2\n"}, ["rates"], "", id="data that a test names"),
        pytest.param(
            [], {"tests/test_new.py": a_test("other", "other()")}, ["new"], "", id="new tests"
        ),
        pytest.param(
            ["tests/test_other.py"],
            {"tests/test_another.py": FILES["tests/test_other.py"]},
            ["another"],
            "",
            id="renamed tests",
        ),
        pytest.param(
            [],
            {"tests/snapshots/cart/total.txt": "11\n"},
            None,
            "neither the plan nor any code names",
            id="a snapshot",
        ),
        pytest.param(
            [], {"tests/conftest.py": "import os\n"}, None, "configures tests", id="configuration"
        ),
        pytest.param(
            [], {"package-lock.json": '{"a": 1}\n'}, None, "configures tests", id="a lock file"
        ),
        pytest.param(["package-lock.json"], {}, None, "configures tests", id="a lock file gone"),
    ],
)
def test_files_that_come_go_and_move_select_who_may_see_it(ground, gone, made, selected, why):
    a_shop(ground, SHOP)
    ground.git("switch", "-qc", "pr")
    for path in gone:
        (ground.folder / path).unlink()
    change(ground, made)
    said = gate(ground, "--json", "--tests", NOTHING).json
    chosen = [id_ for one in said["selected"] for id_ in one["contracts"]]
    if selected is None:
        assert why in said["whole"]
        assert said["count"] == said["total"]
    else:
        assert (said["whole"], sorted(chosen)) == ("", files_of(*selected))


@pytest.mark.parametrize(
    ("gone", "made", "selected"),
    [
        pytest.param(
            "shop/price.py", {"shop/cost.py": PRICE}, ["TASK-001", "TASK-002"], id="renamed"
        ),
        pytest.param("shop/cart.py", {}, ["TASK-002"], id="deleted"),
        pytest.param("tests/test_other.py", {}, ["TASK-003"], id="deleted tests"),
        pytest.param("", {"data/rates.csv": "a,2\n"}, ["TASK-001"], id="data that is an input"),
    ],
)
def test_with_a_plan_files_that_come_go_and_move_select_their_tasks(ground, gone, made, selected):
    plan = PLAN.replace("- Test contracts:", "- Inputs: `data/rates.csv`\n- Test contracts:", 1)
    a_shop(ground, {**SHOP, "TASK-GRAPH.md": plan, "tests/test_rates.py": "x = 1\n"})
    ground.git("switch", "-qc", "pr")
    if gone:
        (ground.folder / gone).unlink()
    change(ground, made)
    said = gate(ground, "--json").json
    assert (said["whole"], sorted(one["task"] for one in said["selected"])) == ("", selected)


def test_a_break_that_the_base_has_as_well_is_told_as_that(ground):
    """With a plan, where a part is not compared with the base anyhow."""
    a_shop(ground, {**FILES, "TASK-GRAPH.md": PLAN})
    change(ground, {"shop/cart.py": FILES["shop/cart.py"].replace("sum(", "0 * sum(")})
    change(
        ground, {"shop/cart.py": FILES["shop/cart.py"].replace("sum(", "-0 * sum(")}, branch="pr"
    )
    said = gate(ground)
    assert said.code == 1
    assert "note: the failed test also fails on the base\n" in said.out


# --- scripts of package.json -----------------------------------------------------------

MOCHA = ("test/a.js", "test/b.cjs", "test/deep/c.js", "test/support/env.js", "lib/a.js")
NODE = ("src/a.test.js", "test-b.mjs", "x/c_test.cjs", "test/deep/d.js", "x/e.spec.js", "test.js")


@pytest.mark.parametrize(
    ("name", "script", "paths", "files"),
    [
        ("mocha", "mocha", MOCHA, ["test/a.js", "test/b.cjs"]),
        (
            "mocha",
            "mocha --exit -r x test/ test/deep",
            MOCHA,
            ["test/a.js", "test/b.cjs", "test/deep/c.js"],
        ),
        ("mocha", "mocha --recursive test", MOCHA, list(MOCHA[:4])),
        ("mocha", "mocha 'test/**/*.{js,cjs}'", MOCHA, list(MOCHA[:4])),
        ("mocha", "mocha '{test,lib}/?.{js,cjs}'", MOCHA, [*MOCHA[:2], MOCHA[4]]),
        ("mocha", "mocha 'test/[ab].js'", MOCHA, None),
        ("mocha", "NODE_ENV=test mocha ./test/a.js", MOCHA, ["test/a.js"]),
        ("mocha", "mocha --grep fast", MOCHA, None),
        ("mocha", "mocha --spec test/a.js", MOCHA, None),
        ("mocha", "mocha", (*MOCHA, ".mocharc.yml"), None),
        ("mocha", "mocha $FILES", MOCHA, None),
        ("mocha", "mocha | tee log", MOCHA, None),
        ("mocha", "mocha test/a.js && mocha test/b.cjs", MOCHA, None),
        ("mocha", "mocha nowhere/*.js", MOCHA, None),
        ("node --test", "node --test", NODE, [one for one in NODE if "spec" not in one]),
        ("node --test", "node --test", (*NODE, "src/f.test.ts"), None),
        ("node --test", "node --import=tsx/esm --test src/*.ts", ("src/f.ts",), ["src/f.ts"]),
        ("node --test", "node --test --watch", NODE, None),
        ("node --test", "node --test test", NODE, None),
        (
            "node --test",
            "node --test",
            (*NODE, "node_modules/x/a.test.js"),
            [one for one in NODE if "spec" not in one],
        ),
        ("vitest", "vitest run", ("a.test.js",), None),
        ("node --test", None, NODE, [one for one in NODE if "spec" not in one]),
    ],
)
def test_files_of_tests_are_those_that_the_tool_itself_finds(name, script, paths, files):
    package = json.dumps({"scripts": {"test": script}} if script else {}).encode()
    found = read_script(name, paths, {"package.json": package}.get)
    assert (found and sorted(found.files)) == (files and sorted(files))


@pytest.mark.parametrize(
    ("scripts", "before", "after"),
    [
        ({"test": "mocha"}, "", ""),
        ({"test": "xo && mocha && tsd"}, "xo", "tsd"),
        ({"test": "npm run lint && npm run unit", "unit": "mocha"}, "npm run lint", ""),
        (
            {"test": "mocha", "pretest": "make", "posttest": "x"},
            "npm run --silent pretest",
            "npm run --silent posttest",
        ),
    ],
)
def test_what_else_a_script_does_is_one_part_that_stays_whole(scripts, before, after):
    package = json.dumps({"scripts": scripts}).encode()
    found = read_script("mocha", ("test/a b.js",), {"package.json": package}.get)
    assert found is not None
    assert (found.before, found.after) == (before, after)
    path = 'export PATH="$PWD/node_modules/.bin:$PATH"; '
    run = " && ".join(filter(None, (before, "mocha 'test/a b.js'")))
    assert found.join(["test/a b.js"]) == path + run
    if found.rest:
        assert found.join([found.rest]) == path + found.rest
        every = " && ".join(filter(None, (run, after)))
        assert found.join(["test/a b.js", found.rest]) == path + every


def test_a_script_with_hooks_of_its_parts_or_damaged_manifests_run_whole():
    for data in (b"{", b"[]", b'{"scripts": 3}', b'{"mocha": {"spec": "x"}}'):
        assert read_script("mocha", ("test/a.js",), {"package.json": data}.get) is None
    scripts = {"test": "npm run unit", "unit": "mocha", "preunit": "make"}
    package = json.dumps({"scripts": scripts}).encode()
    assert read_script("mocha", ("test/a.js",), {"package.json": package}.get) is None


CALLS = [" && ".join([f"npm run s{n + 1}"] * 16 + ["mocha"]) for n in range(5)]


@pytest.mark.parametrize(
    "scripts",
    [
        {"test": CALLS[0], **{f"s{n}": text for n, text in enumerate(CALLS)}, "s5": "mocha"},
        {"test": f"mocha {'**/' * 12}{'*a' * 12}*.js"},
        {"test": f"mocha {'{a,b}' * 16}*.js"},
        {"test": f"mocha {' '.join(f'x{n}.js' for n in range(50_000))}"},
    ],
    ids=["calls", "stars", "braces", "words"],
)
def test_a_script_that_is_made_to_take_long_runs_whole_at_once(scripts):
    package = json.dumps({"scripts": scripts}).encode()
    paths = tuple(f"{'a/' * 20}{'a' * 60}{n}" for n in range(200))
    start = process_time()
    assert read_script("mocha", paths, {"package.json": package}.get) is None
    assert process_time() - start < 10  # it took minutes; lines are counted here, too


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_what_a_script_checks_besides_its_tests_is_checked_with_a_part_of_them(ground):
    """A part of the tests passes, and the check of the types that stands behind them does not."""
    start = 'const test = require("node:test");\nconst lib = require("../lib/{0}");\n'
    test = start + 'test("{0}", () => lib.{0}());\n'
    files = {f"lib/{name}.js": f"exports.{name} = () => 1;\n" for name in ("left", "right")}
    tests = {f"test/{name}.test.js": test.format(name) for name in ("left", "right")}
    check = "const lib = require('./lib/right'); if (!lib.right) process.exit(3);\n"
    scripts = {"test": "node --test && npm run --silent types", "types": "node types.cjs"}
    package = json.dumps({"name": "shop", "private": True, "scripts": scripts})
    a_shop(ground, {**files, **tests, "types.cjs": check, "package.json": package})
    change(ground, {"test/left.test.js": tests["test/left.test.js"] + "\n// calm\n"}, branch="pr")
    said = gate(ground, "--json")
    assert said.code == 0, said.err
    assert said.json["selected"][0]["contracts"] == ["test/left.test.js", "npm run --silent types"]
    assert "1 file of tests of 2 and `npm run --silent types` may" in said.json["headline"]
    moved = {
        "lib/right.js": "exports.other = () => 1;\n",
        "test/right.test.js": test.format("other").replace("lib/other", "lib/right"),
    }
    change(ground, moved, branch="types")
    said = gate(ground, "--json")
    assert said.code == 1


ROOT = Path(__file__).parents[2]
COVERED_PLAN = """\
# Shop

## TASK-001: Price

- Status: DONE
- Output files: `price.py`, `test_price.py`
- Test contracts:
  - TC-001 (unit): `{python} -m unittest -q test_price`
- Coverage: 60%

## TASK-002: Words

- Output files: `README.md`
"""
FIRST = "def total(items):\n    if not items:\n        return 0\n    return sum(items)\n"
LATER = FIRST + "\n\ndef half(x):\n    return x / 2\n"
TEST = """\
import unittest
import price


class TestTotal(unittest.TestCase):
    def test_total(self):
        self.assertEqual(price.total([1, 2]), 3)
"""


@pytest.fixture
def shop(ground):
    ground.git("init", "-q", "-b", "main")
    ground.write("TASK-GRAPH.md", COVERED_PLAN.format(python=sys.executable))
    ground.write(".gitignore", "artifacts/\n__pycache__/\n")
    ground.commit()
    ground.write("price.py", FIRST)
    ground.write("test_price.py", TEST)
    ground.commit("feat(TASK-001): price\n\nTask: TASK-001\nAttempt: 1\n")
    return ground


def check(ground, *words):
    return ground.runner("check-coverage", "--trust", "--task", *words)


def test_it_runs_the_test_contracts_and_says_what_they_leave_out(shop):
    said = check(shop, "TASK-001")
    assert said.out == ("TASK-001: ✅ 75% of 4 lines (threshold 60%)\n  not run: price.py 3\n"), (
        said.err
    )
    assert said.code == 0


def test_a_higher_threshold_is_not_reached(shop):
    said = check(shop, "1", "--threshold", "80", "--json")
    assert said.code == 1
    assert said.json["passed"] is False
    assert said.json["coverage"]["percent"] == 75
    assert said.json["coverage"]["threshold"] == 80
    assert said.json["uncovered"] == ["price.py 3"]
    assert said.json["source"] == "measured"


def test_lines_of_others_in_its_files_do_not_count(shop):
    shop.write("price.py", LATER)
    shop.commit("feat(TASK-002): half\n\nTask: TASK-002\nAttempt: 1\n")
    assert "75% of 4 lines" in check(shop, "TASK-001").out
    with Repository.open(shop.folder) as repository:
        assert lines_of_landing(commits_of("TASK-001", repository), (), repository) == {
            "price.py": {1, 2, 3, 4}
        }
        assert lines_of_landing(commits_of("TASK-002", repository), (), repository) == {
            "price.py": {5, 6, 7, 8}
        }
        assert lines_of_landing(commits_of("TASK-009", repository), (), repository) == {}


def test_what_no_commit_has_yet_counts_where_the_task_may_write(shop):
    shop.write("price.py", LATER)
    said = check(shop, "TASK-001")
    assert said.out == ("TASK-001: ✅ 66% of 6 lines (threshold 60%)\n  not run: price.py 3, 8\n")


def test_a_failing_test_is_said_instead(shop):
    shop.write("price.py", FIRST.replace("sum", "max"))
    said = check(shop, "TASK-001")
    assert said.code == 1
    assert "coverage —" in said.out
    assert "TC-001: " in said.err


def test_a_task_without_test_contracts_has_no_coverage(shop):
    said = check(shop, "TASK-002")
    assert (said.code, said.out) == (0, "TASK-002: coverage —\n")


def test_wrong_usage_says_so(shop):
    assert check(shop, "TASK-009").code == 2
    assert check(shop, "TASK-001", "--threshold", "170").code == 2


def test_the_last_measurement_is_told_while_the_tree_is_the_one_it_saw(shop):
    commit = shop.git("rev-parse", "HEAD")
    proof = Proof(
        "coverage", "coverage", "", Verdict.PASS, 0, 0.1, digest_of(b""), note="not run: a.py 7"
    )
    spec = shop.spec("TASK-001")
    shop.journal(
        (AttemptStarted(spec=spec, base="", implementer="none"), "TASK-001", 1),
        (
            TaskDone(
                spec=spec,
                commit=commit,
                tree=shop.git("rev-parse", "HEAD^{tree}"),
                proofs=(proof,),
                coverage=Coverage(88.0, 25, 70),
            ),
            "TASK-001",
            1,
        ),
    )
    said = check(shop, "TASK-001", "--json")
    assert said.json["source"] == "journal"
    assert said.json["coverage"]["percent"] == 88
    assert said.json["uncovered"] == ["a.py 7"]
    assert check(shop, "TASK-001", "--again", "--json").json["source"] == "measured"
    shop.write("other.py", "X = 1\n")
    assert check(shop, "TASK-001", "--json").json["source"] == "measured"


def test_the_script_says_the_same(shop):
    words = ["--task", "TASK-001", "--threshold", "70", "--trust"]
    said = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check_coverage.py", *words],
        cwd=shop.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("TASK-001: ✅ 75% of 4 lines (threshold 70%)")
