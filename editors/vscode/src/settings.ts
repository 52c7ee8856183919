import * as vscode from "vscode";

/** The program `runner`, as the person's own settings name it: a name on PATH, or a path. */
export function runnerPath(): string {
  const told = vscode.workspace.getConfiguration("runner").inspect<string>("path");
  // A workspace may not say which program is started, whatever a host makes of the setting's scope.
  return told?.globalValue?.trim() || told?.defaultValue || "runner";
}
