"""Check that each written file parses in its language.

The project's own TypeScript parses scripts, JSX too, else Node; what neither can, a grammar does.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from runner.languages.registry import code_row, is_written_in, row_of
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.writes import parsers
from runner.writes.parsers import Mistake, is_costly

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.languages import syntax_tree
    from runner.model import Change
    from runner.process.base import Ran, RunCommand
else:
    syntax_tree = lazy_module("runner.languages.syntax_tree")


CHECK = "compile"
MISSING = "compiler"
"""Check name for files that nothing here can compile: a task's work cannot fix that."""
NO_SUCH_COMMAND = 127

_LANGUAGES = {
    ".pyw": "python",
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "shell",
    ".bash": "shell",
}
_SHEBANG = regex(rb"#![^\n]*?[/ ](python|bash|sh|dash|ksh)[0-9.]*(?:[ \t\r\n]|$)")
# These are JSON with comments, whatever their suffix.
_COMMENTED_JSON = regex(r"(^|/)(tsconfig|jsconfig|\.eslintrc|devcontainer)[^/]*\.json$|\.vscode/")
# Deliberately invalid samples belong to the tests.
_SAMPLES = frozenset(("fixtures", "testdata", "test_data", "golden", "snapshots", "__snapshots__"))
_PARSER_SAYS = regex(r"<[^>]*>:(\d{1,9}):(\d{1,9}): (.*)")
_BASH_SAYS = regex(r"line (\d{1,9}): (.*)")


def compile_file(
    change: Change, run_command: RunCommand | None, python: Path | None = None
) -> Finding | None:
    """Return why a changed file does not compile; None if it does, or if this is unknown.

    `python` is the project's own, asked again when ours refuses: it may be a newer one.
    """
    if change.content is not None and is_script(change.path, change.content):
        return None if run_command is None else _check_script(change, run_command)
    language = language_of(change.path, change.content or b"")
    if change.content is not None and (parser := _parser_of(change.path)):
        return None if run_command is None else _check_syntax(parser, change, run_command)
    if change.content is None or not language or _is_template(change):
        return None
    if language == "shell":
        return _check_shell(change.path, change.content, run_command)
    mistake = _mistake(language, change, run_command)
    if mistake and language == "python" and python and run_command:
        mistake = _ask_child(str(python), language, change, run_command)
    return None if mistake is None else _finding(change.path, mistake)


def language_of(path: str, content: bytes) -> str:
    """Return `python`, `json`, `toml`, `yaml` or `shell`; empty for other files."""
    language = _LANGUAGES.get(Path(path).suffix.lower(), "")
    row = row_of(path.lower())
    if row is not None and row.name == "python":
        return row.name
    if language == "json" and _COMMENTED_JSON.search(path):
        return ""
    if not language and "." not in Path(path).name and (found := _SHEBANG.match(content[:200])):
        return "python" if found[1] == b"python" else "shell"
    return language


def is_missing_tool(ran: Ran) -> bool:
    """Return whether a command ended because its program is missing."""
    return ran.exit == NO_SUCH_COMMAND or ran.ended == "could-not-start"


def make_missing_tool(tool: str, paths: Sequence[str], output: str = "") -> Finding:
    """Return the finding for files whose compiler is missing."""
    return Finding(
        MISSING,
        f"not compiled: {tool} is not installed",
        path=paths[0] if len(paths) == 1 else "",
        hint=f"install {tool}, then: runner; `runner doctor` lists what is missing",
        detail="\n".join((*(paths if len(paths) > 1 else ()), *((output,) if output else ()))),
    )


def lacks_only_tools(findings: Iterable[Finding]) -> bool:
    """Return whether all refusals are for missing compilers, and there is at least one."""
    refusals = [finding for finding in findings if finding.refuses]
    return bool(refusals) and all(finding.check == MISSING for finding in refusals)


def _mistake(
    language: str, change: Change, run_command: RunCommand | None
) -> parsers.Mistake | None:
    content = change.content or b""
    if is_costly(language, content):
        if run_command is None:
            return parsers.Mistake("too large or too complex to parse")
        return _ask_child(sys.executable, language, change, run_command)
    try:
        parsers.parse(language, content, change.path)
    except parsers.Mistake as mistake:
        return mistake
    return None


