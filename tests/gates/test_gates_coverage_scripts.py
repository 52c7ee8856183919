"""Lines of JavaScript, TypeScript, Go and Rust come from what their own tools tell."""

import base64
import json
import os
import shutil

import pytest
from coverage_bench import Yard, shown
from msgspec.structs import replace

from runner.gates import coverage
from runner.gates.base import Check, Fitted
from runner.gates.node_hooks import PRELOAD
from runner.model import Coverage
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
    assert found.coverage == Coverage(66.66, 6, 70, 66.66)
    assert shown(found)["src/math.mjs", ""] == "1-2,5,8"


VITEST = """\
import "../../vitest.config.mjs";
import { spawnSync } from "node:child_process";
const tests = new URL("../../test/math.test.mjs", import.meta.url).pathname;
const env = { ...process.env };
if (process.argv[2] === "apart") env.NODE_V8_COVERAGE = "";
process.exit(spawnSync(process.execPath, ["--test", tests], { env, stdio: "inherit" }).status);
"""
"""Runs tests in a process of its own, of which V8 tells nothing where they are `apart`."""


@node
@pytest.mark.parametrize("how", ["apart", "here"])
def test_what_vitest_ran_out_of_sight_is_not_measured(tmp_path, how):
    yard = Yard(tmp_path, "none").write("src/math.mjs", MATH).write("test/math.test.mjs", TEST)
    yard.write("vitest.config.mjs", "export default {};\n", before="export default {};\n")
    yard.write("node_modules/vitest/vitest.mjs", VITEST, before=VITEST)
    (tmp_path / "report.cjs").write_text(PRELOAD)
    hooked = f'NODE_OPTIONS="--require {tmp_path}/report.cjs" RUNNER_REPORT_OUT={tmp_path}'
    found = yard.proved(f"{hooked} node node_modules/vitest/vitest.mjs {how}")
    (finding,) = found.findings
    assert finding.refuses is (how == "here")
    assert ("could not be measured" in finding.message) is (how == "apart")


MEASURING = """\
import "../../packages/api/vitest.config.mjs";
import { mkdirSync, writeFileSync } from "node:fs";
const said = (name) => process.argv.find((one) => one.startsWith(`--coverage.${name}=`)) ?? "";
const folder = said("reportsDirectory").split("=")[1];
const seen = said("allowExternal").endsWith("true") && (!%s || said("include").endsWith("**"));
mkdirSync(folder, { recursive: true });
const lines = [2, 3, 5, 8, 9].map((one) => `DA:${one},1\\n`).join("");
if (seen) writeFileSync(`${folder}/lcov.info`, `SF:../core/math.mjs\\n${lines}end_of_record\\n`);
"""
"""Measures what lies outside of its root, and what settings choose, where it is told to."""
CHOOSING = "export default { test: { coverage: { provider: 'v8', include: ['src/**'] } } };\n"


@node
@pytest.mark.parametrize("settings", ["export default {};\n", CHOOSING], ids=["plain", "chosen"])
@pytest.mark.parametrize("root", ["", "--root packages/api", "-r=packages/api"])
def test_vitest_measures_other_packages_of_the_repository(tmp_path, settings, root):
    yard = Yard(tmp_path, "none").write("packages/core/math.mjs", MATH)
    chosen = "true" if settings == CHOOSING else "false"
    kept = {
        "packages/api/vitest.config.mjs": settings,
        "packages/api/package.json": '{"name": "api"}\n',
        "node_modules/vitest/vitest.mjs": MEASURING % chosen,
        "node_modules/@vitest/coverage-v8/package.json": '{"main": "index.js"}\n',
        "node_modules/@vitest/coverage-v8/index.js": "",
    }
    for path, text in kept.items():
        yard.write(path, text, before=text)
    (tmp_path / "report.cjs").write_text(PRELOAD)
    hooked = f'NODE_OPTIONS="--require {tmp_path}/report.cjs" RUNNER_REPORT_OUT={tmp_path}'
    vitest = f"{hooked} node {{}}node_modules/vitest/vitest.mjs run"
    inside = f"cd packages/api && {vitest.format('../../')}"
    found = yard.proved(f"{vitest.format('')} {root}" if root else inside)
    assert found.coverage == Coverage(100.0, 5, 70, 100.0)


