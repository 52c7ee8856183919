// What the extension does without a server: when it starts one, which, and what it says when it
// cannot.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { load, Uri } = require("./stand_in");

const NOWHERE = "/nowhere/runner";
const manifest = JSON.parse(fs.readFileSync(path.join(__dirname, "..", "package.json"), "utf8"));

async function activated(settings = {}) {
  const { host, extension } = load();
  Object.assign(host.settings, { "runner.path": NOWHERE }, settings);
  const context = { subscriptions: [] };
  await extension.activate(context);
  return { host, extension, context };
}

const errors = (host) => host.said.filter((one) => one.kind === "error" && one.buttons);

test("no server is started for other files, nor for a plan that lies nowhere", async () => {
  const { host } = await activated();
  await host.open("/shop/README.md", "# Shop\n");
  await host.open("/shop/MY-TASK-GRAPH.md", "# Shop\n");
  await host.open(Uri.from({ scheme: "git", path: "/shop/TASK-GRAPH.md" }), "# Shop\n");
  assert.deepEqual(host.said, []);
});

for (const name of ["TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md"]) {
  test(`${name} starts the program of the settings; a missing one is told with a hint`, async () => {
    const { host } = await activated();
    await host.open(`/shop/${name}`, "# Shop\n");
    const [said] = errors(host).filter((one) => one.text.includes("did not start"));
    assert.match(said.text, /^\/nowhere\/runner lsp did not start: /);
    assert.match(said.text, /pipx install 'task-graph-runner\[lsp\]', or set runner\.path\.$/);
  });
}

test("its button opens the setting", async () => {
  const { host, extension } = load();
  host.settings["runner.path"] = NOWHERE;
  host.answerTo = (_, buttons) => buttons[0];
  await extension.activate({ subscriptions: [] });
  await host.open("/shop/TASK-GRAPH.md", "# Shop\n");
  const opened = host.said.find((one) => one.kind === "command");
  assert.deepEqual(opened.told, ["runner.path"]);
});

test("a workspace's settings do not say which program is started", async () => {
  const { host, extension } = load();
  host.workspaceSettings["runner.path"] = "/shop/evil";
  host.settings["runner.path"] = NOWHERE;
  await extension.activate({ subscriptions: [] });
  await host.open("/shop/TASK-GRAPH.md", "# Shop\n");
  assert.ok(errors(host).some((one) => one.text.startsWith(NOWHERE)));
  assert.ok(!host.said.some((one) => one.text.includes("evil")));
});

test("another path is taken up only where a server was wanted", async () => {
  const { host, extension } = load();
  await extension.activate({ subscriptions: [] });
  await host.change({ "runner.path": NOWHERE });
  assert.deepEqual(host.said, []);
});

test("after a failure the next file tries again", async () => {
  const { host } = await activated();
  await host.open("/shop/TASK-GRAPH.md", "# Shop\n");
  await host.open("/shop/TASK-GRAPH.md", "# Shop\n");
  assert.equal(errors(host).filter((one) => one.text.includes("did not start")).length, 2);
});

test("all that was registered is given back to the host", async () => {
  const { host, extension, context } = await activated();
  assert.deepEqual([...host.commands.keys()], ["runner.restart"]);
  await extension.deactivate();
  context.subscriptions.forEach((one) => one.dispose());
  assert.deepEqual([...host.commands.keys()], []);
  assert.deepEqual([...host.contents.keys()], []);
});

test("the manifest names every command, and the setting that only a person may set", () => {
  const names = manifest.contributes.commands.map((one) => one.command).sort();
  assert.deepEqual(names, [
    "runner.approve", "runner.evidence", "runner.restart", "runner.run", "runner.why",
  ]);
  assert.equal(manifest.contributes.configuration.properties["runner.path"].scope, "machine");
  assert.equal(manifest.capabilities.untrustedWorkspaces.supported, false);
});
