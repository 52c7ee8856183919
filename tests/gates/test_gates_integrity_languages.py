"""Frozen tests of JavaScript, Go and Rust, and configuration through which tests are left out."""

import re
import time

import pytest
from gates_bench import a_task
from gates_trees import changes_between

from runner.gates.integrity import compare_tests

SCRIPT = """
import { it, describe, expect } from 'vitest'
describe('sums', () => {
  it('adds', () => {
    expect(add(1, 2)).toBe(3)
    expect(add(0, 0)).toEqual(0) // it('x')
  })
  it.each([[1, 2], [3, 4]])('twice %s', (a, b) => {
    expect(twice(a))
      .toBe(b)
  })
})
"""

GO = """package shop

import "testing"

func TestPrice(t *testing.T) {
	for _, c := range []struct{ in, out int }{
		{1, 2},
		{2, 4},
	} {
		if got := Price(c.in); got != c.out {
			t.Errorf("got %d", got)
		}
	}
}

func TestTotal(t *testing.T) {
	assert.Equal(t, 3, Total())
}
"""

RUST = """
#[cfg(test)]
mod tests {
    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert!(add(0, 0) == 0, "zero }");
    }

    #[test]
    fn refuses() {
        assert!(parse("x").is_err());
    }
}
"""

PATHS = {"js": "src/sum.test.ts", "go": "shop/shop_test.go", "rs": "tests/shop.rs"}
TEXTS = {"js": SCRIPT, "go": GO, "rs": RUST}


def refused(path, old, new):
    before = {} if old is None else {path: old}
    found = compare_tests.findings(
        changes_between(before, {} if new is None else {path: new}),
        lambda one: before[one].encode() if one in before else None,
        a_task(outputs=("any",)),
        reviewed=False,
        must_assert=True,
    )
    return [one.message for one in found if one.refuses]


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("js", "it('adds'", "it.skip('adds'"),
        ("js", "it('adds'", "xit('adds'"),
        ("js", "it('adds'", "it.only('adds'"),
        ("js", "it('adds'", "it.todo('adds'"),
        ("js", "it('adds', () =>", "it('adds', { skip: true }, () =>"),
        ("js", "describe('sums'", "describe.skip('sums'"),
        ("js", "describe('sums'", "describe.only('sums'"),
        ("js", "it('adds'", "other('adds'"),
        ("js", "    expect(add(1, 2)).toBe(3)\n", ""),
        ("js", "expect(add(1, 2)).toBe(3)", "expect(add(1, 2)).toBeDefined()"),
        ("js", "expect(add(1, 2)).toBe(3)", "expect(add(1, 2)).toBeGreaterThan(0)"),
        ("js", "expect(add(1, 2)).toBe(3)", "expect(true).toBe(true)"),
        ("js", "expect(add(1, 2)).toBe(3)", "// expect(add(1, 2)).toBe(3)"),
        ("js", "    expect(add(1, 2)).toBe(3)", "    return\n    expect(add(1, 2)).toBe(3)"),
        (
            "js",
            "expect(add(1, 2)).toBe(3)",
            "try { expect(add(1, 2)).toBe(3) } catch (e) { log(e) }",
        ),
        ("js", "[[1, 2], [3, 4]]", "[[1, 2]]"),
        ("js", "    expect(twice(a))\n      .toBe(b)\n", "    expect(twice(a))\n"),
        ("go", "func TestTotal", "func testTotal"),
        ("go", "	assert.Equal", "	t.Skip()\n	assert.Equal"),
        ("go", "		{2, 4},\n", ""),
        ("go", '			t.Errorf("got %d", got)\n', ""),
        ("go", "	assert.Equal(t, 3, Total())", "	assert.NotNil(t, Total())"),
        ("go", "package shop", "//go:build never\n\npackage shop"),
        ("rs", "    #[test]\n    fn adds", "    fn adds"),
        ("rs", "#[test]\n    fn refuses", "#[test]\n    #[ignore]\n    fn refuses"),
        ("rs", "#[test]\n    fn refuses", "#[test]\n    #[should_panic]\n    fn refuses"),
        ("rs", "        assert_eq!(add(1, 2), 3);\n", ""),
        ("rs", "assert_eq!(add(1, 2), 3)", "assert!(add(1, 2) > 0)"),
        ("rs", "assert_eq!(add(1, 2), 3)", "assert!(true)"),
    ],
)
def test_what_claims_less_than_before_is_refused(language, old, new):
    text = TEXTS[language]
    assert old in text
    assert refused(PATHS[language], text, text.replace(old, new, 1))