@node
def test_a_script_that_nothing_loaded_is_at_nought(tmp_path):
    yard = Yard(tmp_path)
    yard.write("src/math.mjs", MATH).write("src/alone.mjs", "// words\nexport const x = 1;\n")
    found = yard.proved("node src/math.mjs", coverage=0)
    assert found.coverage == Coverage(28.57, 7, 0, 28.57)
    assert "src/alone.mjs 2" in found.proof.note


@node
def test_commonjs_and_only_changed_lines(tmp_path):
    yard = Yard(tmp_path)
    old = "function one() {\n  return 1;\n}\nmodule.exports = { one };\n"
    new = old.replace("return 1", "return 2 - 1")
    yard.write("one.cjs", new, before=old)
    found = yard.proved("node -e 'require(\"./one.cjs\").one()'")
    assert found.coverage == Coverage(100.0, 1, 70, 100.0)


def test_scripts_that_no_tool_measured_are_told(tmp_path):
    found = Yard(tmp_path).write("static/page.js", "go();\n").proved("true")
    (finding,) = found.findings
    assert not finding.refuses
    assert "the test contracts ran no JavaScript code that can be measured" in finding.message
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
        json.dumps({"result": [{"url": "file://[", "functions": []}]}),
        '{"result": {}, "source-map-cache": 4}',
        "[" * 100_000,
        "",
    ):
        file.write_text(text)
        found = yard.weigh()
        assert found.coverage is None or found.coverage.percent == 0


# What tsc 5.9 made of SOURCE by `--module commonjs --target es2020 --sourceMap`.
SOURCE = """\
export interface Item {
  price: number;
}

export function total(items: Item[]): number {
  if (items.length === 0) {
    return 0;
  }
  return items.reduce((sum: number, one: Item) => sum + one.price, 0);
}

export function never(n: number): string {
  return n > 3
    ? "many"
    : "few";
}
"""
MADE = """\
"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.total = total;
exports.never = never;
function total(items) {
    if (items.length === 0) {
        return 0;
    }
    return items.reduce((sum, one) => sum + one.price, 0);
}
function never(n) {
    return n > 3
        ? "many"
        : "few";
}
"""
MAPPINGS = (
    ";;AAIA,sBAKC;AAED,sBAIC;AAXD,SAAgB,KAAK,CAAC,KAAa;IACjC,IAAI,KAAK,CAAC,MAAM,KAAK,CAAC,EAAE,CAAC;"
    "QACvB,OAAO,CAAC,CAAC;IACX,CAAC;IACD,OAAO,KAAK,CAAC,MAAM,CAAC,CAAC,GAAW,EAAE,GAAS,EAAE,EAAE,CAAC,"
    "GAAG,GAAG,GAAG,CAAC,KAAK,EAAE,CAAC,CAAC,CAAC;AACtE,CAAC;AAED,SAAgB,KAAK,CAAC,CAAS;"
    "IAC7B,OAAO,CAAC,GAAG,CAAC;QACV,CAAC,CAAC,MAAM;QACR,CAAC,CAAC,KAAK,CAAC;AACZ,CAAC"
)
MAP = {"version": 3, "file": "p.js", "sourceRoot": "", "sources": ["../src/p.ts"], "names": []}
LINK = "//# sourceMappingURL="
ASKS = 'if (require("./dist/p.js").total([{ price: 3 }]) !== 3) throw new Error();\n'


def compiled(yard, *, source=SOURCE, link="", **more):
    """A file of TypeScript and what a compiler made of it, which is no file of the task."""
    yard.write("src/p.ts", source).stands("test.cjs", ASKS).stands("dist/p.js", MADE + link)
    if more:
        yard.stands("dist/p.js.map", json.dumps({**MAP, **more}))
    return yard


