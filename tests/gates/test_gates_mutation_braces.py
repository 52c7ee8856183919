"""Mutants of JavaScript, TypeScript, Go and Rust: made by tokens, noticed or not by real tests."""

import shutil
from dataclasses import replace

import pytest
from coverage_bench import Yard

from runner.gates import coverage_gate, mutation
from runner.gates.base import Check
from runner.gates.contract_tests import prove as prove_test
from runner.gates.mutation import run_mutants, survivors
from runner.gates.mutation.brace_functions import functions
from runner.gates.mutation.languages import mutants_of
from runner.process.limits import Limits

JS = """\
export function discounted(price, percent) {
  if (percent > 50) {
    percent = 50;
  }
  return price - price * percent / 100;
}

export const halved = (price) => price / 2 + 0;
"""
NODE_TEST = """\
import test from 'node:test';
import assert from 'node:assert';
import {{ discounted, halved }} from './shop.mjs';

test('it', () => {{
  {body}
}});
"""
GO = """\
package shop

func Discounted(price, percent int) int {
	if percent > 50 {
		percent = 50
	}
	return price - price*percent/100 + 0
}
"""
GO_TEST = """\
package shop

import "testing"

func TestIt(t *testing.T) {{
	{body}
}}
"""


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """How much is tried must not hang on how busy this machine is."""
    monkeypatch.setattr(survivors, "_LEAST_SECONDS", 240.0)
    monkeypatch.setattr(run_mutants, "_LEAST_PATIENCE", 60.0)


@pytest.fixture
def yard(tmp_path):
    return Yard(tmp_path)


def unnoticed(yard, line):
    yard.set_up(line, coverage=0)
    bench = replace(yard.bench, tree="1" * 40)
    (contract,) = bench.task.test_contracts
    first = prove_test(Check(contract.id, "test", contract.command, Limits(90, 90, 90)), bench)
    assert not any(one.refuses for one in first.findings), first.findings
    (check,) = coverage_gate.checks(bench.task, bench.settings)
    bench = replace(bench, proofs=(first.proof,))
    bench = replace(bench, observed=coverage_gate.prove(check, bench).observed)
    (check,) = mutation.checks(bench.task, bench.settings)
    found = mutation.prove(check, bench)
    assert dict(found.proof.counts)["mutants"] >= 1
    told = [one.message for one in found.findings if one.message.startswith("no test notices")]
    return sorted(message.split()[4] for message in told)


def test_node_tests_that_only_call_notice_nothing(yard):
    body = "assert.ok(discounted(200, 80) === discounted(200, 80)); halved(2);"
    yard.write("shop.mjs", JS).write("shop.test.mjs", NODE_TEST.format(body=body))
    assert unnoticed(yard, "node --test shop.test.mjs") == ["discounted", "halved"]


def test_node_tests_that_say_what_comes_out_notice(yard):
    body = "assert.equal(discounted(200, 80), 100); assert.equal(halved(8), 4);"
    yard.write("shop.mjs", JS).write("shop.test.mjs", NODE_TEST.format(body=body))
    assert unnoticed(yard, "node --test shop.test.mjs") == []


TRANSLATED = """\
const fs = require('fs'), vm = require('vm'), path = require('path');
const file = path.resolve('shop.js');
const text = `(function (exports) { let made = 1;\\n${fs.readFileSync(file)}})`;
const shop = {};
new vm.Script(text, { filename: file }).runInThisContext()(shop);
"""


@pytest.mark.skipif(not shutil.which("node"), reason="Node is not installed")
@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("if (typeof shop.discounted(200, 80) !== 'number') throw new Error();", ["discounted"]),
        ("require('assert').equal(shop.discounted(200, 80), 100);", []),
    ],
    ids=["hollow", "honest"],
)
def test_code_that_a_tool_translates_has_mutants_too(yard, claim, expected):
    product = JS.partition("export const halved")[0].replace("export ", "")
    yard.write("shop.js", f"{product}\nexports.discounted = discounted;\n")
    yard.stands("check.cjs", TRANSLATED + claim)
    assert unnoticed(yard, "node check.cjs") == expected


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('if Discounted(200, 80) != 100 { t.Fatal("wrong") }', []),
        ("if Discounted(200, 80) != Discounted(200, 80) { t.Fatal() }", ["Discounted"]),
    ],
)
def test_go_tests_notice_or_not(yard, body, expected):
    yard.stands("go.mod", "module shop\n\ngo 1.18\n")
    yard.write("shop.go", GO).write("shop_test.go", GO_TEST.format(body=body))
    assert unnoticed(yard, "go test ./...") == expected


def made(path, text):
    """The changed line of each mutant, by its kind."""
    content = text.encode()
    lines = frozenset(range(1, text.count("\n") + 2))
    return {
        (one.function, one.kind, one.apply_to(content).decode().split("\n")[one.line - 1].strip())
        for one in mutants_of(path, content, lines, lines)
    }