SETS_UP = """package shop

func TestPrice(t *testing.T) {
	if err := os.Setenv("RATE", "2"); err != nil {
		t.Fatal("no rate: " + err.Error())
	}
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	if got := Price(3); got != 6 {
		t.Errorf("got %d", got)
	}
}
"""


@pytest.mark.parametrize(
    ("first", "until", "new", "count"),
    [
        ("\tif err := os.Setenv", "\tdir, err", '\tt.Setenv("RATE", "2")\n', 0),
        ("\tdir, err", "\tif err := Write", "\tdir := t.TempDir()\n", 0),
        ("\tif err := Write", "\tif got", "\t_ = Write(dir)\n", 1),
        ("\tif got", r"}\n\Z", "\tPrice(3)\n", 1),
    ],
)
def test_what_prepares_a_test_in_go_is_no_assertion(first, until, new, count):
    end = re.search(until, SETS_UP).start()
    text = SETS_UP[: SETS_UP.index(first)] + new + SETS_UP[end:]
    assert len(refused("shop/shop_test.go", SETS_UP, text)) == count


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("js", "it('adds'", "it('adds numbers'"),
        (
            "js",
            "  it('adds'",
            "  // more\n  it('more', () => { expect(f()).toBe(1) })\n  it('adds'",
        ),
        ("js", "[3, 4]]", "[3, 4], [5, 6]]"),
        ("js", "// it('x')", "/* describe.skip('x') */"),
        ("go", "func TestTotal", "func TestTotals"),
        ("go", "		{2, 4},\n", "		{2, 4},\n		{3, 6},\n"),
        ("rs", "fn adds", "fn adds_numbers"),
    ],
)
def test_what_claims_as_much_is_fine(language, old, new):
    text = TEXTS[language]
    assert old in text
    assert refused(PATHS[language], text, text.replace(old, new, 1)) == []


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_deleting_a_file_of_tests_is_refused(language):
    messages = refused(PATHS[language], TEXTS[language], None)
    assert len(messages) == 2
    assert all("is gone" in message for message in messages)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", "it('x', () => { f() })"),
        ("a.test.js", "it('x', () => { expect(true).toBe(true) })"),
        ("a_test.go", "package a\nfunc TestA(t *testing.T) { f() }\n"),
        ("tests/a.rs", "#[test]\nfn a() { assert!(true); }\n"),
    ],
)
def test_a_new_test_that_can_never_fail_is_refused(path, text):
    assert refused(path, None, text)


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_new_tests_that_assert_are_fine(language):
    assert refused(PATHS[language], None, TEXTS[language]) == []


def test_what_is_handed_the_test_may_assert_for_it():
    """In Go it can stand in another file, under any name."""
    text = "package a\nfunc TestA(t *testing.T) { rows{{f(1), 2}}.validate(t) }\n"
    assert refused("a_test.go", None, text) == []
    assert refused("a_test.go", None, text.replace("validate(t)", "validate(2)"))


