// A stand-in for the module `vscode`: as much of a host as the extension and its client library
// touch. What is registered is kept, so that a test can press it; documents are plain texts.
"use strict";

const Module = require("node:module");
const fs = require("node:fs");
const path = require("node:path");
const { pathToFileURL, fileURLToPath } = require("node:url");

class Disposable {
  constructor(end) { this.end = end; }
  static from(...all) { return new Disposable(() => all.forEach((one) => one.dispose())); }
  dispose() { this.end?.(); this.end = undefined; }
}

class EventEmitter {
  heard = new Set();
  event = (listener, self) => {
    const one = self === undefined ? listener : listener.bind(self);
    this.heard.add(one);
    return new Disposable(() => this.heard.delete(one));
  };
  fire(what) { return Promise.all([...this.heard].map((one) => one(what))); }
  dispose() { this.heard.clear(); }
}

class Uri {
  constructor(parts) { Object.assign(this, { scheme: "", authority: "", path: "", query: "", fragment: "" }, parts); }
  static from(parts) { return new Uri(parts); }
  static file(where) { return new Uri({ scheme: "file", path: where }); }
  static parse(text) {
    if (text.startsWith("file:")) return Uri.file(fileURLToPath(text));
    const url = new URL(text);
    return new Uri({ scheme: url.protocol.slice(0, -1), path: decodeURIComponent(url.pathname) });
  }
  get fsPath() { return this.path; }
  with(change) { return new Uri({ ...this, ...change }); }
  toString() {
    return this.scheme === "file" ? pathToFileURL(this.path).href : `${this.scheme}:${this.path}`;
  }
}

class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}

class Range {
  constructor(start, end, line, character) {
    [this.start, this.end] = typeof start === "number"
      ? [new Position(start, end), new Position(line, character)] : [start, end];
  }
}

class CancellationTokenSource {
  emitter = new EventEmitter();
  token = { isCancellationRequested: false, onCancellationRequested: this.emitter.event };
  cancel() { this.token.isCancellationRequested = true; this.emitter.fire(); }
  dispose() {}
}

const ENUMS = {
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  FileType: { Unknown: 0, File: 1, Directory: 2 },
  LogLevel: { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 },
  TaskScope: { Global: 1, Workspace: 2 },
  TaskRevealKind: { Always: 1 },
  TaskPanelKind: { Dedicated: 2 },
};

/** A class of the host that only holds what it is built from. */
function holder(name) {
  return { [name]: class { constructor(...parts) { this.parts = parts; } } }[name];
}

class Host {
  settings = { "runner.path": "runner", "runner.trace.server": "off" };
  workspaceSettings = {};
  documents = [];
  commands = new Map();
  providers = [];
  problems = new Map();
  tasks = [];
  shown = [];
  said = [];
  contents = new Map();
  registered = new Set();
  events = {};
  answerTo = undefined;

  event(name) { return (this.events[name] ??= new EventEmitter()).event; }
  fire(name, what) { return (this.events[name] ??= new EventEmitter()).fire(what); }

  /** A document that the host has open, without telling anybody. */
  hold(where, text = fs.readFileSync(where, "utf8"), languageId = "markdown") {
    const lines = () => document.text.split("\n");
    const document = {
      uri: typeof where === "string" ? Uri.file(where) : where,
      languageId, version: 1, text, isClosed: false, isDirty: false,
      getText() { return this.text; },
      get lineCount() { return lines().length; },
      lineAt(line) { return { text: lines()[line] }; },
      get fileName() { return this.uri.path; },
    };
    this.documents.push(document);
    return document;
  }

  /** A person opens a file. */
  async open(where, text) {
    const document = this.hold(where, text);
    this.vscode.window.activeTextEditor = { document, selection: { active: new Position(0, 0) } };
    await this.fire("onDidOpenTextDocument", document);
    return document;
  }

  /** A person types over a range. */
  async type(document, range, text) {
    const lines = document.text.split("\n");
    const at = (place) => lines.slice(0, place.line).join("\n").length + (place.line > 0) + place.character;
    const [start, end] = [at(range.start), at(range.end)];
    document.text = document.text.slice(0, start) + text + document.text.slice(end);
    document.version += 1;
    const change = { range, rangeOffset: start, rangeLength: end - start, text };
    await this.fire("onDidChangeTextDocument", { document, contentChanges: [change], reason: undefined });
  }

  /** What a kind of question is answered with by whoever registered for a document. */
  ask(kind, method, document, ...more) {
    const found = this.providers.find((one) => one.kind === kind && matches(one.selector, document));
    if (found === undefined) throw new Error(`nobody provides ${kind} for ${document.uri}`);
    return found.provider[method](document, ...more, new CancellationTokenSource().token);
  }

  async change(settings) {
    Object.assign(this.settings, settings);
    await this.fire("onDidChangeConfiguration", { affectsConfiguration: (name) => name in settings });
  }

  vscode = this.make();

