"""`gate`: a pull request is measured on what it is when merged, with a plan and without one."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from runner.app.gate.test_suite import may_run_prose
from runner.project import Project
from runner.repo.read import Repository

PRICE = "RATE = 10\n\n\ndef price(count):\n    return count * RATE\n"
CART = "from shop.price import price\n\n\ndef total(items):\n    return sum(map(price, items))\n"


def a_test(module, call):
    name = call.partition("(")[0]
    return f"from shop.{module} import {name}\n\n\ndef test_{name}():\n    assert {call}\n"


FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "shop/__init__.py": "",
    "shop/price.py": PRICE,
    "shop/cart.py": CART,
    "shop/other.py": "def other():\n    return 1\n",
    "tests/test_price.py": a_test("price", "price(2)"),
    "tests/test_cart.py": a_test("cart", "total([1])"),
    "tests/test_other.py": a_test("other", "other()"),
    "README.md": "A shop.\n",
}
TASK = """\
## TASK-00{0}: {1}

- Status: DONE
- Output files: `shop/{1}.py`, `tests/test_{1}.py`
- Test contracts:
  - TC-00{0} (unit): `python -m pytest -q tests/test_{1}.py`

"""
PLAN = "# Shop\n\n" + "".join(
    TASK.format(number, name) for number, name in enumerate(("price", "cart", "other"), start=1)
)
NOTHING = "true # pytest"
"""Is taken for pytest by its name, and is quick."""
WITH_PLAN = {**FILES, "TASK-GRAPH.md": PLAN}


def a_shop(ground, files):
    ground.git("init", "-q", "-b", "main")
    change(ground, files)
    return ground


def change(ground, files, *, branch=""):
    """Write, and commit; on a new branch of main where one is named."""
    if branch:
        ground.git("switch", "-qc", branch, "main")
    for path, text in files.items():
        ground.write(path, text)
    return ground.commit("change")


def gate(ground, *words):
    return ground.runner("gate", "--trust", *words)


def state(ground):
    """All that a person could miss: refs, index, files."""
    seen = (ground.git("status", "--porcelain=v2", "--branch"), ground.git("for-each-ref"))
    return (*seen, ground.git("stash", "list"), ground.git("rev-parse", "HEAD"))


# green alone: half the rate as its own constant; red together: somebody reads the old one
RENAMED = {
    "shop/price.py": PRICE.replace("RATE", "EUROS"),
}
READS_OLD = {
    "shop/cart.py": CART.replace("import price", "import RATE, price").replace(
        "sum(map(price, items))", "sum(map(price, items)) // RATE * RATE"
    ),
}


@pytest.mark.parametrize(
    ("files", "who"),
    [
        pytest.param(FILES, "pytest", id="without a plan"),
        pytest.param(WITH_PLAN, "TASK-002", id="with a plan"),
    ],
)
def test_two_that_are_green_alone_and_red_together_are_stopped(ground, files, who):
    a_shop(ground, files)
    change(ground, RENAMED, branch="one")
    change(ground, READS_OLD, branch="two")
    assert gate(ground, "--head", "one").code == 0
    assert gate(ground, "--head", "two").code == 0
    ground.git("switch", "-q", "main")
    ground.git("merge", "-q", "--no-ff", "-m", "one", "one")
    before = state(ground)
    said = gate(ground, "--head", "two", "--json")
    assert said.code == 1
    assert f"{who} breaks: " in said.json["headline"]
    assert said.json["total"] == 3
    failing = [name for one in said.json["ran"] for name in one["failing"]]
    assert any("test_cart" in name for name in failing)
    assert not any("test_other" in name for name in failing)
    assert state(ground) == before


def test_only_tests_that_reach_the_change_run_and_a_text_for_people_runs_none(ground):
    a_shop(ground, FILES)
    change(ground, {"shop/cart.py": CART + "\n"}, branch="layout")
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 + sum(")}, branch="cart")
    said = gate(ground, "--head", "cart", "--json")
    assert [one["contracts"] for one in said.json["selected"]] == [["tests/test_cart.py"]]
    change(ground, {"README.md": "A better shop.\n"}, branch="prose")
    said = gate(ground, "--json")
    assert (said.code, said.json["ran"]) == (0, [])
    assert said.json["skipped"] == "no test is known to depend on it"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("tests/conftest.py", "configures tests"),
        ("pytest.ini", "configures tests"),
        ("uv.lock", "configures tests"),
        ("requirements-dev.txt", "configures tests"),
        ("runner.toml", "configures tests"),
        (".github/workflows/check.yml", "defines how tests are run"),
        (".gitlab-ci.yml", "defines how tests are run"),
        ("data/rates.csv", "neither the plan nor any code names"),
        ("native/fast.c", "the plan does not name"),
    ],
)
@pytest.mark.parametrize("files", [FILES, WITH_PLAN], ids=["without a plan", "with a plan"])
def test_what_may_reach_every_test_runs_everything_with_the_reason(ground, path, why, files):
    plan = {"TASK-GRAPH.md": re.sub("`python.*`", "`true`", PLAN)} if files is WITH_PLAN else {}
    a_shop(ground, {**files, **plan})
    change(ground, {path: "[pytest]\n" if path.endswith("ini") else "# new\n"}, branch="wide")
    said = gate(ground, "--json", "--tests", "" if files is WITH_PLAN else NOTHING)
    assert why in said.json["whole"]
    assert said.json["count"] == said.json["total"]


@pytest.mark.parametrize(
    ("path", "is_run"),
    [
        *((path, False) for path in ("notes.rst", "docs/notes.txt", "CHANGELOG", "AUTHORS.in")),
        *((path, True) for path in ("CMakeLists.txt", "tests/data/words.txt")),
    ],
)
def test_a_document_runs_nothing_and_no_task_is_named_without_a_plan(ground, path, is_run):
    a_shop(ground, FILES)
    change(ground, {path: "# new\n"}, branch="documents")
    said = gate(ground, "--tests", NOTHING, "--comment", "comment.md")
    assert ("nothing was run" not in said.out) is is_run
    told = said.out + said.err + (ground.folder / "comment.md").read_text()
    assert "task" not in told.casefold()
    assert "TESTS" not in told


@pytest.mark.parametrize(
    ("files", "tests", "is_run"),
    [
        ({"tox.ini": "[testenv:docs]\ncommands = sphinx-build -b doctest docs out\n"}, "", False),
        ({"pytest.ini": "[pytest]\npythonpath = .\naddopts = --doctest-glob=*.md\n"}, "", True),
        ({"tests/conftest.py": "from sybil import Sybil\n"}, "", True),
        ({"tox.ini": "[testenv]\ncommands = pytest --doctest-glob=*.md\n"}, NOTHING, True),
        ({}, "true # pytest --doctest-glob=*.md", True),
        ({}, NOTHING, False),
    ],
    ids=["of the documents", "pytest", "a plug-in", "by a command", "in a command", "none"],
)
def test_a_text_for_people_counts_where_tests_run_what_stands_in_it(ground, files, tests, is_run):
    a_shop(ground, {**FILES, **files})
    change(ground, {"README.md": ">>> 1\n2\n"}, branch="prose")
    words = ("--json", *(("--tests", tests) if tests else ()))
    project = Project.open(ground.folder, os.environ, plan_needed=False)
    if is_run and not tests:  # without running what is selected
        with Repository.open(project.root) as repository:
            assert may_run_prose(repository, tests, repository.resolve("prose"))
        return
    found = gate(ground, *words).json
    assert bool(found["ran"]) is is_run, found["headline"]


def test_a_link_runs_everything(ground):
    a_shop(ground, FILES)
    ground.git("switch", "-qc", "link")
    (ground.folder / "shop" / "alias.py").symlink_to("price.py")
    ground.commit("link")
    assert "is or was a link" in gate(ground, "--json", "--tests", NOTHING).json["whole"]


# --- the map --------------------------------------------------------------------------


def test_a_map_of_the_base_chooses_by_what_ran(ground, tmp_path):
    files = dict(FILES)
    files["tests/test_cart.py"] = (
        "import importlib\n\n\ndef test_total():\n"
        '    assert importlib.import_module("shop." + "cart").total([1])\n'
    )
    a_shop(ground, files)
    kept = tmp_path / "map.json"
    said = gate(ground, "--record", "--map", str(kept))
    assert said.code == 0, said.err
    assert "the test map covers 3 test files" in said.err
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 * sum(")}, branch="cart")
    said = gate(ground, "--map", str(kept), "--json")
    assert said.code == 1
    assert [one["contracts"] for one in said.json["selected"]] == [["tests/test_cart.py"]]
    assert "executed shop/cart.py" in said.json["selected"][0]["reasons"][0]["text"]
    assert said.json["wholeSeconds"] > 0


def test_a_base_that_fails_gives_no_map(ground, tmp_path):
    a_shop(ground, {**FILES, "tests/test_bad.py": "def test_bad():\n    assert False\n"})
    kept = tmp_path / "map.json"
    assert gate(ground, "--record", "--map", str(kept)).code == 1
    assert not kept.exists()


MAP = {"kind": "runner gate map", "v": 1, "seconds": 1.0, "files": {}}


def a_map(commit, **more):
    return json.dumps({**MAP, "commit": commit, **more})


@pytest.mark.parametrize(
    ("place", "commit", "text", "why"),
    [
        pytest.param("../map.json", "head", "", "not a commit of", id="of the pull request"),
        pytest.param("../map.json", "side", "", "not a commit of", id="of a merged branch"),
        pytest.param("map.json", "base", "", "is part of the pull request", id="in the change"),
        pytest.param("../map.json", "base", "{", "is damaged", id="half a file"),
        pytest.param("../map.json", "base", "[" * 100_000, "is damaged", id="deep"),
        pytest.param("../map.json", "base", '{"v": 1, "commit": "--all"}', "damaged", id="option"),
    ],
)
def test_a_map_that_is_not_the_base_s_is_not_believed(ground, place, commit, text, why):
    a_shop(ground, FILES)
    side = change(ground, {"notes.md": "side\n"}, branch="side")
    ground.git("switch", "-q", "main")
    ground.git("merge", "-q", "--no-ff", "-m", "side", "side")
    base = ground.git("rev-parse", "HEAD")
    head = change(ground, {"shop/other.py": "def other():\n    return 0\n"}, branch="pr")
    commits = {"side": side, "base": base, "head": head}
    ground.write(place, text or a_map(commits[commit]))
    if not place.startswith(".."):
        ground.commit("a map of ours")
    said = gate(ground, "--map", place, "--json", "--tests", NOTHING)
    assert any(why in note for note in said.json["notes"])


# --- merging --------------------------------------------------------------------------


def test_a_conflict_is_told_as_one_and_nothing_runs(ground, tmp_path):
    a_shop(ground, FILES)
    change(ground, {"shop/price.py": PRICE.replace("10", "11")}, branch="one")
    change(ground, {"shop/price.py": PRICE.replace("10", "12")}, branch="two")
    ground.write("shop/price.py", "half done\n")
    before = state(ground)
    said = gate(ground, "--base", "one", "--comment", str(tmp_path / "c.md"))
    assert said.code == 3
    assert "merge conflict: shop/price.py\nhint: merge the base into" in said.out
    assert "1 file not committed" in said.err
    assert "merge conflict: " in (tmp_path / "c.md").read_text()
    assert state(ground) == before
    assert (ground.folder / "shop" / "price.py").read_text() == "half done\n"


def test_a_merge_driver_of_the_clone_does_not_run(ground):
    a_shop(ground, {**FILES, ".gitattributes": "* merge=odd\n"})
    ground.git("config", "merge.odd.driver", f"touch {ground.folder}/ran; exit 1")
    change(ground, {"shop/price.py": "# one\n" + PRICE}, branch="one")
    change(ground, {"shop/price.py": PRICE + "# two\n"}, branch="two")
    said = gate(ground, "--base", "one", "--json")
    assert said.code == 0
    assert not (ground.folder / "ran").exists()
    merged = ground.git("show", f"{said.json['merged']}:shop/price.py")
    assert merged.startswith("# one")
    assert merged.endswith("# two")


def test_a_shallow_clone_is_told_to_fetch_more(ground, tmp_path, monkeypatch):
    a_shop(ground, FILES)
    change(ground, {"README.md": "one\n"}, branch="one")
    change(ground, {"README.md": "two\n"}, branch="two")
    words = ("clone", "-q", "--depth", "1", "--no-single-branch", f"file://{ground.folder}")
    ground.git(*words, str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    said = gate(ground, "--base", "origin/one")
    assert said.code == 2
    assert "too shallow" in said.err
    assert "fetch-depth: 0" in said.err


@pytest.mark.parametrize("name", ["--output=x", "-h", "$(touch x)", "a..b", "no\nsuch", "\x1b[2J"])
def test_a_strange_name_of_a_base_is_a_name_and_nothing_else(ground, monkeypatch, name):
    a_shop(ground, FILES)
    said = gate(ground, f"--base={name}")
    assert said.code == 2
    monkeypatch.setenv("GITHUB_BASE_REF", name)
    assert gate(ground).code == 2
    assert "\x1b" not in said.err
    assert not (ground.folder / "x").exists()


def test_the_base_is_the_one_that_ci_names(ground, monkeypatch):
    a_shop(ground, FILES)
    ground.git("branch", "release/1")
    change(ground, {"README.md": "new\n"}, branch="pr")
    monkeypatch.setenv("GITHUB_BASE_REF", "release/1")
    assert gate(ground, "--json").json["baseName"] == "release/1"


# --- what others read -----------------------------------------------------------------

HOSTILE = """\
import pytest