def _ask_child(
    program: str, language: str, change: Change, run_command: RunCommand
) -> parsers.Mistake | None:
    content = change.content or b""
    seconds = max(1, -(-len(content) >> 20))  # one for each megabyte
    script = Path(parsers.__file__).read_text(encoding="utf-8") + "\nchild()\n"
    # -I: keeps the tree's modules and the user's environment out of this interpreter.
    argv = (program, "-I", "-c", script, language, change.path, str(seconds))
    ran = run_command(argv, stdin=content)
    if ran.passed:
        return None
    return _parse_mistake(ran) or parsers.Mistake(f"not parsed within {seconds} s of CPU time")


def _parse_mistake(ran: Ran) -> parsers.Mistake | None:
    """Parse the mistake in the last output line of a child; return None if there is none."""
    last = ran.tail.rstrip().rpartition("\n")[2]
    try:
        parsed = json.loads(last)
    except (ValueError, RecursionError):
        return None
    match parsed:
        case [str(message), int(line), int(column)]:
            return parsers.Mistake(message, line, column)
    return None


def _check_script(change: Change, run_command: RunCommand) -> Finding | None:
    found = script_mistake(change, run_command)
    match found:
        case parsers.Mistake():
            return _finding(change.path, found)
        case str() if found.startswith("tool:"):
            return make_missing_tool(found.removeprefix("tool:"), (change.path,))
        case str():
            return check_syntax(change.path, change.content or b"", found)
    return None


def _parser_of(path: str) -> tuple[str, ...]:
    row = code_row(path)
    return row.language.syntax if row is not None else ()


def _check_syntax(
    parser: tuple[str, ...], change: Change, run_command: RunCommand
) -> Finding | None:
    """Check one file with a parser, in a project or without one."""
    ran = run_command(parser, stdin=change.content or b"")
    found = _PARSER_SAYS.search(ran.tail)
    if ran.passed:
        return None
    if found is None:  # where a project compiles it, that says what is missing
        return check_syntax(change.path, change.content or b"", f"{parser[0]} is not installed")
    return _finding(change.path, Mistake(found[3], int(found[1]), int(found[2])))


def _check_shell(path: str, content: bytes, run_command: RunCommand | None) -> Finding | None:
    if run_command is None:
        return None
    ran = run_command(("bash", "-n"), stdin=content)
    if is_missing_tool(ran) and not path.endswith(".bash") and b"bash" not in content[:200]:
        ran = run_command(("sh", "-n"), stdin=content)  # what it is written for is there
    if ran.passed:
        return None
    if is_missing_tool(ran):
        return make_missing_tool("bash", (path,))
    found = _BASH_SAYS.search(ran.tail)
    line, message = (int(found[1]), found[2]) if found else (0, "`bash -n` reports a syntax error")
    return _finding(path, parsers.Mistake(message, line), detail=ran.tail)


def _finding(path: str, mistake: parsers.Mistake, detail: str = "") -> Finding:
    sample = bool(_SAMPLES & set(path.split("/")[:-1]))
    return Finding(
        CHECK,
        mistake.message,
        path=path,
        line=mistake.line,
        column=mistake.column,
        severity=Severity.WARNING if sample else Severity.ERROR,
        hint="" if sample else "fix the syntax",
        detail=detail,
    )


def _is_template(change: Change) -> bool:
    """Return whether a data file is a Helm or Jinja template, so it cannot be parsed."""
    folders = change.path.split("/")[:-1]
    placed = "templates" in folders or any("{{" in folder for folder in folders)
    return placed and not is_written_in(change.path, "python") and b"{{" in (change.content or b"")


_LARGEST = 5_000_000
_NO_SCRIPT = regex(rb"\A(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|TS\b)|\x00", re.IGNORECASE)
"""Translations of Qt and films also have the suffix `.ts`."""