  make() {
    const host = this;
    const say = (kind) => async (text, ...buttons) => {
      host.said.push({ kind, text, buttons });
      return host.answerTo?.(text, buttons);
    };
    const listening = new Proxy({}, { get: (_, name) => /^on[A-Z]/.test(String(name)) ? host.event(name) : undefined });
    const withEvents = (object) => new Proxy(object, {
      get: (known, name) => name in known ? known[name] : listening[name],
    });
    const languages = new Proxy({
      match: (selector, document) => matches(selector, document) ? 10 : 0,
      createDiagnosticCollection: () => ({
        set: (uri, found) => { host.problems.set(uri.path, found); host.fire("problems", uri.path); },
        delete: (uri) => host.problems.delete(uri.path),
        clear: () => host.problems.clear(),
        dispose: () => host.problems.clear(),
      }),
    }, {
      get: (known, name) => name in known ? known[name]
        : /^register/.test(String(name)) ? (selector, provider) => {
          const one = { kind: String(name).slice("register".length), selector, provider };
          host.providers.push(one);
          return new Disposable(() => { host.providers = host.providers.filter((other) => other !== one); });
        } : listening[name],
    });
    const known = {
      version: "1.91.0", Disposable, EventEmitter, Uri, Position, Range, CancellationTokenSource, ...ENUMS,
      env: { language: "en", appName: "stand-in" },
      ProcessExecution: class { constructor(process, args, options) { Object.assign(this, { process, args, options }); } },
      Task: class {
        constructor(definition, scope, name, source, execution) {
          Object.assign(this, { definition, scope, name, source, execution });
        }
      },
      WorkspaceEdit: class {
        replaced = [];
        replace(uri, range, text) { this.replaced.push([uri, range, text]); }
        set(uri, edits) { for (const one of edits) this.replaced.push([uri, ...(one[0] ?? one).parts]); }
      },
      tasks: { executeTask: async (task) => { host.tasks.push(task); } },
      commands: {
        registerCommand: (name, done) => {
          if (host.commands.has(name)) throw new Error(`command '${name}' already exists`);
          host.commands.set(name, done);
          return new Disposable(() => host.commands.delete(name));
        },
        executeCommand: async (name, ...told) => host.commands.has(name)
          ? host.commands.get(name)(...told) : host.said.push({ kind: "command", text: name, told }),
      },
      languages,
      workspace: withEvents({
        get textDocuments() { return host.documents; },
        notebookDocuments: [],
        workspaceFolders: undefined,
        fs: {},
        getWorkspaceFolder: () => undefined,
        getConfiguration: (section) => ({
          get: (name, otherwise) => host.workspaceSettings[`${section}.${name}`] ?? host.settings[`${section}.${name}`] ?? otherwise,
          inspect: (name) => ({
            key: `${section}.${name}`, defaultValue: "runner",
            globalValue: host.settings[`${section}.${name}`],
            workspaceValue: host.workspaceSettings[`${section}.${name}`],
          }),
        }),
        registerTextDocumentContentProvider: (scheme, provider) => {
          host.contents.set(scheme, provider);
          return new Disposable(() => host.contents.delete(scheme));
        },
        openTextDocument: async (uri) => host.hold(uri, host.contents.get(uri.scheme).provideTextDocumentContent(uri), "plaintext"),
        createFileSystemWatcher: () => withEvents({ dispose() {} }),
        applyEdit: async () => true,
      }),
      window: withEvents({
        activeTextEditor: undefined,
        visibleTextEditors: [],
        tabGroups: withEvents({ all: [] }),
        showInformationMessage: say("information"),
        showWarningMessage: say("warning"),
        showErrorMessage: say("error"),
        showTextDocument: async (document) => { host.shown.push(document); },
        createOutputChannel: () => {
          const write = (...words) => host.said.push({ kind: "log", text: words.join(" ") });
          return { append: write, appendLine: write, error: write, warn: write, info: write, debug: write,
            trace: write, show() {}, clear() {}, dispose() {}, logLevel: 3, onDidChangeLogLevel: host.event("level") };
        },
        withProgress: async (_, done) => done({ report() {} }, new CancellationTokenSource().token),
      }),
    };
    return new Proxy(known, {
      get: (there, name) => {
        if (name in there || typeof name !== "string") return there[name];
        return (there[name] = /^[A-Z].*(Kind|Tag|Reason|Location)$/.test(name)
          ? new Proxy({}, { get: (_, member) => member }) : holder(name));
      },
    });
  }
}

function matches(selector, document) {
  return (Array.isArray(selector) ? selector : [selector]).some((one) =>
    (one.scheme === undefined || one.scheme === document.uri.scheme) &&
    (one.pattern === undefined || path.basename(document.uri.path) === String(one.pattern.pattern ?? one.pattern).split("/").pop()));
}

/** A fresh host, and the extension as it is packaged, loaded into it. */
function load() {
  const host = new Host();
  const built = require.resolve("../dist/extension.js");
  const known = Module._load;
  delete require.cache[built];
  Module._load = (name, ...more) => (name === "vscode" ? host.vscode : known(name, ...more));
  try {
    return { host, extension: require(built) };
  } finally {
    Module._load = known;
  }
}

module.exports = { load, Uri, Position, Range };
