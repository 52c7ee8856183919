/** Starts `runner lsp` once one of its files is open, and carries out what its lenses stand for. */

import * as vscode from "vscode";
import {
  CloseAction, ErrorAction, LanguageClient, type LanguageClientOptions,
} from "vscode-languageclient/node";

import { argumentsAt, carryOut, COMMANDS, Texts, TEXTS } from "./lenses";
import { runnerPath } from "./settings";

const FILES = ["TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md", "PATTERN_INDEX.md"];
const HINT = "pipx install 'task-graph-runner[lsp]', or set runner.path";

export function isOurs(document: vscode.TextDocument): boolean {
  const name = document.uri.path.split("/").pop() ?? "";
  return document.uri.scheme === "file" && FILES.includes(name);
}

class Editor {
  private client: LanguageClient | undefined;
  private starting: Promise<void> | undefined;

  constructor(
    private readonly texts: Texts,
    private readonly output: vscode.LogOutputChannel,
  ) {}

  /** Start the server, once. A failure is told, and the next open file tries again. */
  async start(): Promise<void> {
    this.starting ??= this.begin();
    await this.starting;
  }

  private async begin(): Promise<void> {
    const client = new LanguageClient(
      "runner", "Task graph runner",
      { command: runnerPath(), args: ["lsp"] }, this.options(),
    );
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      this.starting = undefined;
      await this.tell(error);
    }
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: FILES.map((name) => ({ scheme: "file", pattern: `**/${name}` })),
      initializationOptions: { terminal: true },
      outputChannel: this.output,
      // A server that dies is told once and not started again and again: `restart` does that.
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => ({ action: CloseAction.DoNotRestart }),
      },
      initializationFailedHandler: () => false,
      middleware: {
        executeCommand: async (command, told, next) => {
          if (!COMMANDS.includes(command)) {
            return next(command, told);
          }
          const at = told.length > 0 ? told : await this.atCursor(command);
          if (at === undefined) {
            return undefined;
          }
          await carryOut(await next(command, at), this.texts);
          return undefined;
        },
      },
    };
  }

  /** What the palette's command is about: the task at the cursor of the plan that is shown. */
  private async atCursor(command: string): Promise<unknown[] | undefined> {
    const shown = vscode.window.activeTextEditor;
    if (this.client === undefined || shown === undefined || !isOurs(shown.document)) {
      void vscode.window.showInformationMessage("Open a TASK-GRAPH.md and stand in a task.");
      return undefined;
    }
    const uri = this.client.code2ProtocolConverter.asUri(shown.document.uri);
    const lenses = await this.client.sendRequest<never[] | null>(
      "textDocument/codeLens", { textDocument: { uri } },
    );
    const found = argumentsAt(lenses ?? [], command, shown.selection.active.line);
    if (found === undefined) {
      const word = command.slice("runner.".length);
      void vscode.window.showInformationMessage(`There is nothing to ${word} at the cursor.`);
    }
    return found;
  }

  private async tell(error: unknown): Promise<void> {
    const why = error instanceof Error ? error.message : String(error);
    this.output.error(why);
    const open = "Open settings";
    const said = `${runnerPath()} lsp did not start: ${why}. ${HINT}.`;
    if ((await vscode.window.showErrorMessage(said, open)) === open) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "runner.path");
    }
  }

  async stop(): Promise<void> {
    await this.starting;
    const client = this.client;
    this.client = undefined;
    this.starting = undefined;
    if (client?.isRunning()) {
      await client.stop();
    }
    await client?.dispose();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Take another program; where none was started, none is. */
  async takePath(): Promise<void> {
    if (this.starting !== undefined) {
      await this.restart();
    }
  }
}

let editor: Editor | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const texts = new Texts();
  const output = vscode.window.createOutputChannel("Task graph runner", { log: true });
  const started = (editor = new Editor(texts, output));
  const startFor = (document: vscode.TextDocument): Promise<void> =>
    isOurs(document) ? started.start() : Promise.resolve();
  context.subscriptions.push(
    texts,
    output,
    vscode.workspace.registerTextDocumentContentProvider(TEXTS, texts),
    vscode.commands.registerCommand("runner.restart", () => started.restart()),
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration("runner.path") ? started.takePath() : undefined,
    ),
  );
  // Not waited for: a host that activates an extension shows no progress for what takes long.
  void Promise.all(vscode.workspace.textDocuments.map(startFor));
}

export async function deactivate(): Promise<void> {
  await editor?.stop();
  editor = undefined;
}