_SCRIPT = r"""
const fs = require('node:fs'), path = require('node:path'), vm = require('node:vm');
const { createRequire } = require('node:module');
const { spawnSync } = require('node:child_process'), os = require('node:os');
const name = process.argv[1], text = fs.readFileSync(0, 'utf8').replace(/^\uFEFF/, '');
const ending = path.extname(name), typed = /^\.[mc]?tsx?$/.test(ending);
const say = (what) => {
  console.log('\n' + JSON.stringify(what));
  process.exit(what.message ? 1 : 0);
};

const folders = [];
for (let at = path.resolve(path.dirname(name)); ; at = path.dirname(at)) {
  folders.push(at);
  if (at === path.dirname(at) || fs.existsSync(path.join(at, '.git'))) break;
}

function parser() {
  const programs = (process.env.PATH ?? '').split(path.delimiter);
  const places = programs.map((one) => path.join(one, 'tsc'));
  for (const place of [path.resolve(name), ...places.filter((one) => fs.existsSync(one))]) {
    const from = fs.existsSync(place) ? fs.realpathSync(place) : place;
    try {
      const found = createRequire(from), ts = found('typescript');
      if (ts.createSourceFile) return { ts };
      // Since version 7 its parser is a program of its own, which `tsc` starts.
      const main = found.resolve('typescript');
      if (ts.version) return { tsc: main.replace(/lib.[^/\\]*$/, 'bin/tsc') };
    } catch { /* the next one may have it */ }
  }
  return undefined;
}

function byProgram(tsc) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'syntax-'));
  const own = path.join(folder, path.basename(name));
  fs.writeFileSync(own, text);
  const options = ['--noEmit', '--noCheck', '--noResolve', '--noLib', '--ignoreConfig', '--allowJs',
    '--jsx', 'preserve', '--pretty', 'false', '--types', '', own];
  const ran = spawnSync(process.execPath, [tsc, ...options], { cwd: folder, encoding: 'utf8' });
  fs.rmSync(folder, { recursive: true, force: true });
  if (ran.error || (ran.status !== 0 && !/error TS\d/.test(ran.stdout))) return;
  // What a parser says has numbers from 1000 and from 17000; the rest is of types and settings.
  const mistake = /\((\d+),(\d+)\): error TS(?:1\d{3}|17\d{3}|2657): ([^\n]*)/.exec(ran.stdout);
  say(mistake ? { message: mistake[3], line: Number(mistake[1]), column: Number(mistake[2]) } : {});
}

function byTypeScript(ts) {
  const Kind = ts.ScriptKind;
  const kind = ending === '.tsx' ? Kind.TSX : typed ? Kind.TS : Kind.JSX;
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false, kind);
  const [first] = file.parseDiagnostics ?? [];
  if (!first) say({});
  const at = file.getLineAndCharacterOfPosition(first.start ?? 0);
  const message = ts.flattenDiagnosticMessageText(first.messageText, ' ');
  say({ message, line: at.line + 1, column: at.character + 1 });
}

function manifest(folder) {
  try { return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')); }
  catch { return {}; }
}

const TRANSLATES = new RegExp('^(?:@babel/(?:core|cli|preset-.*)|babel-.*|webpack|vite|vitest|'
  + 'rollup|esbuild|parcel|@parcel/.*|next|nuxt|react-scripts|metro|react-native|expo|@swc/.*|'
  + 'sucrase|tsup|gatsby|svelte|@sveltejs/.*|vue|flow-bin|tsx|ts-node|typescript|jest|snowpack|'
  + 'browserify|astro)$');
const BUNDLERS = 'webpack|vite|rollup|next|metro|nuxt|svelte|astro|gatsby|esbuild|parcel';
const CONFIGURED = new RegExp('^(?:\\.babelrc(?:\\..*)?|babel\\.config\\..*|\\.swcrc|\\.flowconfig|'
  + `tsconfig.*\\.json|(?:${BUNDLERS})[.-]config\\..*)$`);

function translated(only) {
  return folders.some((folder) => {
    const own = manifest(folder);
    const { dependencies, devDependencies, peerDependencies } = own;
    const needs = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
    if (only) return needs.includes('typescript');
    let names = [];
    try { names = fs.readdirSync(folder); } catch { /* not ours to read */ }
    const named = needs.some((one) => TRANSLATES.test(one));
    return own.babel || named || names.some((one) => CONFIGURED.test(one));
  });
}

function compiled(make) {
  try { make(); return undefined; } catch (problem) {
    if (!(problem instanceof SyntaxError)) return undefined;
    const place = /^[^\n]*:(\d+)\n/.exec(problem.stack ?? '');
    return { message: problem.message, line: place ? Number(place[1]) : 0, column: 0 };
  }
}

// what may be JSX is not refused for it
const mayBeJsx = ending === '.jsx' || (/<\/|\/>/.test(text) && /<\/?[A-Za-z>][^\n]*>/.test(text));
const code = text.replace(/^#!/, '//');
const around = ['exports', 'require', 'module', '__filename', '__dirname'];
const asScript = () => compiled(() => vm.compileFunction(code, around, { filename: name }));
const asSloppy = () => compiled(() => new vm.Script(code, { filename: name }));
const asModule = () => compiled(() => new vm.SourceTextModule(code, { identifier: name }));
const both = [asModule, asScript, asSloppy];
const ways = ending === '.mjs' ? [asModule] : ending === '.cjs' ? [asScript] : both;
const wrong = typed ? [] : ways.map((way) => way());
// What Node takes is JavaScript, whatever TypeScript thinks of old octals and HTML comments.
if (wrong.some((one) => one === undefined)) say({});
// To Node a file of this ending is no module, whatever else can parse it (nodejs.org, packages).
if (ending === '.cjs' && asModule() === undefined) say(wrong[0]);
const flow = /@flow\b/.test(text.slice(0, 2000));
const own = flow ? undefined : parser();
if (own?.ts) byTypeScript(own.ts);
if (own?.tsc) byProgram(own.tsc);
const made = typed && !/\.d\.[mc]?ts$/.test(name) && translated(true);  // not of declarations
if (typed) say(made ? { missing: 'tsc' } : { note: 'no parser for TypeScript here' });
if (flow) say({ note: 'no parser for Flow here' });
const starts = '(?:^[ \\t]*|[{;][ \\t]+)', using = '(?:await\\s+)?using\\s+[\\w$]+\\s*=';
const isNewer = new RegExp(`${starts}(?:${using}|@[\\w$])|\\bimport\\s+(?:defer|source)\\s`, 'm');
if (isNewer.test(text)) say({ note: 'its syntax is newer than this Node' });
if (mayBeJsx) say({ note: 'no parser for JSX here' });
if (translated(false)) say({ note: 'no parser for the syntax that its build tools translate' });
const esm = /^[ \t]*(?:import|export)\b/m.test(text);
say(esm || wrong.length === 1 ? wrong[0] : wrong[1]);
"""


