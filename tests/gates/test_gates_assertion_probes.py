"""Assertions of JavaScript and Go that never ran are told by a run with probes in the tests."""

import shutil
from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.config.settings import Settings
from runner.gates import assertion_probes
from runner.languages.go.probes import put_probes as put_in_go
from runner.languages.javascript.probes import put_probes as put_in_script
from runner.model import Action, Change, Level, TestContract, digest_of

SCRIPT = "test/shop.test.mjs"
GO = "shop_test.go"
HEAD = "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
GO_HEAD = 'package shop\n\nimport "testing"\n\nfunc Price(n int) int { return n + 1 }\n\n'
NODE = "node --test test/"
SILENT = {
    "a callback that is never called": (
        "test('a', () => {\n  const each = (told) => told;\n  each((n) => {\n"
        "    assert.equal(n, 1);\n  });\n});\n"
    ),
    "a promise that nobody waits for": (
        "test('a', () => {\n  new Promise(() => {}).then((n) => assert.equal(n, 1));\n});\n"
    ),
    "a loop over nothing": (
        "test('a', () => {\n  for (const n of [1, 2].filter((n) => n > 9)) {\n"
        "    assert.equal(n, 1);\n  }\n});\n"
    ),
    "an early return": (
        "test('a', () => {\n  const n = 2\n  if (n > 1) return\n  assert.equal(n, 1)\n})\n"
    ),
    "an error that is not thrown": (
        "test('a', () => {\n  try {\n    String(1);\n  } catch (error) {\n"
        "    assert.equal(error.message, 'x');\n  }\n});\n"
    ),
}
FINE = {
    "it ran": "test('a', () => {\n  const n = 1\n  assert.equal(n, 1)\n})\n",
    "a place that is not to be reached": (
        "test('a', () => {\n  try {\n    JSON.parse('{');\n    assert.fail('must throw');\n"
        "  } catch (error) {\n    assert.ok(error instanceof SyntaxError);\n  }\n});\n"
    ),
    "another machine": (
        "test('a', () => {\n  if (process.platform === 'win32') {\n    assert.equal(1, 1 + 0);\n"
        "  }\n});\n"
    ),
    "a branch beside others that ran": (
        "test('a', () => {\n  for (const n of [1, 2]) {\n    if (n > 5) assert.equal(n, 6);\n"
        "    else assert.ok(n < 5);\n  }\n});\n"
    ),
    "marked as skipped": (
        "test('a', { skip: true }, () => {\n  const n = 2; assert.equal(n, 1);\n});\n"
    ),
    "a helper that gives it back": (
        "const same = (n, m) => assert.equal(n, m)\n"
        "test('a', async () => {\n"
        "  await assert.rejects(Promise.reject(new Error('x')), (error) => {\n"
        "    same(error.message, 'x')\n    return true\n  })\n})\n"
    ),
}
GO_SILENT = {
    "a loop over nothing": (
        "for _, n := range []int{} {\n\t\tif Price(n) != n {\n\t\t\tt.Error(n)\n\t\t}\n\t}"
    ),
    "an early return": (
        "if Price(1) == 2 {\n\t\treturn\n\t}\n\tif Price(1) != 1 {\n\t\tt.Fatal(1)\n\t}"
    ),
    "a function that nobody calls": (
        'check := func(n int) {\n\t\tif got := Price(n); got != n {\n\t\t\tt.Errorf("%d", got)\n'
        "\t\t}\n\t}\n\t_ = check"
    ),
    "a branch that did not happen": (
        "if n := Price(1); n > 5 {\n\t\tif n != 1 {\n\t\t\tt.Error(n)\n\t\t}\n\t}"
    ),
}
GO_FINE = {
    "it ran": 'if got := Price(1); got != 2 {\n\t\tt.Errorf("%d", got)\n\t}',
    "an error that did not come": (
        "for _, c := range []struct{ n, want int }{{1, 2}, {2, 3}} {\n"
        '\t\tt.Run("x", func(t *testing.T) {\n\t\t\tvar err error\n\t\t\tif err != nil {\n'
        "\t\t\t\tif c.n > 5 {\n\t\t\t\t\tt.Fatal(err)\n\t\t\t\t}\n\t\t\t\treturn\n\t\t\t}\n"
        "\t\t\tif got := Price(c.n); got != c.want {\n\t\t\t\tt.Error(got)\n\t\t\t}\n\t\t})\n\t}"
    ),
    "a switch": "switch Price(1) {\n\tcase 2:\n\tdefault:\n\t\tt.Fatal(1)\n\t}",
}


def look(folder, path, text, command, *, before=None, **more):
    """What is found in a test file by a contract."""
    content = text.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    contract = TestContract(id="TC-001", level=Level.UNIT, command=command, line=1)
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",), test_contracts=(contract,)),
        changes=(change,),
        before=lambda _path: before,
        **more,
    )
    file = bench.place.tree / path
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    (check,) = assertion_probes.checks(bench.task, bench.settings)
    found = assertion_probes.prove(check, bench).findings
    assert file.read_bytes() == content
    return found