# --- configuration --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k 'not slow'\n"),
        ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = --ignore=tests/test_a.py\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\n",
            "[tool.pytest.ini_options]\naddopts = '--deselect tests/a.py'\n",
        ),
        ("setup.cfg", "[tool:pytest]\n", "[tool:pytest]\nnorecursedirs = tests\n"),
        (
            "vitest.config.ts",
            "export default {}\n",
            "export default {\n  exclude: ['a.test.ts']\n}\n",
        ),
        (
            "package.json",
            '{"scripts": {\n"test": "vitest"\n}}',
            '{"scripts": {\n"test": "vitest || true"\n}}',
        ),
        (
            "package.json",
            '{"scripts": {\n"test": "jest"\n}}',
            '{"scripts": {\n"test": "jest --passWithNoTests"\n}}',
        ),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\t-pytest\n"),
        ("Makefile", "test:\n\tpytest\n", ".IGNORE:\ntest:\n\tpytest\n"),
        ("Makefile", "test:\n\tpytest -q\n", "test:\n\tpytest -q -k fast\n"),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test -run TestA ./...\n"),
        ("Makefile", "test:\n\tgo test ./...\n", "test:\n\tgo test ./... | tee $@.log\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tset +e; pytest; rm -f $$tmp; true\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest; \\\n\texit 0\n"),
        ("run.sh", "set -e\npytest\necho ok\n", "set -e\nset +e\npytest\necho ok\n"),
        ("ci/run.sh", "npx jest\n", "npx jest\nexit 0\n"),
        ("ci/run.sh", "npx jest\n", "npx jest -t 'a price'\n"),
        (
            "package.json",
            '{"scripts": {"test": "vitest run"}}',
            '{"scripts": {"test": "vitest run -t price"}}',
        ),
        (
            "package.json",
            '{"scripts": {"test": "node --test"}}',
            '{"scripts": {"test": "node --test --test-name-pattern=a"}}',
        ),
        (
            "package.json",
            '{"scripts": {"test": "mocha test"}}',
            '{"scripts": {"test": "mocha test/a.js"}}',
        ),
        (
            "package.json",
            '{"jest": {"preset": "ts-jest"}}',
            '{"jest": {"preset": "ts-jest", "testPathIgnorePatterns": ["b.test"]}}',
        ),
        ("package.json", '{"mocha": {"spec": "test"}}', '{"mocha": {"spec": "test/a.js"}}'),
        ("tox.ini", "[testenv]\ncommands =\n  pytest\n", "[testenv]\ncommands =\n  pytest -k a\n"),
        ("tox.ini", "[testenv]\ncommands = pytest\n", "[testenv]\ncommands = - pytest\n"),
        ("tox.ini", "[testenv]\ncommands =\n  pytest\n", "[testenv]\ncommands =\n  -pytest\n"),
        (
            "tox.ini",
            "[testenv]\ncommands = pytest\n",
            "[testenv]\ncommands = pytest\nignore_outcome = true\n",
        ),
        ("setup.cfg", "[tox:testenv]\ncommands = pytest\n", "[tox:testenv]\ncommands = - pytest\n"),
        ("tox.toml", "commands = [['pytest']]\n", "commands = [['-', 'pytest']]\n"),
        ("tox.toml", "commands = [['pytest']]\n", "commands = [['pytest', '-k', 'a']]\n"),
        ("tox.toml", "[env.a]\n", "[env.a]\nignore_outcome = true\n"),
        (
            "pyproject.toml",
            "[tool.tox.env_run_base]\ncommands = [['pytest'], ['rm', 'x']]\n",
            "[tool.tox.env_run_base]\ncommands = [['-', 'pytest'], ['rm', 'x']]\n",
        ),
        (
            "pyproject.toml",
            "[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ncommands =\n  pytest\n'''\n",
            "[tool.tox]\nlegacy_tox_ini = '''\n[testenv]\ncommands =\n  - pytest\n'''\n",
        ),
        (
            "pyproject.toml",
            "[tool.hatch.envs.test.scripts]\nrun = ['pytest']\n",
            "[tool.hatch.envs.test.scripts]\nrun = ['- pytest']\n",
        ),
        (
            "pyproject.toml",
            "[tool.pdm.scripts]\ntest = {shell = 'pytest'}\n",
            "[tool.pdm.scripts]\ntest = {shell = 'pytest || true'}\n",
        ),
        (
            "pyproject.toml",
            "[tool.poe.tasks.test]\ncmd = 'pytest'\n",
            "[tool.poe.tasks.test]\ncmd = 'pytest'\nignore_fail = true\n",
        ),
        ("justfile", "test:\n    pytest\n", "test:\n    -pytest\n"),
        (
            "Taskfile.yml",
            "tasks:\n  test:\n    cmds: [pytest]\n",
            "tasks:\n  test:\n    cmds: [pytest]\n    ignore_error: true\n",
        ),
        (
            "noxfile.py",
            "def tests(session):\n    session.run('pytest')\n",
            "def tests(session):\n    session.run('pytest', success_codes=[0, 1])\n",
        ),
        ("Makefile", "test: ; pytest\n", "test: ; -pytest\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\t @ - pytest\n"),
        ("Makefile", "test:\n\tpytest\n", "MAKEFLAGS = i\ntest:\n\tpytest\n"),
        ("Makefile", "test:\n\tpytest\n", "export MAKEFLAGS += -ri\ntest:\n\tpytest\n"),
        ("Makefile", "test:\n\n\tpytest\n", "test:\n\n\tpytest || true\n"),
        ("run.sh", "make test\n", "make -i test\n"),
        (
            "package.json",
            '{"scripts": {"fmt": "prettier . || true", "test": "jest"}}',
            '{"scripts": {"fmt": "prettier . || true", "test": "jest || true"}}',
        ),
        ("pytest.ini", "[pytest]\naddopts = -q\n", "[pytest]\naddopts = -q -k fast\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = ['-q']\n",
            "[tool.pytest.ini_options]\naddopts = ['-q', '-m', 'fast']\n",
        ),
        ("conftest.py", "", "collect_ignore = ['test_a.py']\n"),
        (
            "conftest.py",
            "",
            "def pytest_collection_modifyitems(items):\n    items[:] = items[:1]\n",
        ),
        ("conftest.py", "", "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"),
        ("conftest.py", None, "import os\ndef pytest_unconfigure():\n    os._exit(0)\n"),
        (
            "tests/conftest.py",
            "",
            "def pytest_runtest_makereport(item, call):\n    report.outcome = 'passed'\n",
        ),
        ("tests/test_a.py", "", "import sys\nsys.exit(0)\n"),
        ("conftest.py", "", "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n"),
        ("tests/test_a.py", "", "import pytest\npytest.raises = quiet\n"),
        ("conftest.py", "", "import unittest\nsetattr(unittest.TestCase, name, quiet)\n"),
        ("conftest.py", None, "import shop\nshop.price = lambda: 3\n"),
        ("conftest.py", "", "import shop\nshop._prices['a'] = 3\n"),
        ("conftest.py", "", "from shop import stock\nstock._known.update(a=3)\n"),
        ("tests/conftest.py", "", "import shop\nshop.stock._limit = 0\n"),
        ("export_test.go", None, "package shop\n\nfunc init() {\n\tdividers['.'] = true\n}\n"),
        (
            "tests/test_a.py",
            "",
            "from shop import prices\ndef price(x):\n    return 3\nprices.of = price\n",
        ),
        ("tests/test_a.py", "", "import shop\nsetattr(shop, 'price', lambda: 3)\n"),
    ],
)
def test_leaving_tests_out_by_configuration_is_refused(path, old, new):
    assert refused(path, old, new)
    assert refused(path, new, new + "\n") == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q --strict-markers --cov=shop'\n",
        ),
        ("conftest.py", "import pytest\n@pytest.fixture\ndef shop():\n    return 1\n"),
        ("tests/test_a.py", "from shop import app\napp.testing = True\napp.name = NAME\n"),
        ("conftest.py", "import shop\nshop.prices.update(a=3)\nos._seen = 1\n"),
        (
            "shop_test.go",
            "package shop\n\nvar cases []int\n\nfunc init() {\n\tcases = append(cases, 1)\n}\n",
        ),
        ("conftest.py", "import json\ndef dump(x):\n    return x\njson.dump = dump\n"),
        ("Makefile", "test:\n\t@pytest -q\n"),
        ("Makefile", "MAKEFLAGS += --no-builtin-rules -j4 --silent\n"),
        ("package.json", '{"scripts": {\n"test": "vitest run"\n}}'),
        ("tox.ini", "[testenv]\nignore_errors = true\ncommands =\n  - rm -rf dist\n  pytest\n"),
        ("tox.toml", "commands = [['-', 'rm', '-rf', 'dist'], ['pytest']]\n"),
        ("pyproject.toml", "[tool.poe.tasks]\nclean = '- rm -rf dist'\ntest = 'pytest'\n"),
        ("Taskfile.yml", "tasks:\n  test:\n    cmds:\n    - pytest\n    ignore_error: false\n"),
        ("noxfile.py", "def tests(session):\n    session.run('pytest', success_codes=[0])\n"),
        ("justfile", "clean:\n    -rm -rf dist\ntest:\n    pytest\n"),
        ("run.sh", "cat > ci.yml <<-END\n\t- pytest\n\tEND\npytest\n"),
        (
            "conftest.py",
            "def pytest_configure(config):\n    config.addinivalue_line('markers', 'slow')\n",
        ),
        (
            "tox.ini",
            "[testenv:style]\ncommands = pycodestyle --ignore=E128,E501,W605 src test.py\n",
        ),
    ],
)
def test_ordinary_configuration_is_fine(path, text):
    assert refused(path, "", text) == []


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("Makefile", "test:\n\tpytest -k a\n", "test:\n\tpytest\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest -q && ruff check $(DIRS)\n"),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest\nfast:\n\tpytest -k fast\n"),
        ("run.sh", "pytest\n", "set -euo pipefail\npytest | tee log\n"),
        ("run.sh", "pytest\n", "trap 'rm -f x || true' EXIT\npytest\n"),
        (
            "package.json",
            '{"scripts": {"test": "jest"}}',
            '{"scripts": {"test": "jest --ci", "w": "jest --watch"}, "jest": {"silent": true}}',
        ),
        ("tox.ini", "[testenv]\ncommands = pytest -k a\n", "[testenv]\ncommands = pytest\n"),
        (
            "tox.ini",
            "[testenv]\ncommands =\n  - pytest\n",
            "[testenv]\ncommands =\n  ruff check\n  - pytest\n",
        ),
        ("Makefile", "all:\n\tpytest || true\n", "all:\n\tpytest -q || true\n"),
        ("pytest.ini", "[pytest]\naddopts = -q -k fast\n", "[pytest]\naddopts = -q\n"),
    ],
)
def test_running_more_or_in_another_way_is_fine(path, old, new):
    assert refused(path, old, new) == []


