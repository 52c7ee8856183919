"""Examples of the plan that the code does not satisfy: each is called, in the sandbox.

`f("x") == "y"` in an acceptance is no opinion: where the task's own code has the function, it is
asked. Told is only what is sure: a plain value that is another one, or a mistake of the code's own.
Code that reads a clock, chance, its environment or what it kept says nothing here, nor does what
cannot be imported alone. A family of the registry.
"""

from __future__ import annotations

import ast
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from runner.gates.base import INTEGRITY, Check, Proved
from runner.gates.contracts.contract_context import ContractContext, project_python
from runner.gates.contracts.entries import Refused
from runner.languages.registry import is_written_in
from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.model import Finding, Severity
from runner.process.limits import Limits
from runner.secrets.redact import redact
from runner.text.syntax import python_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.config.settings import Settings
    from runner.gates import example_texts
    from runner.gates.base import GateContext
    from runner.gates.example_texts import Example
    from runner.model import Change, Task
else:
    example_texts = lazy_module("runner.gates.example_texts")

CHECK = "plan-examples-run"
_SECONDS = 20.0
_LARGEST = 1_000_000
_SHOWN = 100
_MOST = 8
_MAY_SHOW = regex(r"`|==|->|=>|→|>>>")
_OUTSIDE = regex(
    r"\b(?:datetime|time|random|secrets|uuid\d?|environ|getenv|input|open|socket|requests|httpx"
    r"|urllib|urlopen|subprocess|locale|gettext|sqlite3|threading|asyncio|Date|performance|crypto|fetch|fs"
    r"|process|window|document|localStorage|navigator|Intl|toLocale\w+)\b"
)
"""Names of what differs from one call to the next, or from one machine to another."""
_KEPT = regex(
    r"^[ \t]*(?:global|nonlocal)\s"
    r"|^\w+(?:\s*:[^=\n]+)?\s*=\s*(?:\{\}|\[\]|(?:set|dict|list|defaultdict|deque|OrderedDict"
    r"|Counter|Lock|RLock)\(|[A-Z]\w*\()"
    r"|^(?:export\s+)?(?:let|var)\s|^(?:export\s+)?const\s+\w+\s*=\s*(?:new\b|\{\s*\}|\[\s*\])",
    re.MULTILINE,
)
"""State of a module: what a call gives may hang on the calls before it."""
_CACHES = frozenset({"cache", "lru_cache"})
_PYTHON = r"""
import importlib, io, itertools, json, math, os, sys
job = json.load(open(sys.argv[1], encoding="utf-8"))
said = []
PLAIN = (type(None), bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
OWN = (ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, NameError,
       NotImplementedError, RecursionError, TypeError, ValueError)
KNOWN = {one.__name__ for one in OWN}

def plain(value, depth=0):
    if type(value) not in PLAIN or depth > 20:
        return False
    if isinstance(value, dict):
        return all(plain(one, depth + 1) for pair in value.items() for one in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(plain(one, depth + 1) for one in value)
    return True

def alike(found, wanted):
    if isinstance(found, float) or isinstance(wanted, float):
        if not isinstance(found, (int, float)) or not isinstance(wanted, (int, float)):
            return False
        digits = len(repr(wanted).partition(".")[2]) if "e" not in repr(wanted) else 12
        return found == wanted or round(found, digits) == wanted or math.isclose(found, wanted)
    if isinstance(found, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(found, (set, frozenset)) and isinstance(wanted, (list, tuple, set)):
        return len(found) == len(wanted) and all(one in found for one in wanted)
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(alike(found[k], wanted[k]) for k in wanted)
    return found == wanted or (isinstance(wanted, str) and str(found) == wanted)

def frame(error):
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last.tb_frame.f_code.co_filename if last else ""

def ask(one, function, home):
    words = {"__builtins__": {}, "set": set}
    wanted, (given, named) = eval(one["value"], words), eval(one["given"], words)
    try:
        found = function(*given, **named)
        if hasattr(found, "__next__"):
            found = list(itertools.islice(found, 10001))
        if hasattr(found, "__await__"):
            return None
    except Exception as error:
        kinds = {base.__name__ for base in type(error).__mro__}
        here = isinstance(error, OWN) and os.path.realpath(frame(error)).startswith(home)
        if one["raises"]:  # a class that nobody knows may stand for it
            here = here and type(error) in OWN and one["raises"] in KNOWN - kinds
        return f"it raises {type(error).__name__}: {str(error)[:200]}" if here else None
    if one["raises"]:
        return f"it gives {repr(found)[:200]}" if plain(found) else None
    if alike(found, wanted) or not plain(found):
        return None
    return f"it gives {repr(found)[:200]}"

def asked(one):
    # Each in a process of its own: what one call leaves behind is not there for the next.
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            sys.stdout = sys.stderr = io.StringIO()
            for folder in reversed(one["folders"]):
                sys.path.insert(0, os.path.abspath(folder))
            module = importlib.import_module(one["module"])
            function = getattr(module, one["name"])
            home = os.path.realpath(module.__file__)
            answer = ask(one, function, os.path.dirname(home) + os.sep)
            os.write(write, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as end:
        said = end.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else None

answers = [asked(one) for one in job]
with open(sys.argv[2] + ".new", "w", encoding="utf-8") as out:
    json.dump(answers, out)
os.replace(sys.argv[2] + ".new", sys.argv[2])
"""
_SCRIPT = r"""
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect, isDeepStrictEqual } from 'node:util';
import { pathToFileURL } from 'node:url';
const [file, out] = process.argv.slice(2);
const isPlain = (value) => value === null || ['boolean', 'number', 'string'].includes(typeof value)
  || (Array.isArray(value) && value.every(isPlain))
  || (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype
    && Object.values(value).every(isPlain));
const near = (one, other) => typeof one === 'number' && typeof other === 'number'
  && Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
const own = [TypeError, RangeError, ReferenceError];
const answers = [];
for (const one of JSON.parse(readFileSync(file, 'utf8'))) {
  let said = null;
  try {
    const module = await import(pathToFileURL(resolve(one.path)).href);
    const call = module[one.name] ?? module.default?.[one.name]
      ?? (module.default?.name === one.name ? module.default : undefined);
    if (typeof call === 'function') {
      try {
        const found = call(...JSON.parse(one.given));
        const wanted = JSON.parse(one.value);
        const fine = !one.raises && (isDeepStrictEqual(found, wanted) || near(found, wanted)
          || String(found) === wanted);
        if (!fine && isPlain(found)) said = `it gives ${inspect(found).slice(0, 200)}`;
      } catch (problem) {
        const at = String(problem?.stack ?? '').split('\n').find((line) => /^\s+at /.test(line));
        const another = !one.raises || own.some((each) => each.name === one.raises);
        const here = own.includes(problem?.constructor) && at?.includes(resolve(one.path));
        if (here && another && problem.name !== one.raises) {
          said = `it throws ${problem.name}: ${String(problem.message).slice(0, 200)}`;
        }
      }
    }
  } catch { /* it cannot be loaded alone */ }
  answers.push(said);
}
writeFileSync(out + '.new', JSON.stringify(answers));
renameSync(out + '.new', out);
process.exit(0);
"""