def inline(**more):
    text = json.dumps({**MAP, "mappings": MAPPINGS, **more})
    return f"{LINK}data:application/json;base64,{base64.b64encode(text.encode()).decode()}\n"


@node
@pytest.mark.parametrize("is_inline", [False, True], ids=["beside", "inline"])
def test_typescript_that_ran_compiled_is_measured_by_its_source_map(tmp_path, is_inline):
    more = {} if is_inline else {"mappings": MAPPINGS}
    yard = compiled(Yard(tmp_path), link=inline() if is_inline else f"{LINK}p.js.map\n", **more)
    found = yard.proved("node test.cjs")
    (finding,) = found.findings
    assert "lines 7, 13-15 are not run by any test contract (50% of 8 lines" in finding.message
    assert finding.path == "src/p.ts"
    assert shown(found)["src/p.ts", ""] == "5-6,9,12"


@node
@pytest.mark.parametrize(
    "made",
    [
        {"link": ""},
        {"link": f"{LINK}p.js.map\n"},
        {"link": inline(mappings="!")},
        {"link": inline(mappings="AEAA")},
        {"link": inline(sourcesContent=["export const old = 1;\n"])},
    ],
    ids=["no map", "a map that is gone", "damaged", "of no such source", "of other bytes"],
)
def test_typescript_without_a_map_that_leads_back_is_not_measured_and_not_refused(tmp_path, made):
    found = compiled(Yard(tmp_path), **made).proved("node test.cjs")
    (finding,) = found.findings
    assert not finding.refuses
    assert finding.message == (
        "coverage could not be measured: the tests ran compiled TypeScript without a source map "
        "to this file"
    )
    assert "sourceMap: true" in finding.hint
    assert found.coverage is None


@node
def test_a_file_that_a_program_translates_itself_is_not_at_nought(tmp_path):
    yard = Yard(tmp_path).write("src/a.js", "exports.a = () => 1;\n")
    yard.stands(
        "load.cjs",
        "const vm = require('vm'), fs = require('fs'), path = require('path');\n"
        "const file = path.resolve('src/a.js');\n"
        "const text = `(function (exports) { let made = 1;\\n${fs.readFileSync(file)}})`;\n"
        "const exported = {};\n"
        "new vm.Script(text, { filename: file }).runInThisContext()(exported);\n"
        "if (exported.a() !== 1) throw new Error();\n",
    )
    found = yard.proved("node load.cjs")
    (finding,) = found.findings
    assert not finding.refuses
    assert finding.path == "src/a.js"


SHOP = "exports.total = (prices) => {\n  return prices.reduce((a, b) => a + b, 0);\n};\n"
BUILD = """\
const fs = require("fs");
fs.mkdirSync("dist", { recursive: true });
fs.writeFileSync("dist/index.js", `"use strict";\\n${fs.readFileSync("src/shop.js")}`);
"""
USES_DIST = 'if (require("./dist").total([1, 2]) !== 3) throw new Error();\n'
HOOK = """\
export async function load(url, context, next) {
  const found = await next(url, context);
  if (!url.endsWith("/src/shop.mjs")) return found;
  return { ...found, source: `const made = 1;\\n${found.source}` };
}
"""
REGISTER = 'import { register } from "node:module";\nregister("./hook.mjs", import.meta.url);\n'


def a_shop(folder):
    yard = Yard(folder).write("src/shop.js", SHOP).stands("test.cjs", USES_DIST)
    return yard.stands("build.js", BUILD)


@node
@pytest.mark.parametrize(
    "lines",
    [
        ["node build.js && node test.cjs"],
        ["node build.js", "node test.cjs"],
        ["node build.js && node test.cjs && rm -r dist"],
    ],
    ids=["one command", "two contracts", "the build is removed"],
)
def test_a_script_that_ran_in_a_build_without_a_map_cannot_be_measured(tmp_path, lines):
    found = a_shop(tmp_path).proved(*lines)
    (finding,) = found.findings
    assert finding.message == (
        "coverage could not be measured: the tests ran compiled JavaScript (dist/index.js) "
        "without a source map to this file"
    )
    assert (finding.path, finding.refuses, found.coverage) == ("src/shop.js", False, None)
    assert ("src/shop.js", "") in shown(found)