def test_a_makefile_of_very_many_rules_is_read_in_its_own_time():
    began = time.monotonic()
    assert refused("Makefile", None, "a:\n" * 50_000) == []
    assert time.monotonic() - began < 30


def test_that_cleaning_up_may_fail_is_nobodys_loss():
    assert refused("Makefile", None, "clean:\n\trm app.log || true\n\t-rm -rf dist\n") == []
    report = "[testenv:report]\ncommands_pre =\n    - coverage combine\n"
    report += "commands =\n    coverage report\n"
    assert refused("tox.ini", None, report) == []
    swallowed = report.replace("- coverage combine", "- coverage run -m pytest")
    assert refused("tox.ini", None, swallowed)
    named = "clean:\n\t-rm -rf $(BUILDDIR)/*\n\t-@mkdir -p build\n\trm -rf build || true\n"
    assert refused("Makefile", None, named) == []
    assert refused("Makefile", None, "test:\n\t-rm -f x; pytest\n")


def test_a_forked_child_may_end_as_it_likes():
    text = "import os\ndef test_a():\n    if not os.fork(): os._exit(0)\n    assert f()\n"
    assert refused("tests/test_a.py", None, text) == []


@pytest.mark.parametrize(
    ("path", "text", "silent"),
    [
        ("a.test.js", "test('a', (t) => { t.equal(f(1), 2); t.end(); });", False),
        ("a.test.js", "test('a', function (t) { t.same(f(1), 2); });", False),
        ("a.test.js", "test('a', async t => { t.is(await f(1), 2); });", False),
        ("a.test.js", "test('a', { skip: false }, (t) => { t.assert.equal(f(1), 2); });", False),
        ("a.test.js", "test('a', (t) => { f(1); t.pass(); t.end(); });", True),
        ("a.test.js", "test('a', (done) => { f(1); done(); });", True),
        ("a.test.js", "test('a', () => { list.map((x) => x.equal(1)); });", True),
        ("a.test.js", "const a = require('assert');\nit('x', () => a.equal(f(), 1));", False),
        (
            "a.test.js",
            "var { equal: same } = require('node:assert');\nit('x', () => same(f(), 1));",
            False,
        ),
        (
            "a.test.mjs",
            "import { strict as t } from 'assert';\nit('x', () => { t.ok(f()); });",
            False,
        ),
        (
            "a.test.mjs",
            "import * as is from 'uvu/assert';\ntest('x', () => { is.ok(f()); });",
            False,
        ),
        ("a.test.js", "const a = require('./maths');\nit('x', () => a.equal(f(), 1));", True),
        ("a.test.js", "const a = require('assert');\nit('x', () => { b.a(f()); });", True),
        ("a_test.go", "package a\n\nfunc ExampleF() {\n\tprint(F())\n\t// Output: 2\n}\n", False),
        ("a_test.go", "package a\n\nfunc ExampleF() {\n\tprint(F())\n\t// no output\n}\n", True),
    ],
)
def test_a_new_test_that_asserts_by_what_it_was_given_is_no_silent_one(path, text, silent):
    """Tape, tap, ava and node:test give a test what asserts; an example of Go says its output."""
    found = compare_tests.findings(
        changes_between({}, {path: text}),
        lambda _path: None,
        a_task(outputs=("any",)),
        reviewed=False,
        must_assert=False,
    )
    assert any("asserts nothing" in one.message for one in found) is silent