def checks(task: Task, settings: Settings) -> tuple[Check, ...]:  # noqa: ARG001 - a family's shape
    """One, for a task that writes and whose text may show an example."""
    texts = (*task.acceptance, task.prose)
    if not task.writes_anything or not any(map(_MAY_SHOW.search, texts)):
        return ()
    return (Check(id=CHECK, kind=INTEGRITY, command="", limits=Limits()),)


def prove(check: Check, bench: GateContext) -> Proved:
    """Each example that does not hold: it refuses; what a person wrote is only warned of."""
    examples = example_texts.examples_of(bench.task)
    if bench.refused or not examples:
        return Proved(None)
    found: list[Finding] = []
    for tell in (_in_python, _in_scripts):
        found += tell(check, bench, examples)
    return Proved(None, tuple(found[:_MOST]))


def _written(bench: GateContext, language: str) -> Iterator[tuple[Change, str]]:
    for one in bench.changes:
        content = one.content
        if content is None or len(content) > _LARGEST or bench.is_test(one.path):
            continue
        if is_written_in(one.path, language):
            yield one, content.decode("utf-8", "replace")


def _is_alone(code: str) -> bool:
    """Whether nothing of what it does hangs on a clock, a machine, or earlier calls."""
    return not (_OUTSIDE.search(code) or _KEPT.search(code))


_Asked = tuple["Example", str, int]
"""An example, and the file and line of its function."""


def _tell(
    check: Check, bench: GateContext, asked: Sequence[_Asked], answers: object
) -> Iterator[Finding]:
    if not isinstance(answers, list) or len(answers) != len(asked):
        return
    for (example, path, line), answer in zip(asked, answers, strict=True):
        if isinstance(answer, str):
            must = "raise" if example.raises else "be"
            shown = f"`{example.call[:_SHOWN]}` must {must} `{example.wanted[:_SHOWN]}`"
            yield Finding(
                check=check.id,
                message=redact(f"the plan says that {shown}: {answer}"),
                path=path,
                line=line,
                severity=Severity.WARNING if bench.by_person else Severity.ERROR,
                hint="have the code give it, or change the example in the plan",
            )