def is_script(path: str, content: bytes) -> bool:
    """Return whether a file is JavaScript or TypeScript, by its suffix and first bytes."""
    if not is_written_in(path, "javascript") or len(content) > _LARGEST:
        return False
    return not _NO_SCRIPT.search(content[:4096])


def script_mistake(change: Change, run_command: RunCommand) -> Mistake | str | None:
    """Return a syntax error, or why Node cannot check the file, or `tool:` and a missing tool."""
    # Only this flag enables vm.SourceTextModule, which parses a module without running it
    # (nodejs.org, vm).
    options = ("--experimental-vm-modules", "--no-warnings")
    argv = ("node", *options, "-e", _SCRIPT, "--", change.path)
    reply = _parse_answer(run_command(argv, stdin=change.content or b""))
    if reply is None:
        return "no usable Node.js found"  # or one that does not take this
    if reply.get("missing"):
        return f"tool:{reply['missing']}"
    if message := reply.get("message"):
        line, column = reply.get("line"), reply.get("column")
        places = (each if isinstance(each, int) else 0 for each in (line, column))
        return Mistake(str(message), *places)
    note = reply.get("note")
    return str(note) if note else None


_DIALECTS = (
    *("no parser for Flow here", "its syntax is newer than this Node"),
    "no parser for the syntax that its build tools translate",
)
"""Files in which a grammar error may be valid code; it rejects nothing."""


def check_syntax(path: str, content: bytes, why: str) -> Finding | None:
    """Check a file by the language's grammar if no compiler parsed it; `why` says the reason."""
    text = content.decode("utf-8-sig", "replace")
    tree = syntax_tree.parse_file(path, text) if len(content) <= _LARGEST else None
    if tree is not None and not tree.errors:
        return None
    if tree is not None and why not in _DIALECTS:
        return _finding(path, Mistake(*tree.errors[0]))
    return Finding(CHECK, f"not parsed: {why}", path=path, severity=Severity.NOTE)


def _parse_answer(ran: Ran) -> dict[str, object] | None:
    last = ran.tail.rstrip().rpartition("\n")[2]
    try:
        reply = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return reply if isinstance(reply, dict) else None
