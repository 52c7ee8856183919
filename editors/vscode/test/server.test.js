// The extension as it is packaged, its client library, and a real `runner lsp`; only the host is a
// stand-in. RUNNER names the program, PATH finds it otherwise.
"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");

const { load, Position, Range } = require("./stand_in");

const RUNNER = process.env.RUNNER || "runner";
const PLAN = `# Shop

## TASK-001: Money 😀

- Status: PENDING
- Output files: \`money.py\`
- Implementer: claude
- Test contracts:
  - TC-001 (unit): \`python3 -m unittest -q test_money\`

## TASK-002: Prices

- Status: PENDING
- Depends on: TASK-001
- Output files: \`prices.py\`
- Implementer: claude
- Test contracts:
  - TC-002 (unit): \`python3 -m unittest -q test_prices\`
`;
const WAIT = { timeout: 120_000 };

async function until(holds, what) {
  for (const end = Date.now() + 90_000; Date.now() < end;) {
    const found = await holds();
    if (found) return found;
    await new Promise((go) => setTimeout(go, 30));
  }
  assert.fail(`waited in vain for ${what}`);
}

async function shop(t) {
  const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "shop-")));
  const plan = path.join(folder, "TASK-GRAPH.md");
  fs.writeFileSync(plan, PLAN);
  const who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
  for (const words of [["init", "-q"], ["add", "-A"], [...who, "commit", "-qm", "plan"]]) {
    execFileSync("git", words, { cwd: folder });
  }
  const { host, extension } = load();
  host.settings["runner.path"] = RUNNER;
  t.after(async () => {
    await extension.deactivate();
    fs.rmSync(folder, { recursive: true, force: true });
  });
  const context = { subscriptions: [] };
  await extension.activate(context);
  return { folder, plan, host, extension, context };
}

const messages = (host, where) => (host.problems.get(where) ?? []).map((one) => one.parts[1]);

test("mistakes are shown while a person types, and go when they are mended", WAIT, async (t) => {
  const { plan, host } = await shop(t);
  const document = await host.open(plan);
  await until(() => host.problems.has(plan), "the first mistakes");
  assert.deepEqual(messages(host, plan).filter((one) => one.includes("TASK-009")), []);
  await host.type(document, new Range(13, 14, 13, 22), "TASK-009");
  await until(() => messages(host, plan).some((one) => one.includes("TASK-009")), "a mistake");
  await host.type(document, new Range(13, 14, 13, 22), "TASK-001");
  await until(() => !messages(host, plan).some((one) => one.includes("TASK-009")), "none");
});

test("lenses, hover, definition, rename and completion come from the server", WAIT, async (t) => {
  const { plan, host } = await shop(t);
  const document = await host.open(plan);
  const lenses = await host.ask("CodeLensProvider", "provideCodeLenses", document);
  const titles = lenses.map((one) => one.command?.title ?? one.parts?.[1]?.title);
  assert.deepEqual(titles, [
    "PENDING · ready", "run", "why", "PENDING · waits for TASK-001", "run", "why",
  ]);
  const at = new Position(13, 16);
  const hover = await host.ask("HoverProvider", "provideHover", document, at);
  assert.match(JSON.stringify(hover), /Money/);
  const found = await host.ask("DefinitionProvider", "provideDefinition", document, at);
  assert.equal([found].flat().length, 1);
  assert.match(JSON.stringify(found), /"line":2/);
  const edit = await host.ask("RenameProvider", "provideRenameEdits", document, at, "TASK-007");
  assert.equal(edit.replaced.filter(([, , text]) => text === "TASK-007").length, 2);
  const offered = await host.ask("CompletionItemProvider", "provideCompletionItems", document, at, {});
  assert.match(JSON.stringify(offered), /TASK-001/);
  const hints = await host.ask("InlayHintsProvider", "provideInlayHints", document, new Range(0, 0, 9, 0));
  assert.equal(hints.length, 1);
});

test("run and approve become words for a task of the host; nothing is run by a shell", WAIT, async (t) => {
  const { folder, plan, host } = await shop(t);
  await host.open(plan);
  const press = await until(() => host.commands.get("runner.run"), "the commands");
  await press(`file://${plan}`, "TASK-001");
  const [task] = host.tasks;
  assert.equal(task.execution.process, RUNNER);
  assert.deepEqual(task.execution.args, ["run", "TASK-001"]);
  assert.equal(task.execution.options.cwd, folder);
});

test("why shows its answer as a text that cannot be edited", WAIT, async (t) => {
  const { plan, host } = await shop(t);
  await host.open(plan);
  const press = await until(() => host.commands.get("runner.why"), "the commands");
  await press(`file://${plan}`, "TASK-002");
  const [document] = host.shown;
  assert.equal(document.uri.scheme, "runner-text");
  assert.equal(document.uri.path, "/runner why TASK-002");
  assert.match(document.getText(), /TASK-001/);
});

test("from the palette a command is about the task at the cursor", WAIT, async (t) => {
  const { plan, host } = await shop(t);
  await host.open(plan);
  const press = await until(() => host.commands.get("runner.run"), "the commands");
  const shown = host.vscode.window.activeTextEditor;
  shown.selection = { active: new Position(15, 0) };
  await press();
  assert.deepEqual(host.tasks.map((one) => one.execution.args), [["run", "TASK-002"]]);
  shown.selection = { active: new Position(0, 0) };
  await press();
  await host.commands.get("runner.approve")();
  assert.equal(host.tasks.length, 1);
  assert.deepEqual(host.said.filter((one) => one.kind === "information").map((one) => one.text), [
    "There is nothing to run at the cursor.", "There is nothing to approve at the cursor.",
  ]);
});

test("a task that no open plan has is refused in the server's words", WAIT, async (t) => {
  const { plan, host } = await shop(t);
  await host.open(plan);
  const press = await until(() => host.commands.get("runner.run"), "the commands");
  await press(`file://${plan}`, "TASK-777").catch((error) => host.said.push({ text: error.message }));
  assert.ok(host.said.some((one) => /task "TASK-777" is not in an open plan/.test(one.text)));
  assert.deepEqual(host.tasks, []);
});

test("a restart gives the commands once, and a stop takes them away", WAIT, async (t) => {
  const { plan, host, extension } = await shop(t);
  await host.open(plan);
  await until(() => host.commands.get("runner.run"), "the commands");
  await host.commands.get("runner.restart")();
  assert.ok(host.commands.has("runner.run"));
  await extension.deactivate();
  assert.deepEqual([...host.commands.keys()], ["runner.restart"]);
});