@pytest.mark.parametrize("name", ["@everyone ![x](http://e.x/i) <img src=x>", "$(touch ran)"])
def test_name(name):
    sample = "r8q7p6o5n4m3l2K1j0I9H8G7f6E5D4C3b2A1_phg"[::-1]
    print(sample)
    raise ValueError(sample)
"""


def test_what_a_test_says_is_no_markup_mention_secret_or_command(ground, tmp_path, monkeypatch):
    a_shop(ground, FILES)
    change(ground, {"tests/test_odd.py": HOSTILE}, branch="pr")
    page = tmp_path / "page.md"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    names = {name: str(tmp_path / f"gate.{name}") for name in ("comment", "junit", "sarif")}
    said = gate(ground, *(f"--{name}={file}" for name, file in names.items()))
    assert said.code == 1
    comment = page.read_text()
    assert comment == (tmp_path / "gate.comment").read_text()
    assert comment.startswith("<!-- runner gate -->\n")
    outside = comment.partition("```")[0]
    assert "@" not in outside
    assert "<img" not in outside
    assert "![" not in outside
    assert not (ground.folder / "ran").exists()
    every = said.out + said.err + comment + (tmp_path / "gate.sarif").read_text()
    assert "A1b2C3" not in every + (tmp_path / "gate.junit").read_text()
    (case,) = ET.parse(tmp_path / "gate.junit").iter("testcase")
    assert case.find("failure") is not None
    results = json.loads((tmp_path / "gate.sarif").read_text())["runs"][0]["results"]
    assert {one["level"] for one in results} == {"error"}
    places = [one["locations"][0]["physicalLocation"] for one in results]
    assert places[0]["artifactLocation"]["uri"] == "tests/test_odd.py"
    assert "::error file=tests/test_odd.py,line=8,title=pytest breaks::" in said.err


def test_tests_without_a_file_of_their_own_run_whole(ground):
    a_shop(ground, {"a.txt": "a\n"})
    change(ground, {"a.txt": "b\n"}, branch="pr")
    assert gate(ground).code == 2
    said = gate(ground, "--tests", "grep -q a a.txt", "--json")
    assert (said.code, said.json["total"]) == (1, 1)


def test_nothing_runs_before_a_person_trusts_it(ground):
    a_shop(ground, FILES)
    change(ground, {"shop/other.py": "x = 1\n"}, branch="pr")
    said = ground.runner("gate")
    assert said.code == 3
    assert "not trusted yet; nothing has run" in said.err
    assert "hint: read them, then: runner gate --trust" in said.err


# --- the base moved -------------------------------------------------------------------


@pytest.mark.parametrize(("landed", "runs"), [("shop/other.py", False), ("shop/price.py", True)])
def test_where_the_base_moved_only_who_is_met_is_measured_again(ground, landed, runs):
    a_shop(ground, FILES)
    old = ground.git("rev-parse", "HEAD")
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 + sum(")}, branch="pr")
    ground.git("switch", "-q", "main")
    change(ground, {landed: FILES[landed] + "\n\ndef more():\n    return 2\n"})
    said = gate(ground, "--head", "pr", "--moved-from", old, "--json")
    assert said.code == 0
    assert bool(said.json["ran"]) is runs
    assert ("changes on the base since" in said.json["skipped"]) is not runs


def test_a_move_from_nowhere_is_told_and_measured_as_any_other(ground):
    a_shop(ground, FILES)
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 + sum(")}, branch="pr")
    words = ("--moved-from", "0" * 40, "--json", "--tests", NOTHING)
    said = gate(ground, "--head", "pr", *words).json
    assert said["notes"][0].startswith("the --moved-from commit is not in this clone")
    assert said["selected"]


def test_a_plan_whose_proof_the_pull_request_changes_is_run_as_it_now_says(ground):
    a_shop(ground, WITH_PLAN)
    change(ground, {"TASK-GRAPH.md": PLAN.replace("tests/test_other", "tests/gone")}, branch="pr")
    said = gate(ground, "--json")
    assert said.code == 1
    assert [one["task"] for one in said.json["selected"]] == ["TASK-003"]
    assert "the section of TASK-003 has changed" in said.json["selected"][0]["reasons"][0]["text"]


def test_contracts_of_a_task_whose_section_the_pull_request_changes_run_as_well(ground):
    keeps = "- Contracts:\n  - schema: `s.json` = `{}`\n- Test contracts:\n  - TC-003"
    plan = PLAN.replace("- Test contracts:\n  - TC-003", keeps.format("good.json"))
    files = {"s.json": '{"type": "object"}', "good.json": "{}", "bad.json": "[]"}
    a_shop(ground, {**WITH_PLAN, **files, "TASK-GRAPH.md": plan})
    change(ground, {"TASK-GRAPH.md": plan.replace("good.json", "bad.json")}, branch="pr")
    said = gate(ground, "--json")
    assert said.code == 1, said.out
    (selected,) = said.json["selected"]
    assert selected["contracts"] == ["TC-003", "contract:schema"]
    assert [one["contract"] for one in said.json["ran"] if one["failed"]] == ["contract:schema"]


def a_slow_test(seconds):
    return f"import time\n\n\ndef test_slow():\n    time.sleep({seconds})\n"


def test_a_kill_leaves_nothing_behind(ground):
    a_shop(ground, {**FILES, "tests/test_slow.py": a_slow_test(60)})
    change(ground, {"tests/test_slow.py": a_slow_test(61)}, branch="pr")
    before = state(ground)
    process = subprocess.Popen(
        [sys.executable, "-m", "runner", "gate", "--trust"],
        cwd=ground.folder,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    process.kill()
    process.communicate()
    assert state(ground) == before
    assert gate(ground, "--head", "main").code == 0


# --- which tests there are ------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "selected"),
    [
        ("[pytest]\n", ["docs/test_guide.py", "tests/test_price.py"]),
        ("[pytest]\ntestpaths = tests\n", ["tests/test_price.py"]),
        ("[pytest]\npython_files = check_*.py\n", ["pytest"]),
        ("[pytest]\ntestpaths = t*\n", ["pytest"]),
        ("no settings at all", ["pytest"]),
    ],
)
def test_files_of_tests_are_those_that_the_settings_let_pytest_collect(ground, settings, selected):
    a_shop(ground, {**FILES, "pytest.ini": settings, "tests/test_cart.py": "x = 1\n"})
    change(ground, {"docs/test_guide.py": a_test("price", "price(1)")}, branch="guide")
    ground.git("branch", "-f", "main", "guide")
    change(ground, {"shop/price.py": PRICE.replace("count *", "0 + count *")}, branch="pr")
    said = gate(ground, "--json", "--tests", NOTHING)
    assert [one["contracts"] for one in said.json["selected"]] == [selected]


@pytest.mark.parametrize(
    "settings",
    [
        'tool = "x"',
        'tool.pytest = "x"',
        'tool.pytest.ini_options = "x"',
        "tool.pytest.ini_options.testpaths = 5",
        "tool.pytest.ini_options.testpaths = [1]",
        f"a = {'[' * 100_000}",
        f"a{'.a' * 50_000} = 1",
    ],
    ids=["tool", "pytest", "options", "a number", "numbers", "deep", "many parts"],
)
def test_settings_of_a_wrong_type_have_everything_run(ground, settings):
    """Whoever opens a pull request writes them: what cannot be read narrows nothing."""
    files = {name: text for name, text in FILES.items() if name != "pytest.ini"}
    a_shop(ground, files)
    change(ground, {"pyproject.toml": settings + "\n"}, branch="pr")
    said = gate(ground, "--json", "--tests", NOTHING)
    assert said.code == 0, said.err
    assert [one["contracts"] for one in said.json["selected"]] == [["pytest"]]
    with Repository.open(ground.folder) as repository:
        prose = may_run_prose(repository, "", repository.resolve("pr"))
    assert prose is ("testpaths" not in settings)


def a_node_test(name):
    return (
        'const test = require("node:test");\n'
        f'const {{ {name} }} = require("../lib/{name}");\n'
        f'test("{name}", () => {{ if (!{name}()) throw new Error("no {name}"); }});\n'
    )


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_files_of_node_s_own_tests_run_alone(ground):
    names = ("left", "right")
    tests = {f"test/{name}.test.js": a_node_test(name) for name in names}
    files = {f"lib/{name}.js": f"exports.{name} = () => 1;\n" for name in names}
    a_shop(ground, {**files, **tests})
    change(ground, {"lib/left.js": "exports.left = () => 0;\n"}, branch="pr")
    said = gate(ground, "--json")
    assert said.code == 1
    assert [one["contracts"] for one in said.json["selected"]] == [["test/left.test.js"]]
    assert (said.json["count"], said.json["total"]) == (1, 2)


def test_what_else_the_command_does_says_nothing_of_the_files(ground, tmp_path):
    """Such as making a module that is not committed: what is chosen stays as narrow."""
    files = {**FILES, "shop/price.py": "from shop.made import RATE\n" + PRICE.partition("\n")[2]}
    a_shop(ground, files)
    words = ("--tests", "echo RATE = 10 > shop/made.py; python -m pytest -q")
    kept = str(tmp_path / "map.json")
    assert "covers 3 test files" in gate(ground, "--record", "--map", kept, *words).err
    change(ground, {"shop/other.py": "def other():\n    return 0\n"}, branch="pr")
    said = gate(ground, "--json", "--map", kept, *words)
    assert said.code == 1
    assert [one["contracts"] for one in said.json["selected"]] == [["tests/test_other.py"]]
    assert said.json["ran"][0]["failing"] == ["tests/test_other.py::test_other"]


def test_a_test_that_fails_without_the_others_is_no_break(ground):
    first = "import shop.other\n\n\ndef test_first():\n    shop.other.ready = True\n"
    needs = 'assert getattr(shop.other, "ready", None)'
    hangs = f"import shop.cart\nimport shop.other\n\n\ndef test_cart():\n    {needs}\n"
    a_shop(ground, {**FILES, "tests/test_a.py": first, "tests/test_cart.py": hangs})
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 + sum(")}, branch="pr")
    said = gate(ground, "--json")
    assert said.code == 0, said.out
    assert "also fail on the base without the other tests" in said.json["whole"]


def test_a_test_that_passes_alone_only_under_a_maps_instruments_is_no_break(ground, tmp_path):
    """As one does that asks whether it is traced, or ran behind another."""
    asks = "import os, sys\nfrom shop.cart import total\n\n\ndef test_cart():\n"
    asks += "    assert total([1]) == 10\n"
    asks += "    assert {'PYTEST_LAST', 'RUNNER_COVER_OUT'} & {*os.environ}\n"
    first = "import os, shop.other\n\n\ndef test_first():\n    os.environ['PYTEST_LAST'] = '1'\n"
    a_shop(ground, {**FILES, "tests/test_a.py": first, "tests/test_cart.py": asks})
    file = tmp_path / "map.json"
    change(ground, {"shop/cart.py": CART.replace("sum(", "0 + sum(")}, branch="pr")
    ground.git("switch", "-q", "main")
    assert gate(ground, "--record", "--map", str(file)).code == 0
    assert "tests/test_cart.py" in json.loads(file.read_text())["files"]
    ground.git("switch", "-q", "pr")
    said = gate(ground, "--json", "--map", str(file))
    assert said.code == 0, said.out
    assert "also fail on the base without the other tests" in said.json["whole"]
