"""Hot compile of JavaScript and TypeScript, file by file: its syntax alone.

The project's own TypeScript parses all of it, JSX too. Without it Node says whether a file is a
script or a module; JSX, Flow and what a bundler translates are for other parsers, and that is said.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.languages.registry import is_written_in
from runner.model import Finding, Severity
from runner.writes.parsers import Mistake

if TYPE_CHECKING:
    from runner.model import Change
    from runner.process.base import Ran, RunCommand

_LARGEST = 5_000_000
_NO_SCRIPT = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|TS\b)|\x00", re.IGNORECASE)
"""Translations of Qt and films have the ending `.ts`, too."""

_SCRIPT = r"""
const fs = require('node:fs'), path = require('node:path'), vm = require('node:vm');
const { createRequire } = require('node:module');
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
    try { return createRequire(from)('typescript'); } catch { /* the next one may have it */ }
  }
  return undefined;
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
    const said = manifest(folder);
    const { dependencies, devDependencies, peerDependencies } = said;
    const needs = Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
    if (only) return needs.includes('typescript');
    let names = [];
    try { names = fs.readdirSync(folder); } catch { /* not ours to read */ }
    const named = needs.some((one) => TRANSLATES.test(one));
    return said.babel || named || names.some((one) => CONFIGURED.test(one));
  });
}

function compiled(make) {
  try { make(); return undefined; } catch (problem) {
    if (!(problem instanceof SyntaxError)) return undefined;
    const place = /^[^\n]*:(\d+)\n/.exec(problem.stack ?? '');
    return { message: problem.message, line: place ? Number(place[1]) : 0, column: 0 };
  }
}

const flow = /@flow\b/.test(text.slice(0, 2000));
const ts = flow ? undefined : parser();
if (ts) byTypeScript(ts);
if (typed) say(translated(true) ? { missing: 'tsc' } : { note: 'no parser for TypeScript here' });
if (flow) say({ note: 'no parser for Flow here' });
// what may be JSX is not refused for it
const mayBeJsx = ending === '.jsx' || (/<\/|\/>/.test(text) && /<\/?[A-Za-z>][^\n]*>/.test(text));
const code = text.replace(/^#!/, '//');
const around = ['exports', 'require', 'module', '__filename', '__dirname'];
const asScript = () => compiled(() => vm.compileFunction(code, around, { filename: name }));
const asSloppy = () => compiled(() => new vm.Script(code, { filename: name }));
const asModule = () => compiled(() => new vm.SourceTextModule(code, { identifier: name }));
const both = [asModule, asScript, asSloppy];
const ways = ending === '.mjs' ? [asModule] : ending === '.cjs' ? [asScript] : both;
const wrong = ways.map((way) => way());
if (wrong.some((one) => one === undefined)) say({});
const isNewer = /^\s*(?:await\s+)?using\s+[\w$]+\s*=|^\s*@[\w$]|\bimport\s+(?:defer|source)\s/m;
if (isNewer.test(text)) say({ note: 'its syntax is newer than this Node' });
if (mayBeJsx) say({ note: 'no parser for JSX here' });
if (translated(false)) say({ note: 'no parser here for what its package translates' });
const esm = /^\s*(?:import|export)\b/m.test(text);
say(esm || wrong.length === 1 ? wrong[0] : wrong[1]);
"""


def is_script(path: str, content: bytes) -> bool:
    """Whether this is JavaScript or TypeScript, by its ending and its first bytes."""
    ends = is_written_in(path, "javascript") and not path.endswith(".d.ts")
    return ends and len(content) <= _LARGEST and not _NO_SCRIPT.search(content[:4096])


def script_mistake(change: Change, run_command: RunCommand) -> Mistake | Finding | str | None:
    """What keeps a file from parsing, a note why nobody could say, or `tool:` what is missing."""
    options = ("--experimental-vm-modules", "--no-warnings")
    argv = ("node", *options, "-e", _SCRIPT, "--", change.path)
    said = _parse_answer(run_command(argv, stdin=change.content or b""))
    if said is None:
        return None  # no Node, or one that does not take this: nobody can tell
    if said.get("missing"):
        return f"tool:{said['missing']}"
    if message := said.get("message"):
        line, column = said.get("line"), said.get("column")
        places = (each if isinstance(each, int) else 0 for each in (line, column))
        return Mistake(str(message), *places)
    note = said.get("note")
    return _make_unseen(change.path, str(note)) if note else None


def _make_unseen(path: str, why: str) -> Finding:
    return Finding("compile", f"not compiled: {why}", path=path, severity=Severity.NOTE)


def _parse_answer(ran: Ran) -> dict[str, object] | None:
    last = ran.tail.rstrip().rpartition("\n")[2]
    try:
        said = json.loads(last)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None
