"""Test a `schema:` contract: a JSON Schema against a type, instances or a Zod schema."""

from __future__ import annotations

import json
import posixpath
import shlex
from typing import TYPE_CHECKING

from msgspec.structs import replace

from runner.contracts.contract_context import ContractResult
from runner.contracts.document import bundle_document, parse_document
from runner.contracts.entries import ContractKind, Refused, require_packages, versions
from runner.contracts.json_schemas import differences
from runner.lazy_module import lazy_module
from runner.model import Finding
from runner.process.tools import which
from runner.secrets.redact import redact

if TYPE_CHECKING:
    import jsonschema

    from runner.contracts.contract_context import ContractContext
    from runner.contracts.document import Json
    from runner.contracts.entries import Schema
else:
    jsonschema = lazy_module("jsonschema")


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
  // The project's own frames alone; what has none becomes one line in the caller.
  const isFrame = (line) => /^\s+at /.test(line);
  const ours = (line) => line.includes(import.meta.url) || /\bnode:/.test(line);
  const lines = String(problem?.stack ?? problem).split('\n');
  const kept = lines.filter((line) => !(isFrame(line) && ours(line)));
  if (kept.length > 1) console.error(inProject(kept.join('\n')));
}

async function load() {
  if (!existsSync(file)) throw new Error(`${source} does not exist`);
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
    throw new Error('no TypeScript loader found: install tsx, esbuild or typescript in the '
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
    const made = older.zodToJsonSchema(schema, { $refStrategy: 'root' });
    finish({ schemas: [made], by: 'zod-to-json-schema' });
  } else {
    throw new Error('this zod cannot export JSON Schema: npm install zod@4, or zod-to-json-schema '
      + 'with zod 3');
  }
} catch (problem) {
  show(problem);
  const text = String(problem?.message ?? problem);
  const from = ` imported from ${fileURLToPath(import.meta.url)}`;
  finish({ error: `${source}:${name}: ${inProject(text.replace(from, ''))}` });
  process.exitCode = 1;
}
"""


def zod_line(source: str, name: str, place: ContractContext, out: str) -> str:
    """Return the command that writes the Zod schema to `out`; raises Refused without node."""
    node = which("node", place.environment)
    if node is None:
        raise Refused("tool missing: node, which runs Zod", hint="install node, or add it to PATH")
    script = place.put("zod.mjs", _SCRIPT.lstrip().encode())
    return shlex.join((str(node), script, source, name, out))


_MOST_INSTANCES = 1000
_LARGEST_TOGETHER = 32 * 1024 * 1024
_OUT = "schemas.json"
_HINT = "see https://json-schema.org/understanding-json-schema for valid schemas"


def compare_schema(entry: Schema, context: ContractContext) -> ContractResult:
    """Compare the schema with what the entry names; raises Refused where that cannot begin."""
    require_packages("schema")
    schema = bundle_document(entry.path, context.read_source)
    _check_schema(schema, entry.path)
    return replace(_compare(entry, schema, context), tools=versions("jsonschema"))


def _compare(entry: Schema, schema: Json, context: ContractContext) -> ContractResult:
    match entry.kind:
        case ContractKind.NOTHING:
            return ContractResult(output=json.dumps(schema).encode())
        case ContractKind.INSTANCES:
            return _instances(entry, schema, context)
    return _compare_model(entry, schema, context)


def _check_schema(schema: Json, path: str) -> None:
    """Refuse what its metaschema refuses (JSON Schema 2020-12, or as `$schema` says)."""
    from jsonschema.validators import validator_for

    if not isinstance(schema, (dict, bool)):
        message = f"{path} is not a JSON Schema: a schema is an object or a boolean"
        raise Refused(message, hint=_HINT, path=path)
    try:
        kind = validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(schema)  # type: ignore[arg-type,unused-ignore]  # booleans are schemas
    except jsonschema.SchemaError as problem:
        where = f" (at {problem.json_path})" if problem.json_path != "$" else ""
        message = f"{path} is not a valid JSON Schema: {problem.message[:300]}{where}"
        raise Refused(message, hint=_HINT, path=path) from problem
    except RecursionError as problem:
        raise Refused(f"{path} is nested too deeply", path=path) from problem


# --- a type or a Zod schema -----------------------------------------------------------


def _compare_model(entry: Schema, schema: Json, context: ContractContext) -> ContractResult:
    out = context.path(_OUT)
    if entry.kind is ContractKind.ZOD:
        line = zod_line(entry.source, entry.name, context, out)
    else:
        line = context.theirs(context.python, "describe", entry.source, out)
    ran = context.run(line)
    answer = context.read(_OUT)
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, str):
        finding = Finding(
            check=context.check,
            message=f"{entry.path} cannot be compared: {redact(error)}",
            hint="read the output of the import" if ran.tail.strip() else _explain_entry(entry),
            detail=ran.tail,
        )
        return ContractResult(ran, (finding,))
    models = answer.get("schemas") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(models, list) or not models:
        return ContractResult(ran, is_silent=True)
    different = _fewest(schema, models, loose=answer.get("loose") is True)
    findings = tuple(_different(context.check, entry, text) for text in different)
    return ContractResult(ran, findings, (("differences", len(different)),))


def _explain_entry(entry: Schema) -> str:
    if entry.kind is ContractKind.ZOD:
        return "give an existing file, and a schema that it exports"
    return "give the import path of a type: MODULE:TYPE"


def _fewest(schema: Json, models: list[Json], *, loose: bool) -> tuple[str, ...]:
    """Return the differences of the nearest model, in its form for input or for output."""
    return min((differences(schema, model, loose=loose) for model in models), key=len)


def _different(check: str, entry: Schema, text: str) -> Finding:
    name = f"{entry.source}:{entry.name}" if entry.name else entry.source
    return Finding(
        check=check,
        message=redact(text),
        path=entry.path,
        hint=f"make {entry.path} and {name} equal",
    )


# --- instances ------------------------------------------------------------------------


def _instances(entry: Schema, schema: Json, context: ContractContext) -> ContractResult:
    instances = _read(entry, context)
    report = context.path("report.json")
    job = {"schema": schema, "instances": instances, "report": report}
    ran = context.run(context.ours("instances", context.write("job.json", job)))
    answer = context.read("report.json")
    problems = answer.get("problems") if isinstance(answer, dict) else None
    counts = (("instances", len(instances)),)
    if not isinstance(problems, list):
        return ContractResult(ran, (), counts, is_silent=True)
    found = (_wrong(context.check, entry, one) for one in problems if isinstance(one, dict))
    return ContractResult(ran, tuple(found), counts)


def _read(entry: Schema, context: ContractContext) -> dict[str, Json]:
    """Return the instances by path; raises Refused if there are none or one is not JSON."""
    paths = context.match_files(entry.source)
    if not paths:
        hint = "create an instance there, or give the path of an existing one"
        raise Refused(f"{entry.source} matches no file", hint=hint)
    if len(paths) > _MOST_INSTANCES:
        raise Refused(f"{entry.source} matches more than {_MOST_INSTANCES} files")
    contents = {path: context.read_source(path) for path in paths}
    if sum(map(len, contents.values())) > _LARGEST_TOGETHER:
        raise Refused(
            f"the files of {entry.source} have more than {_LARGEST_TOGETHER} bytes together"
        )
    return {path: parse_document(content, path) for path, content in contents.items()}


def _wrong(check: str, entry: Schema, problem: dict[str, Json]) -> Finding:
    path, where, text = (redact(str(problem.get(name, ""))) for name in ("path", "where", "text"))
    return Finding(
        check=check,
        message=f"the instance does not match {entry.path}: {text} (at {where})",
        path=posixpath.normpath(path),
        hint=f"fix {path}, or {entry.path} if this is intended",
    )