def in_go(folder, body, **more):
    shutil.rmtree(folder / "tree", ignore_errors=True)
    (folder / "tree").mkdir()
    (folder / "tree" / "go.mod").write_text("module example.org/shop\n\ngo 1.19\n")
    text = f"{GO_HEAD}func TestA(t *testing.T) {{\n\t{body}\n}}\n"
    return look(folder, GO, text, "go test ./...", **more)


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_an_assertion_of_a_script_that_never_ran_is_a_question(tmp_path, text):
    (finding,) = look(tmp_path, SCRIPT, HEAD + text, NODE)
    assert finding.asks
    assert "assert.equal" in (HEAD + text).splitlines()[finding.line - 1]
    assert "of `a` never ran: no test contract comes to it" in finding.message


@pytest.mark.parametrize("text", FINE.values(), ids=FINE)
def test_scripts_whose_assertions_ran_are_fine(tmp_path, text):
    assert look(tmp_path, SCRIPT, HEAD + text, NODE) == ()


@pytest.mark.parametrize("body", GO_SILENT.values(), ids=GO_SILENT)
def test_a_check_of_go_that_never_ran_is_a_question(tmp_path, body):
    (finding,) = in_go(tmp_path, body)
    assert finding.asks
    assert "of `TestA` never ran" in finding.message


@pytest.mark.parametrize("body", GO_FINE.values(), ids=GO_FINE)
def test_checks_of_go_that_ran_are_fine(tmp_path, body):
    assert in_go(tmp_path, body) == ()


def test_what_fails_with_probes_in_it_says_nothing(tmp_path):
    text = (
        HEAD
        + SILENT["an early return"]
        + (
            "import { readFileSync } from 'node:fs';\nconst own = new URL(import.meta.url);\n"
            "test('b', () => assert.ok("
            "!readFileSync(own, 'utf8').includes('runner' + '_probe')));\n"
        )
    )
    assert look(tmp_path, SCRIPT, text, NODE) == ()


def test_what_was_there_before_and_what_a_person_wrote_is_left_alone(tmp_path):
    text = HEAD + SILENT["an early return"]
    assert look(tmp_path, SCRIPT, text, NODE, before=text.encode()) == ()
    assert look(tmp_path, SCRIPT, text, NODE, by_person=True) == ()


def test_a_contract_that_selects_tests_says_nothing(tmp_path):
    text = HEAD + SILENT["an early return"]
    assert look(tmp_path, SCRIPT, text, "node --test --test-name-pattern=a test/") == ()


def test_a_file_that_no_contract_loads_says_nothing(tmp_path):
    (tmp_path / "tree" / "other").mkdir(parents=True)
    (tmp_path / "tree" / "other" / "b.test.mjs").write_text(HEAD + FINE["it ran"])
    text = HEAD + SILENT["an early return"]
    assert look(tmp_path, SCRIPT, text, "node --test other/") == ()


def test_probes_leave_statements_without_semicolons_and_chains_as_they_are():
    text = "const a = 1\nexpect(a).to.equal(1)\nexpect.soft(a)\n  .toBe(1)\nt.is(a, 1)\n"
    probed = put_in_script("a.test.ts", text, "3")
    lines = probed.text.splitlines()
    assert lines[1] == '__runner_probe("3.0", expect)(a).to.equal(1)'
    assert lines[2] == '__runner_probe("3.1", expect).soft(a)'
    assert lines[4] == '__runner_probe("3.2", t).is(a, 1)'
    assert [one.line for one in probed.probes] == [2, 3, 5]


def test_what_stands_below_no_condition_in_go_is_not_to_be_reached():
    text = 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {\n\tt.Fatal("never")\n}\n'
    assert put_in_go("a_test.go", text, "1") is None


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
def test_what_only_a_benchmark_claims_is_left_alone(tmp_path):
    """It runs where `-bench` asks for it, and no test contract does."""
    test = "func TestA(t *testing.T) {\n\tif Price(1) != 2 {\n\t\tt.Error(1)\n\t}\n}\n\n"
    slow = (
        'func BenchmarkA(b *testing.B) {\n\tb.Run("a", func(b *testing.B) {\n'
        "\t\tfor i := 0; i < b.N; i++ {\n\t\t\tPrice(1)\n\t\t}\n"
        "\t\tif n := Price(1); n != 2 {\n\t\t\tb.Fatal(n)\n\t\t}\n\t})\n}\n"
    )
    (tmp_path / "tree").mkdir(exist_ok=True)
    (tmp_path / "tree" / "go.mod").write_text("module example.org/shop\n\ngo 1.19\n")
    found = look(
        tmp_path, GO, GO_HEAD + test + slow, "go test .", settings=Settings(mutation="strict")
    )
    assert found == ()
