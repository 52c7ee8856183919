/** What stands behind the lenses of a task: lines for a terminal, and texts to read. */

import * as vscode from "vscode";

import { runnerPath } from "./settings";

/** What `runner lsp` answers to a lens: it starts nothing itself. */
export type Answer = { terminal: string[]; folder: string } | { title: string; text: string };

export const TEXTS = "runner-text";

/** A person's four commands, in the order in which a lens shows them. */
export const COMMANDS = ["runner.run", "runner.why", "runner.evidence", "runner.approve"];

export function isAnswer(told: unknown): told is Answer {
  if (typeof told !== "object" || told === null) {
    return false;
  }
  const one = told as Record<string, unknown>;
  const words = one.terminal;
  return (
    (Array.isArray(words) && words.length > 0 && words.every((word) => typeof word === "string") &&
      typeof one.folder === "string") ||
    (typeof one.title === "string" && typeof one.text === "string")
  );
}

/** Texts that are shown read-only, each under its own title. */
export class Texts implements vscode.TextDocumentContentProvider {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "";
  }

  async show(title: string, text: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme: TEXTS, path: `/${title}` });
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: true, preserveFocus: true });
  }

  dispose(): void {
    this.changed.dispose();
  }
}

/** Carry out an answer: a line in a terminal that stays open, or a text beside the plan. */
export async function carryOut(told: unknown, texts: Texts): Promise<void> {
  if (!isAnswer(told)) {
    throw new Error("the language server answered with something that is no command");
  }
  if ("text" in told) {
    await texts.show(told.title, told.text);
    return;
  }
  // Words, not a line: no shell reads a task's id.
  const run = new vscode.ProcessExecution(runnerPath(), told.terminal.slice(1), {
    cwd: told.folder,
  });
  const name = told.terminal.join(" ");
  const task = new vscode.Task(
    { type: "runner", words: told.terminal }, vscode.TaskScope.Workspace, name, "runner", run, [],
  );
  task.presentationOptions = {
    reveal: vscode.TaskRevealKind.Always,
    panel: vscode.TaskPanelKind.Dedicated,
    focus: true,
  };
  await vscode.tasks.executeTask(task);
}

/** A lens as the palette needs it: which task, which command. */
interface Lens {
  range: { start: { line: number } };
  command?: { command?: string; arguments?: unknown[] };
}

/**
 * What the lens of a command above a line would be told: the nearest task at or above it. Undefined
 * where that task has no such lens, so that the palette offers no more than the lenses do.
 */
export function argumentsAt(
  lenses: readonly Lens[], command: string, line: number,
): unknown[] | undefined {
  const above = lenses.map((lens) => lens.range.start.line).filter((start) => start <= line);
  const nearest = Math.max(...above, -1);
  return lenses.find(
    (lens) => lens.range.start.line === nearest && lens.command?.command === command,
  )?.command?.arguments;
}
