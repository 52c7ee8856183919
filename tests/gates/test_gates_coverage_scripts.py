"""Lines of JavaScript, TypeScript, Go and Rust come from what their own tools tell."""

import json
import os
import shutil
from dataclasses import replace

import pytest
from coverage_bench import Yard, shown

from runner.gates import coverage
from runner.gates.base import Check, Fitted
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox

MATH = """\
export function add(a, b) {
  if (a > 100) {
    return 0;
  }
  return a + b;
}

export const twice = (a) => {
  return a * 2;
};
"""
TEST = """\
import test from "node:test";
import assert from "node:assert";
import { add } from "../src/math.mjs";

test("adds", () => assert.equal(add(1, 2), 3));
"""
node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


@pytest.fixture(params=["none", "bubblewrap"])
def yard(request, tmp_path):
    if request.param == "bubblewrap" and not choose_sandbox("auto").contains:
        pytest.skip("bubblewrap does not work here")
    return Yard(tmp_path, request.param)


@node
def test_node_is_measured_by_its_own_engine(yard):
    yard.write("src/math.mjs", MATH).write("test/math.test.mjs", TEST)
    found = yard.proved("node --test test/")
    (finding,) = found.findings
    assert finding.message == (
        "lines 3, 9 are not run by any test contract (66% of 6 lines, threshold 70%)"
    )
    assert (finding.path, finding.line) == ("src/math.mjs", 3)
    assert found.coverage == (66.66, 6, 70, 66.66)
    assert shown(found)["src/math.mjs", ""] == "1-2,5,8"


@node
def test_a_script_that_nothing_loaded_is_at_nought(tmp_path):
    yard = Yard(tmp_path)
    yard.write("src/math.mjs", MATH).write("src/alone.mjs", "// words\nexport const x = 1;\n")
    found = yard.proved("node src/math.mjs", coverage=0)
    assert found.coverage == (28.57, 7, 0, 28.57)
    assert "src/alone.mjs 2" in found.proof.note


@node
def test_commonjs_and_only_changed_lines(tmp_path):
    yard = Yard(tmp_path)
    old = "function one() {\n  return 1;\n}\nmodule.exports = { one };\n"
    new = old.replace("return 1", "return 2 - 1")
    yard.write("one.cjs", new, before=old)
    found = yard.proved("node -e 'require(\"./one.cjs\").one()'")
    assert found.coverage == (100.0, 1, 70, 100.0)


def test_scripts_that_no_tool_measured_are_told(tmp_path):
    found = Yard(tmp_path).write("static/page.js", "go();\n").proved("true")
    (finding,) = found.findings
    assert not finding.refuses
    assert "no JavaScript of the test contracts was seen" in finding.message
    assert found.coverage is None


@node
def test_damaged_ranges_are_no_ranges(tmp_path):
    yard = Yard(tmp_path)
    yard.write("src/math.mjs", MATH).set_up("node src/math.mjs")
    yard.run()
    (file,) = (yard.data() / "v8").glob("coverage-*.json")
    script = {"url": f"file://{yard.tree}/src/math.mjs"}
    far = [{"startOffset": 1e999, "endOffset": 5, "count": 1}]
    for text in (
        json.dumps({"result": [{**script, "functions": [{"ranges": 5}]}, 7, {"url": 3}]}),
        json.dumps({"result": [{**script, "functions": [{"ranges": far}]}]}),
        '{"result": {}, "source-map-cache": 4}',
        "[" * 100_000,
        "",
    ):
        file.write_text(text)
        found = yard.weigh()
        assert found.coverage is None or found.coverage.percent == 0


@node
def test_the_projects_own_c8_reads_what_was_translated(tmp_path):
    modules = os.environ.get("RUNNER_TEST_C8_MODULES", "")
    if not modules:
        pytest.skip("RUNNER_TEST_C8_MODULES names no node_modules with c8 and tsx")
    yard = Yard(tmp_path)
    for folder in ("tree", "real"):
        (tmp_path / folder / "node_modules").symlink_to(modules)
    source = "interface A {\n  x: number;\n}\n\nexport function f(a: A): number {\n"
    source += "  if (a.x > 9) {\n    return 0;\n  }\n  return a.x;\n}\n"
    yard.write("src/f.ts", source)
    yard.write("test/f.test.ts", 'import { f } from "../src/f";\nf({ x: 1 });\n')
    found = yard.proved("node --import tsx test/f.test.ts")
    assert "src/f.ts 7" in found.proof.note
    assert found.coverage.percent > 50


