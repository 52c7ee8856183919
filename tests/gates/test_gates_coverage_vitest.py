"""Lines that vitest runs are measured, whatever its settings say and what is installed."""

import json
import os
import shutil
import subprocess

import pytest
from coverage_bench import Yard, shown

from runner.gates.node_hooks import PRELOAD, PROVIDER
from runner.model import Coverage
from runner.process.sandbox import choose_sandbox

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
SOURCE = """\
// what things cost
export interface Item {
  price: number;
}

export function total(items: Item[]): number {
  if (items.length === 0) {
    return 0;
  }
  return items.reduce((sum: number, one: Item) => sum + one.price, 0);
}
"""
TEST = """\
import { expect, test } from "vitest";
import { total } from "../src/p";

test("sums", () => {
  expect(total([{ price: 3 }])).toBe(3);
});
"""
SETTINGS = "export default {{ test: {{ coverage: {{ provider: {} }} }} }};\n"
UNDEFINED, ISTANBUL = SETTINGS.format("undefined"), SETTINGS.format("'istanbul'")
OWN = SETTINGS.format("'custom', customProviderModule: './nowhere.js'")


def hooked(folder):
    """What stands before a command, with the files that it needs."""
    (folder / "report.cjs").write_text(PRELOAD)
    (folder / "vitest.mjs").write_text(PROVIDER)
    return f'NODE_OPTIONS="--require {folder}/report.cjs" RUNNER_REPORT_OUT={folder}'


SAYS = """\
import { mkdirSync, writeFileSync } from "node:fs";
const said = {};
for (const [name, value] of process.argv.map((one) => one.split("="))) {
  if (said[name] && name.startsWith("--coverage.")) throw new Error(`${name} twice`);
  said[name] = value ?? "true";
}
if (said["--coverage"] || said["--watch"] !== "false") throw new Error("with dots, and no watch");
const folder = said["--coverage.reportsDirectory"];
mkdirSync(folder, { recursive: true });
const lines = said["--coverage.provider"] === "%s" ? "DA:6,1\\nDA:7,1\\nDA:8,0\\nDA:10,1\\n" : "";
const goal = said["--coverage.thresholds.lines"] === "0";
if (goal !== %s) throw new Error("another goal");
writeFileSync(`${folder}/lcov.info`, `SF:src/p.ts\\n${lines}end_of_record\\n`);
"""
"""In the place of vitest: measures by one provider alone, each option said once."""


@pytest.mark.parametrize(
    ("settings", "installed", "words", "provider", "free"),
    [
        (UNDEFINED, ["v8"], "", "v8", True),
        (UNDEFINED, ["v8"], "--coverage", "v8", True),
        (UNDEFINED, ["istanbul"], "", "istanbul", True),
        (ISTANBUL, ["istanbul", "v8"], "", "istanbul", True),
        (ISTANBUL, ["v8"], "", "v8", True),
        (OWN, ["v8"], "", "v8", True),
        ("", ["istanbul", "v8"], "--coverage", "v8", False),
        ("", ["istanbul", "v8"], "--coverage.provider=istanbul", "istanbul", False),
        ("", ["v8"], "--coverage.enabled=true --coverage.reportsDirectory=mine", "v8", False),
    ],
)
def test_what_measures_is_said_whatever_the_settings_say(
    tmp_path, settings, installed, words, provider, free
):
    yard = Yard(tmp_path, "none").write("src/p.ts", SOURCE)
    yard.stands("vitest.config.ts", settings or "export default {};\n").stands("package.json", "{}")
    text = SAYS % (provider, "true" if free else "false")
    yard.stands("node_modules/vitest/vitest.mjs", text)
    for name in installed:
        folder = f"node_modules/@vitest/coverage-{name}"
        yard.stands(f"{folder}/package.json", '{"main": "index.js"}').stands(
            f"{folder}/index.js", ""
        )
    found = yard.proved(f"{hooked(tmp_path)} node node_modules/vitest/vitest.mjs run {words}")
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)


def test_settings_are_read_where_an_option_names_them(tmp_path):
    yard = Yard(tmp_path, "none").write("src/p.ts", SOURCE).stands("package.json", "{}")
    yard.stands("conf/unit.ts", ISTANBUL)
    yard.stands("node_modules/vitest/vitest.mjs", SAYS % ("istanbul", "true"))
    for name in ("istanbul", "v8"):
        folder = f"node_modules/@vitest/coverage-{name}"
        yard.stands(f"{folder}/package.json", '{"main": "index.js"}').stands(
            f"{folder}/index.js", ""
        )
    line = f"{hooked(tmp_path)} node node_modules/vitest/vitest.mjs run --config=conf/unit.ts"
    assert yard.proved(line).coverage == Coverage(75.0, 4, 70, 75.0)