def test_strings_comments_generics_and_arrows_stay():
    text = """\
export class Box<T> {
  read(a: Map<string, number>, b: number): boolean {
    // a < b && 1 + 2
    console.log(1 + 2);
    const words = "x + y" + '1 < 2';
    return a.size > b && b !== 3;
  }
}
"""
    found = made("box.ts", text)
    assert ("read", "comparison", "return a.size >= b && b !== 3;") in found
    assert ("read", "operand", "return a.size > b || b !== 3;") in found
    assert ("read", "condition", "return a.size > b && b === 3;") in found
    assert not [one for one in found if "words" in one[2] or "console" in one[2] or "//" in one[2]]


BUMP = """\
package shop

type Box struct{ parts []int }

func (b *Box) Bump() *Box {
	made := *b
	made.parts = append([]int(nil), b.parts...)
	made.parts[1]++
	return &made
}
"""


@pytest.mark.skipif(not shutil.which("go"), reason="Go is not installed")
@pytest.mark.parametrize(
    ("claim", "expected"),
    [("", ["Box.Bump"]), ("if made.parts[1] != 3 { t.Fatal(made) }", [])],
    ids=["hollow", "honest"],
)
def test_a_go_function_that_changes_what_it_points_to_can_be_judged(yard, claim, expected):
    yard.stands("go.mod", "module shop\n\ngo 1.18\n")
    body = f"made := (&Box{{parts: []int{{1, 2}}}}).Bump(); if made == nil {{ t.Fatal() }}; {claim}"
    yard.write("shop.go", BUMP).write("shop_test.go", GO_TEST.format(body=body))
    assert unnoticed(yard, "go test ./...") == expected


def test_steps_fields_and_pointers_of_go_are_changed():
    text = BUMP.replace("made.parts[1]++", "for i := 0; i < 1; i++ {\n\t\tmade.parts[i]--\n\t}")
    found = made("box.go", text)
    assert ("Box.Bump", "arithmetic", "made.parts[i]++") in found
    assert ("Box.Bump", "assigned value", "_ = append([]int(nil), b.parts...)") in found
    result = "return func(*Box) *Box { return new(Box) }(&made)"
    assert ("Box.Bump", "returned value", result) in found
    assert not [one for one in found if "i-- {" in one[2]]  # it would not end


def test_go_results_are_changed_by_their_types():
    text = """\
package a

func (b *Box) Name(n int) (string, error) {
	if n == 0 || b == nil {
		return "", nil
	}
	return b.name, nil
}
"""
    found = made("box.go", text)
    assert ("Box.Name", "returned value", 'return "~" + (b.name), nil') in found
    assert ("Box.Name", "condition", "if !(n == 0 || b == nil) {") in found
    assert ("Box.Name", "operand", "if n == 0 && b == nil {") in found


def test_what_go_gives_beside_an_error_is_nobodys():
    text = (
        "package a\n\nfunc Parse(s string) (int, error) {\n\tn, err := read(s)\n"
        "\tif err != nil {\n\t\treturn 0, err\n\t}\n"
        '\tif n < 1 {\n\t\treturn 0, fmt.Errorf("low: %d", n)\n\t}\n\treturn n, nil\n}\n'
    )
    values = [line for _, kind, line in made("a.go", text) if kind == "returned value"]
    assert values == ["return (n)*3 + 7, nil"]
    fails = text.replace("return n, nil", "return n, err")
    assert len([1 for _, kind, _ in made("a.go", fails) if kind == "returned value"]) == 1


def test_rust_is_changed_by_its_signs():
    text = "pub fn half(n: i32) -> i32 {\n    if n > 3 && n != 7 { return n / 2; }\n    n + 1\n}\n"
    found = made("src/lib.rs", text)
    assert ("half", "comparison", "if n >= 3 && n != 7 { return n / 2; }") in found
    assert ("half", "arithmetic", "n - 1") in found
    assert ("half", "constant", "n + 2") in found


def test_wide_letters_do_not_move_the_bytes():
    text = "function f(a) {\n  const s = 'ä€😀'; return a + 1;\n}\n"
    assert ("f", "arithmetic", "const s = 'ä€😀'; return a - 1;") in made("f.js", text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class A {\n  constructor(private now: () => number = Date.now) {}\n}\n", {"constructor"}),
        ("function f(g: (x: number) => string, h = 1) { return g(h); }\n", {"f"}),
        ("const made = { now: () => 3, later: (x) => x };\n", {"now", "later"}),
        ("use({ now: () => 3 });\nconst f = (x: number): number => x;\n", {"now", "f"}),
    ],
)
def test_the_type_of_a_parameter_is_no_function(text, names):
    assert {one.name for one in functions(text, "js")} == names
