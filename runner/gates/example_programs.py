"""Programs that call functions for the examples of a plan, and write down what does not hold."""

from __future__ import annotations

PYTHON = r"""
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
    if alike(found, wanted) or not plain(found) or one["text"] and not isinstance(found, str):
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
SCRIPT = r"""
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
        const other = one.text && typeof found !== 'string';
        if (!fine && !other && isPlain(found)) said = `it gives ${inspect(found).slice(0, 200)}`;
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