def test_a_report_that_the_projects_own_tool_left_is_read(tmp_path):
    yard = Yard(tmp_path).write("app.js", "a();\nb();\n")
    lcov = "SF:app.js\\nDA:1,1\\nDA:2,0\\nend_of_record\\n"
    found = yard.proved(f"mkdir coverage && printf '{lcov}' > coverage/lcov.info")
    assert found.coverage == (50.0, 2, 70, 50.0)


def test_a_report_that_lay_there_before_is_not_read(tmp_path):
    yard = Yard(tmp_path).write("app.js", "a();\n")
    yard.stands("coverage/lcov.info", "SF:app.js\nDA:1,1\nend_of_record\n")
    os.utime(yard.tree / "coverage/lcov.info", (1, 1))
    assert yard.proved("true").coverage is None


def test_a_go_profile_is_asked_for_and_read(tmp_path):
    yard = Yard(tmp_path, GOFLAGS="-mod=mod")
    yard.stands("go.mod", "module example.org/shop\n")
    yard.write("price/price.go", "package price\n\nfunc One() int {\n\treturn 1\n}\n")
    row = "example.org/shop/price/price.go:3.16,5.2 1 1"
    line = f"printf 'mode: set\\n{row}\\n' > \"${{GOFLAGS#*coverprofile=}}\""
    yard.set_up("true")
    asked = yard.bench.environment, _fit(yard, "go test ./...").variables["GOFLAGS"]
    assert asked[1].startswith("-mod=mod -coverprofile=")
    line = line.replace(
        '"${GOFLAGS#*coverprofile=}"', '"$(echo $GOFLAGS | cut -d= -f3 | cut -d\\  -f1)"'
    )
    assert yard.proved(line).coverage == (100.0, 3, 70, 100.0)


def test_runners_that_translate_are_asked_for_their_own_report(tmp_path):
    yard = Yard(tmp_path).stands("package.json", "{}")
    (tmp_path / "real/node_modules/@vitest/coverage-istanbul").mkdir(parents=True)
    yard.set_up("true")
    vitest = _fit(yard, "npx vitest run --dir tests")
    assert vitest.line.startswith("npx vitest run --coverage.enabled=true")
    assert " --coverage.provider=istanbul " in vitest.line
    assert vitest.line.endswith("/lcov --dir tests")
    assert "NODE_V8_COVERAGE" not in vitest.variables
    assert " --coverageReporters=lcovonly " in _fit(yard, "jest tests").line
    assert _fit(yard, "node tests/jest.js").line == "node tests/jest.js"


def test_rust_is_run_through_what_is_installed(tmp_path):
    yard = Yard(tmp_path).write("src/lib.rs", "fn a() {}\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    environment = {**yard.bench.environment, "PATH": str(tools)}
    yard.set_up("true")
    yard.bench = replace(yard.bench, environment=environment)
    assert _fit(yard, "cargo test --lib").line == "cargo test --lib"
    for name, words in (
        ("cargo-tarpaulin", "cargo tarpaulin --out Lcov --output-dir "),
        ("cargo-llvm-cov", "cargo llvm-cov test --lcov --output-path "),
    ):
        (tools / name).touch(mode=0o755)
        line = _fit(yard, "cd a && cargo test --lib").line
        assert line.startswith(f"cd a && {words}")
        assert line.endswith(" --lib")


def test_a_check_that_is_no_own_test_contract_stays_as_it_is(tmp_path):
    yard = Yard(tmp_path).set_up("true")
    fitted = Fitted("pytest", {"A": "1"})
    for check in (
        Check("TC-001", "test", "pytest", Limits(), task="TASK-009"),
        Check("gate:lint", "gate", "pytest", Limits()),
    ):
        assert coverage.fit(check, yard.bench, fitted) is fitted


def _fit(yard, line):
    check = Check("TC-001", "test", line, Limits())
    return coverage.fit(check, yard.bench, Fitted(line, {}))


def test_typescript_that_ran_compiled_without_a_map_is_not_measured():
    from runner.gates.coverage.lines import Lines, Measured
    from runner.gates.coverage.weighing import weigh

    ran = Measured({}, {"dist/a.js": Lines(frozenset({1}), frozenset({1}))}, (), ())
    weight = weigh({"src/a.ts": frozenset({1})}, ran, lambda _: b"export const a = f();")
    assert not weight.files
    ((language, path, hint),) = weight.unmeasured
    assert (language, path) == ("TypeScript", "src/a.ts")
    assert "sourceMap: true" in hint
    other = weigh({"src/b.ts": frozenset({1})}, ran, lambda _: b"export const a = f();")
    assert [one.path for one in other.files] == ["src/b.ts"]