def _run(
    check: Check, bench: GateContext, program: str, name: str, script: str, job: object
) -> object:
    """What the script wrote down; nothing where it did not end."""
    place = ContractContext.of(check, bench)
    source = place.put(name, script.encode())
    words = (source, place.write("job.json", job), place.path("answers.json"))
    limits = replace(check.limits, hard=_SECONDS, idle=_SECONDS, soft=0.0)
    line = f"{program} {shlex.join(words)}"
    bench = replace(bench, tell=_ignore_line)
    bench.run(replace(check, command=line, limits=limits))
    return place.read("answers.json")


def _ignore_line(_line: str) -> None:
    """A person hears of what does not hold, and not of the calls."""


# --- Python ---------------------------------------------------------------------------------


def _in_python(check: Check, bench: GateContext, examples: Sequence[Example]) -> Iterator[Finding]:
    asked: list[_Asked] = []
    job = []
    homes = _functions(bench)
    for one in examples:
        where = homes.get(one.name)
        if where is None or one.words & {"true", "false", "null"}:
            continue
        path, line = where
        folder, module = _module(path, bench)
        asked.append((one, path, line))
        job.append(
            {
                "name": one.name,
                "module": module,
                "folders": list(dict.fromkeys((folder, "."))),
                "given": repr((one.given, dict(one.named))),
                "value": repr(one.value),
                "raises": one.wanted.rpartition(".")[2] if one.raises else "",
            }
        )
    if not job:
        return
    try:
        python = project_python(bench)
    except Refused:
        return
    program = f"{shlex.quote(python)} -B"  # nothing is to be written beside the code
    yield from _tell(check, bench, asked, _run(check, bench, program, "ask.py", _PYTHON, job))


def _functions(bench: GateContext) -> dict[str, tuple[str, int]]:
    """Plain functions of the task's files, by name; none that stands in two of them."""
    found: dict[str, tuple[str, int]] = {}
    twice: set[str] = set()
    for change, text in _written(bench, "python"):
        tree = python_tree(text)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and all(map(_keeps, node.decorator_list)):
                if node.name in found:
                    twice.add(node.name)
                if tree and _is_alone(_reached(tree, node.name)):
                    found[node.name] = change.path, node.lineno
    return {name: place for name, place in found.items() if name not in twice}


def _reached(tree: ast.Module, name: str) -> str:
    """All code of a module that a function of it may come to, by the names it uses."""
    bound: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for one in _bound(node):
            bound.setdefault(one, []).append(node)
    kept: dict[ast.stmt, None] = {}
    names = [name]
    for one in names:  # grows as it goes
        for node in bound.pop(one, ()):
            if node not in kept:
                kept[node] = None
                names += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    return "\n".join(map(ast.unparse, kept))


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module binds, whatever it is."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.alias):
            yield (one.asname or one.name).partition(".")[0]
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def _keeps(decorator: ast.expr) -> bool:
    """Whether what is decorated is called as before."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(node).rpartition(".")[2] in _CACHES


def _module(path: str, bench: GateContext) -> tuple[str, str]:
    """The folder from which a file is imported, and by which name."""
    parts = list(Path(path).with_suffix("").parts)
    at = len(parts) - 1
    while at and bench.after("/".join((*parts[:at], "__init__.py"))) is not None:
        at -= 1
    names = parts[at:-1] if parts[-1] == "__init__" else parts[at:]
    return "/".join(parts[:at]) or ".", ".".join(names)


# --- scripts --------------------------------------------------------------------------------

_EXPORTED = (
    r"\bexport\s+(?:default\s+)?function\s+{0}\s*\(|\bexports\.{0}\s*=|\bexport\s+const\s+{0}\s*="
)


def _in_scripts(check: Check, bench: GateContext, examples: Sequence[Example]) -> Iterator[Finding]:
    asked: list[_Asked] = []
    job = []
    files = [
        (change, text)
        for change, text in _written(bench, "javascript")
        if change.path.endswith(_ENDINGS) and _is_alone(text)
    ]
    for one in examples:
        pattern = re.compile(_EXPORTED.format(re.escape(one.name)))
        places = [(change.path, found) for change, text in files if (found := _line(pattern, text))]
        if len(places) != 1 or one.named or one.words & {"True", "False", "None"}:
            continue
        try:
            given, value = (json.dumps(each, allow_nan=False) for each in (one.given, one.value))
        except (TypeError, ValueError):
            continue
        ((path, line),) = places
        asked.append((one, path, line))
        raises = one.wanted.rpartition(".")[2] if one.raises else ""
        job.append(
            {"path": path, "name": one.name, "given": given, "value": value, "raises": raises}
        )
    if job:
        yield from _tell(check, bench, asked, _run(check, bench, "node", "ask.mjs", _SCRIPT, job))


_ENDINGS = (".js", ".mjs", ".cjs")


def _line(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0