WORKER = """\
import vm from "node:vm";
import { pathToFileURL } from "node:url";
const said = Object.fromEntries(process.argv.map((one) => one.split("=")));
if (said["--coverage.provider"] !== "custom") throw new Error("no provider");
const at = pathToFileURL(said["--coverage.customProviderModule"]).href;
const load = async (again) => (await import(`${at}?${again}`)).default;
const provider = (await load("main")).getProvider();
provider.initialize({ config: { coverage: {} } });
await (await load("before")).startCoverage();
const before = "'use strict';async (exports)=>{{";
const code = "exports.a = () => {\\n  return 1;\\n};\\nexports.b = () => {\\n  return 2;\\n};\\n";
async function run(name) {
  const map = { version: 3, sources: [name], names: [], mappings: "AAAA;AACA;AACA;AACA;AACA;AACA" };
  const link = Buffer.from(JSON.stringify(map)).toString("base64");
  const text = `${before}${code}//# sourceMappingURL=data:application/json;base64,${link}\\n}}`;
  const options = { filename: `${process.cwd()}/${name}`, columnOffset: -before.length };
  const exported = {};
  await vm.runInThisContext(text, options)(exported);
  if (exported.a() !== 1) throw new Error("it did not run");
}
await run("a.ts");
await run("a.test.ts");
provider.onAfterSuiteRun({ coverage: await (await load("after")).takeCoverage() });
provider.reportCoverage(await provider.generateCoverage());
"""
"""In the place of vitest: runs what it compiled behind a first line of its own."""


def test_without_a_package_each_worker_counts_by_our_own_provider(tmp_path):
    code = "exports.a = () => {\n  return 1;\n};\nexports.b = () => {\n  return 2;\n};\n"
    yard = Yard(tmp_path, "none").write("a.ts", code).stands("package.json", "{}")
    yard.stands("a.test.ts", code).stands("node_modules/vitest/vitest.mjs", WORKER)
    line = f"{hooked(tmp_path)} node node_modules/vitest/vitest.mjs run"
    found = yard.proved(line)
    assert shown(found)["a.ts", ""] == "1-2,4"
    assert found.coverage == Coverage(75.0, 4, 70, 75.0)


@pytest.mark.parametrize("words", ["--coverage", "--no-coverage", "in a browser"])
def test_what_a_person_asks_is_done_as_it_would_be(tmp_path, words):
    yard = Yard(tmp_path, "none").write("a.ts", "export const a = () => 1;\n")
    yard.stands("package.json", "{}")
    asks = "if (process.argv.some((one) => /provider/.test(one))) throw new Error();\n"
    yard.stands("node_modules/vitest/vitest.mjs", asks)
    if "browser" in words:
        yard.stands("node_modules/@vitest/browser/package.json", '{"exports": {}}')
    found = yard.proved(f"{hooked(tmp_path)} node node_modules/vitest/vitest.mjs run {words}")
    (finding,) = found.findings
    assert not finding.refuses
    assert "could not be measured" in finding.message


# --- vitest itself, from the registry --------------------------------------------------------


@pytest.fixture(scope="module", params=["2", "3", "4.1.4"])
def packages(tmp_path_factory, request):
    """One release of vitest with both packages that measure, installed once."""
    if not os.environ.get("CAMPAIGN_SECONDS"):
        pytest.skip("set CAMPAIGN_SECONDS to install and run vitest")
    folder = tmp_path_factory.mktemp("packages")
    (folder / "package.json").write_text("{}")
    names = ("vitest", "@vitest/coverage-v8", "@vitest/coverage-istanbul")
    line = ["npm", "install", "--no-audit", "--no-fund"]
    line += [f"{name}@{request.param}" for name in names]
    if not shutil.which("npm") or subprocess.run(line, cwd=folder, check=False).returncode:
        pytest.skip("npm reaches no registry")
    return folder / "node_modules"


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap"])
@pytest.mark.parametrize("settings", ["", UNDEFINED, ISTANBUL, OWN])
@pytest.mark.parametrize("installed", ["", "v8", "istanbul", "v8 istanbul"])
def test_every_vitest_is_measured(tmp_path, packages, installed, settings, sandbox):
    if sandbox != "none" and not choose_sandbox("auto").contains:
        pytest.skip("bubblewrap does not work here")
    yard = Yard(tmp_path, sandbox).write("src/p.ts", SOURCE).write("test/p.test.ts", TEST)
    yard.stands("package.json", json.dumps({"name": "shop", "type": "module"}))
    if settings:
        yard.stands("vitest.config.ts", settings)
    shutil.copytree(packages, yard.tree / "node_modules", symlinks=True, copy_function=os.link)
    for name in {"v8", "istanbul"} - set(installed.split()):
        shutil.rmtree(yard.tree / f"node_modules/@vitest/coverage-{name}")
    box = yard.context.place.box
    box.mkdir(parents=True, exist_ok=True)
    found = yard.proved(f"{hooked(box)} node node_modules/vitest/vitest.mjs run")
    assert found.coverage
    rows = shown(found)["src/p.ts", ""].split(",")
    spans = [[*map(int, row.split("-"))] for row in rows]
    ran = {line for span in spans for line in range(span[0], span[-1] + 1)}
    assert {7, 10} <= ran
    assert 8 not in ran