@node
def test_a_build_that_is_tracked_and_made_again_cannot_be_measured(tmp_path):
    yard = a_shop(tmp_path).stands("dist/index.js", "exports.total = () => 0;\n")
    assert yard.proved("node build.js && node test.cjs").coverage is None


@node
def test_a_bundle_that_the_change_holds_cannot_be_measured(tmp_path):
    yard = Yard(tmp_path).write("src/shop.js", SHOP).stands("test.cjs", USES_DIST)
    found = yard.write("dist/index.js", SHOP).proved("node test.cjs")
    assert "the tests ran compiled JavaScript (dist/index.js)" in found.findings[0].message
    assert (found.findings[0].refuses, found.coverage) == (False, None)


@node
def test_where_lines_must_be_measured_a_build_without_a_map_is_refused(tmp_path):
    found = a_shop(tmp_path).proved(
        "node build.js && node test.cjs", settings={"coverage_missing": "fail"}
    )
    (finding,) = found.findings
    assert finding.refuses
    assert "could not be measured" in finding.message


@node
@pytest.mark.parametrize("is_tracked", [True, False], ids=["tracked", "copied there"])
def test_a_build_from_before_the_change_does_not_hold_it(tmp_path, is_tracked):
    yard = Yard(tmp_path).stands("test.cjs", USES_DIST).stands("dist/index.js", SHOP)
    if not is_tracked:
        del yard.held["dist/index.js"]
        os.utime(yard.tree / "dist/index.js", (1, 1))
    found = yard.write("src/shop.js", SHOP).proved("node test.cjs")
    assert found.coverage == Coverage(0.0, 2, 70, 0.0)
    assert all(one.refuses for one in found.findings)


@node
def test_a_build_is_no_excuse_for_a_file_that_the_tests_load(tmp_path):
    more = "exports.b = () => {\n  return 1;\n};\nexports.c = () => {\n  return 1;\n};\n"
    yard = a_shop(tmp_path).write("src/shop.js", SHOP + more)
    found = yard.proved("node build.js && node test.cjs && node src/shop.js")
    assert found.coverage.percent < found.coverage.threshold
    assert all(one.refuses for one in found.findings)


@node
def test_a_script_that_a_hook_translates_as_it_is_loaded_cannot_be_measured(tmp_path):
    yard = Yard(tmp_path).write("src/shop.mjs", SHOP.replace("exports.", "export const "))
    yard.stands("hook.mjs", HOOK).stands("register.mjs", REGISTER)
    yard.stands("test.mjs", 'import { total } from "./src/shop.mjs";\ntotal([1]);\n')
    found = yard.proved("node --import ./register.mjs test.mjs")
    (finding,) = found.findings
    assert not finding.refuses
    assert finding.message == (
        "coverage could not be measured: the tests ran compiled JavaScript without a source map "
        "to this file"
    )


def test_a_report_that_the_projects_own_tool_left_is_read(tmp_path):
    yard = Yard(tmp_path).write("app.js", "a();\nb();\n")
    lcov = "SF:app.js\\nDA:1,1\\nDA:2,0\\nend_of_record\\n"
    found = yard.proved(f"mkdir coverage && printf '{lcov}' > coverage/lcov.info")
    assert found.coverage == Coverage(50.0, 2, 70, 50.0)


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
    asked = yard.context.environment, _fit(yard, "go test ./...").variables["GOFLAGS"]
    assert asked[1].startswith("-mod=mod -coverprofile=")
    line = line.replace(
        '"${GOFLAGS#*coverprofile=}"', '"$(echo $GOFLAGS | cut -d= -f3 | cut -d\\  -f1)"'
    )
    assert yard.proved(line).coverage == Coverage(100.0, 3, 70, 100.0)


