"""A Zod schema of the project as JSON Schema, said by the project's own node and packages.

Zod 4 has `toJSONSchema`; for Zod 3 the project's `zod-to-json-schema` does it. TypeScript is read
by node itself where it can (types stripped), else by the project's tsx, esbuild or typescript.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from runner.gates.contracts.entries import Refused
from runner.process.tools import which

if TYPE_CHECKING:
    from runner.gates.base import GateContext
    from runner.gates.contracts.contract_context import ContractContext

_SCRIPT = r"""
import { createRequire } from 'node:module';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const [source, name, out] = process.argv.slice(2);
const project = createRequire(join(process.cwd(), 'package.json'));
const optional = (id) => { try { return project(id); } catch { return undefined; } };
const file = resolve(source);

function withoutEcho(node) {
  // Zod spells a format out as a pattern beside it.
  if (node === null || typeof node !== 'object') return node;
  if (typeof node.format === 'string' && typeof node.pattern === 'string') delete node.pattern;
  Object.values(node).forEach(withoutEcho);
  return node;
}

function inJson({ zodSchema, jsonSchema }) {
  // What JSON has no type for, as it travels: Zod itself would refuse the whole schema.
  const kind = zodSchema?._zod?.def?.type;
  if (kind === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
  if (kind === 'bigint') jsonSchema.type = 'integer';
}

function finish(document) {
  writeFileSync(out + '.new', JSON.stringify(document));
  renameSync(out + '.new', out);
}

function inProject(text) {
  const folder = process.cwd() + '/';
  return text.replaceAll(pathToFileURL(folder).href, '').replaceAll(folder, '');
}

function show(problem) {
  // The project's own frames alone; what has none is said in one line by whoever called.
  const isFrame = (line) => /^\s+at /.test(line);
  const ours = (line) => line.includes(import.meta.url) || /\bnode:/.test(line);
  const lines = String(problem?.stack ?? problem).split('\n');
  const kept = lines.filter((line) => !(isFrame(line) && ours(line)));
  if (kept.length > 1) console.error(inProject(kept.join('\n')));
}

async function load() {
  if (!existsSync(file)) throw new Error(`${source} is not there`);
  if (!/\.[cm]?tsx?$/.test(file)) return import(pathToFileURL(file).href);
  if (process.features.typescript) return import(pathToFileURL(file).href);
  const tsx = optional('tsx/esm/api');
  const around = pathToFileURL(join(process.cwd(), 'package.json')).href;
  if (tsx) return tsx.tsImport(pathToFileURL(file).href, around);
  const esbuild = optional('esbuild');
  const typescript = esbuild ? undefined : optional('typescript');
  let code;
  if (esbuild) {
    code = esbuild.buildSync({
      entryPoints: [file], bundle: true, write: false, format: 'cjs', platform: 'node',
      packages: 'external', logLevel: 'error',
    }).outputFiles[0].text;
  } else if (typescript) {
    code = typescript.transpileModule(readFileSync(file, 'utf8'), {
      compilerOptions: { module: 'CommonJS', target: 'ES2022', esModuleInterop: true },
    }).outputText;
  } else {
    throw new Error('nothing here reads TypeScript: install tsx, esbuild or typescript in the '
      + 'project, or use node 22.18 or later');
  }
  const module = { exports: {} };
  const require = createRequire(file);
  new Function('module', 'exports', 'require', '__filename', '__dirname', code)(
    module, module.exports, require, file, dirname(file));
  return module.exports;
}

try {
  const found = await load();
  const schema = found[name] ?? found.default?.[name];
  if (schema === undefined) throw new Error(`${source} exports no ${name}`);
  const zod = optional('zod');
  if (!zod) throw new Error('the project has no zod: npm install zod');
  const say = zod.toJSONSchema ?? zod.z?.toJSONSchema;
  const older = say && schema._zod ? undefined : optional('zod-to-json-schema');
  if (say && schema._zod) {
    const how = { unrepresentable: 'any', override: inJson };
    const both = ['output', 'input'].map((io) => withoutEcho(say(schema, { io, ...how })));
    finish({ schemas: both, by: 'zod' });
  } else if (older) {
    const said = older.zodToJsonSchema(schema, { $refStrategy: 'root' });
    finish({ schemas: [said], by: 'zod-to-json-schema' });
  } else {
    throw new Error('this zod cannot say its schemas: npm install zod@4, or zod-to-json-schema '
      + 'beside zod 3');
  }
} catch (problem) {
  show(problem);
  const said = String(problem?.message ?? problem);
  const from = ` imported from ${fileURLToPath(import.meta.url)}`;
  finish({ error: `${source}:${name}: ${inProject(said.replace(from, ''))}` });
  process.exitCode = 1;
}
"""


def line(source: str, name: str, place: ContractContext, bench: GateContext, out: str) -> str:
    """The shell line that writes the schema to `out`; raises Refused where there is no node."""
    node = which("node", bench.environment)
    if node is None:
        raise Refused("tool missing: node, which runs Zod", hint="install node and put it on PATH")
    script = place.put("zod.mjs", _SCRIPT.lstrip().encode())
    return shlex.join((str(node), script, source, name, out))