def test_runners_that_translate_are_told_where_to_put_their_own_report(tmp_path):
    yard = Yard(tmp_path).stands("package.json", "{}").write("app.js", "a();\nb();\n")
    yard.set_up("true")
    fitted = _fit(yard, "npx vitest run --dir tests")
    assert fitted.line == "npx vitest run --dir tests"
    lcov = "SF:app.js\\nDA:1,1\\nDA:2,0\\nend_of_record\\n"
    made = '"$RUNNER_COVER_LCOV/jest-7"'
    found = yard.proved(f"mkdir -p {made} && printf '{lcov}' > {made}/lcov.info")
    assert found.coverage == Coverage(50.0, 2, 70, 50.0)


def test_rust_is_run_through_what_is_installed(tmp_path):
    yard = Yard(tmp_path).write("src/lib.rs", "fn a() {}\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    environment = {**yard.context.environment, "PATH": str(tools)}
    yard.set_up("true")
    yard.context = replace(yard.context, environment=environment)
    assert _fit(yard, "cargo test --lib").line == "cargo test --lib"
    for name, words in (
        ("cargo-tarpaulin", "cargo tarpaulin --out Lcov --output-dir "),
        ("cargo-llvm-cov", "cargo llvm-cov test --lcov --output-path "),
    ):
        (tools / name).touch(mode=0o755)
        line = _fit(yard, "cd a && cargo test --lib").line
        assert line.startswith(f"cd a && {words}")
        assert line.endswith(" --lib")


@pytest.mark.parametrize(
    ("tool", "hint"),
    [
        (
            "",
            "neither cargo-llvm-cov nor cargo-tarpaulin is installed: cargo install cargo-llvm-cov",
        ),
        ("cargo-llvm-cov", "have the test contracts run `cargo test`"),
        ("cargo-tarpaulin", "have the test contracts run `cargo test`"),
    ],
)
def test_rust_that_nothing_measured_names_what_is_lacking(tmp_path, tool, hint):
    from runner.gates.coverage.lines import Measured
    from runner.gates.coverage.percent import weigh

    if tool:
        (tmp_path / tool).touch(mode=0o755)
    code = b"fn a() -> u8 {\n    1\n}\n"
    weight = weigh({"a.rs": frozenset({1, 2})}, Measured(), lambda _: code, {"PATH": str(tmp_path)})
    ((language, path, _, needed),) = weight.unmeasured
    assert (language, path, needed) == ("Rust", "a.rs", hint)


def test_a_check_that_is_no_own_test_contract_stays_as_it_is(tmp_path):
    yard = Yard(tmp_path).set_up("true")
    fitted = Fitted("pytest", {"A": "1"})
    for check in (
        Check("TC-001", "test", "pytest", Limits(), task="TASK-009"),
        Check("gate:lint", "gate", "pytest", Limits()),
    ):
        assert coverage.fit(check, yard.context, fitted) is fitted


def _fit(yard, line):
    check = Check("TC-001", "test", line, Limits())
    return coverage.fit(check, yard.context, Fitted(line, {}))


def test_typescript_that_ran_compiled_without_a_map_is_not_measured():
    from runner.gates.coverage.lines import Lines, Measured
    from runner.gates.coverage.percent import weigh

    ran = Measured({}, {"dist/a.js": Lines(frozenset({1}), frozenset({1}))}, (), ())
    weight = weigh({"src/a.ts": frozenset({1})}, ran, lambda _: b"export const a = f();", {})
    assert not weight.files
    ((language, path, _, hint),) = weight.unmeasured
    assert (language, path) == ("TypeScript", "src/a.ts")
    assert "sourceMap: true" in hint
    other = weigh({"src/b.ts": frozenset({1})}, ran, lambda _: b"export const a = f();", {})
    assert [one.path for one in other.files] == ["src/b.ts"]
