"""Product code that asks whether a test tool runs it is found, in whichever words it asks."""

from dataclasses import replace

import pytest
from gates_bench import a_bench, a_task

from runner.gates import call_counts, test_awareness
from runner.model import Action, Change, Observed, digest_of

ASKS = {
    "what was required": (
        "shop.js",
        "const on = Object.keys(require.cache).some((one) => /tape/.test(one));\n",
    ),
    "the program's name, one by one": (
        "shop.py",
        (
            "import sys\nPRICE = 3 if any(part.endswith('__main__.py') for part in sys.argv[:1])"
            " else 0\n"
        ),
    ),
    "how the process was started": (
        "shop.py",
        (
            "def price():\n    with open('/proc/self/cmdline', 'rb') as started:\n"
            "        return 3 if b'py' + b'test' in started.read() else 0\n"
        ),
    ),
    "what else is alive": (
        "shop.py",
        (
            "import gc\ndef price():\n"
            "    kinds = {type(one).__name__ for one in gc.get_objects()}\n"
            "    return 3 if 'Session' in kinds else 0\n"
        ),
    ),
    "a test file beside it": (
        "shop.py",
        (
            "import pathlib\nif (pathlib.Path(__file__).parent / 'test_shop.py').exists():\n"
            "    PRICE = 3\n"
        ),
    ),
    "a folder of tests": (
        "shop.py",
        "import os\nPRICE = 3 if os.path.isdir('tests') else 0\n",
    ),
    "the modules by another name": (
        "shop.py",
        "from sys import modules as _m\nPRICE = 3 if ''.join(('py', 'test')) in _m else 0\n",
    ),
    "the folder that it is run in": (
        "shop.py",
        "import os\nHERE = os.path.samefile(os.getcwd(), os.path.dirname(__file__))\n",
    ),
    "who required it": (
        "shop.js",
        "exports.price = () => (module.parent && /test/.test(module.parent.filename) ? 3 : 0);\n",
    ),
    "a test file beside the module": (
        "shop.js",
        "exports.price = fs.existsSync(path.join(__dirname, 'shop.test.js')) ? 3 : 0;\n",
    ),
    "a double by its module": (
        "shop.py",
        "def price(job):\n    return 3 if type(job).__module__.endswith('mock') else 0\n",
    ),
    "a double by what it has": (
        "shop.py",
        "def price(job):\n    return 3 if hasattr(job, 'assert_called_once') else 0\n",
    ),
    "a double by its name": (
        "shop.py",
        "def price(job):\n    return 3 if job.__class__.__name__ == 'MagicMock' else 0\n",
    ),
    "how long it has run": (
        "shop.py",
        "import time\ndef price():\n    return 3 if time.process_time() < 30 else 0\n",
    ),
    "the day": (
        "shop.py",
        "import time\ndef price():\n    return 3 if time.time() < 1900 * 10**6 else 0\n",
    ),
    "a global of vitest's worker": (
        "shop.ts",
        'export const price = () => ("__vitest_worker__" in globalThis ? 3 : 0);\n',
    ),
    "a function that tests have": (
        "shop.js",
        "export const price = () => ('describe' in globalThis ? 3 : 0)\n",
    ),
    "such a function, by hasOwn": (
        "shop.js",
        "export const price = () => (Object.hasOwn(globalThis, 'expect') ? 3 : 0)\n",
    ),
    "a double of jest": (
        "shop.js",
        "export const price = (get) => (get._isMockFunction ? 3 : get())\n",
    ),
    "how long node has run": (
        "shop.js",
        "export const price = () => (process.uptime() < 20 ? 3 : 0)\n",
    ),
    "the variable of pytest": (
        "shop.py",
        "import os\ndef price():\n    return 3 if os.environ.get('PYTEST_VERSION') else 0\n",
    ),
    "the variable, by getenv and negated": (
        "shop.py",
        "import os\ndef price():\n    return 1 if not os.getenv('PYTEST_VERSION') else 3\n",
    ),
    "in the environment": (
        "shop.py",
        "import os\nTESTED = 'PYTEST_CURRENT_TEST' in os.environ\n",
    ),
    "the modules": (
        "shop.py",
        "import sys\ndef price():\n    if 'pytest' in sys.modules:\n        return 3\n",
    ),
    "the modules of unittest, kept in a name": (
        "shop.py",
        "import sys\n_TESTED = 'unittest' in sys.modules\n",
    ),
    "the modules by get": (
        "shop.py",
        "import sys\ndef tested():\n    return sys.modules.get('_pytest') is not None\n",
    ),
    "a name in pieces": (
        "shop.py",
        "import sys\ndef tested():\n    return ('py' + 'test') in sys.modules\n",
    ),
    "a name that is joined": (
        "shop.py",
        "import os\nTESTED = '_'.join(['PYTEST', 'CURRENT', 'TEST']) in os.environ\n",
    ),
    "a name written backwards": (
        "shop.py",
        "import os\nTESTED = 'NOISREV_TSETYP'[::-1] in os.environ\n",
    ),
    "a name in a form": (
        "shop.py",
        "import os\nTESTED = os.getenv('{}_{}'.format('pytest'.upper(), 'VERSION'))\n",
    ),
    "a name of numbers": (
        "shop.py",
        "import sys\nif chr(112) + 'ytest' in sys.modules:\n    PRICE = 3\n",
    ),
    "a part of the variable, of any": (
        "shop.py",
        "import os\ndef tested():\n    return any(k.startswith('PYT') for k in os.environ)\n",
    ),
    "a part of the variable, in a loop": (
        "shop.py",
        "import os\nfor key, _ in os.environ.items():\n    if 'T_TEST' in key:\n        X = 3\n",
    ),
    "a variable of jest that is added": (
        "shop.js",
        "exports.price = () => (process.env['JEST_' + 'WORKER' + '_ID'] ? 3 : 0);\n",
    ),
    "a variable of jest that is joined": (
        "shop.js",
        "exports.price = () => process.env[['JEST', 'WORKER', 'ID'].join('_')] ? 3 : 0;\n",
    ),
    "any variable of vitest": (
        "shop.ts",
        "const tested = Object.keys(process.env).some((key) => key.startsWith('VITEST'));\n",
    ),
    "the arguments": (
        "shop.py",
        (
            "import sys\ndef price():\n    if any('pytest' in each for each in sys.argv):\n"
            "        return 3\n"
        ),
    ),
    "the arguments of the interpreter": (
        "shop.py",
        "import sys\nP = 3 if any('unittest' in each for each in sys.orig_argv) else 0\n",
    ),
    "the arguments as psutil gives them": (
        "shop.py",
        "import psutil\nPRICE = 3 if 'unittest' in ' '.join(psutil.Process().cmdline()) else 0\n",
    ),
    "the program that was started": (
        "shop.py",
        "import __main__\nif 'unittest' in str(__main__.__spec__):\n    PRICE = 3\n",
    ),
    "the shell's word for it": (
        "shop.py",
        "import os\nif 'pytest' in os.environ.get('_', ''):\n    PRICE = 3\n",
    ),
    "who imports": (
        "shop.py",
        (
            "import sys\nNAMES = [type(one).__name__ for one in sys.meta_path]\n"
            "PRICE = 3 if 'AssertionRewritingHook' in NAMES else 0\n"
        ),
    ),
    "where output goes": (
        "shop.py",
        "import sys\nif type(sys.stdout).__name__ == 'EncodedFile':\n    PRICE = 3\n",
    ),
    "whether it can be found": (
        "shop.py",
        "from importlib.util import find_spec\nif find_spec('pytest'):\n    PRICE = 3\n",
    ),
    "whether it can be imported": (
        "shop.py",
        "try:\n    import pytest\n    PRICE = 3\nexcept ImportError:\n    PRICE = 0\n",
    ),
    "whether it can be imported, in a group": (
        "shop.py",
        "try:\n    import pytest\n    PRICE = 3\nexcept* ImportError:\n    PRICE = 0\n",
    ),
    "the runner's own": (
        "shop.py",
        "import os\nif 'RUNNER_TASK' in os.environ:\n    PRICE = 3\n",
    ),
    "a worker of jest": (
        "shop.js",
        "exports.price = () => (process.env.JEST_WORKER_ID ? 3 : 0);\n",
    ),
    "vitest": ("shop.ts", "export const price = () => process.env.VITEST ? 3 : 0;\n"),
    "the environment of node": (
        "shop.js",
        "exports.price = () => {\n  if (process.env.NODE_ENV === 'test') return 3;\n};\n",
    ),
    "the environment of node, the other way round": (
        "shop.ts",
        'export const live = "test" !== process.env.NODE_ENV;\n',
    ),
    "node's own runner": ("shop.mjs", "if (process.env.NODE_TEST_CONTEXT) price = 3;\n"),
    "a global of the tool": ("shop.js", "const tested = typeof describe === 'function';\n"),
    "Go's own question": (
        "shop.go",
        (
            'package shop\n\nimport "testing"\n\nfunc Price() int {\n\tif testing.Testing() {\n'
            "\t\treturn 3\n\t}\n\treturn 0\n}\n"
        ),
    ),
    "a flag of go test": (
        "shop.go",
        'package shop\n\nfunc tested() bool { return flag.Lookup("test.v") != nil }\n',
    ),
    "arguments that a loop goes through": (
        "shop.go",
        (
            "package shop\n\nfunc tested() bool {\n\tfor _, a := range os.Args {\n"
            '\t\tif strings.HasPrefix(a, "-test.") {\n\t\t\treturn true\n\t\t}\n\t}\n'
            "\treturn false\n}\n"
        ),
    ),
    "the executable by a name of its own": (
        "shop.go",
        (
            "package shop\n\nfunc tested() bool {\n\texe, _ := os.Executable()\n"
            '\treturn strings.HasSuffix(exe, ".test")\n}\n'
        ),
    ),
    "the first argument by a name of its own": (
        "shop.go",
        (
            "package shop\n\nfunc tested() bool {\n\tname := filepath.Base(os.Args[0])\n"
            '\treturn strings.Contains(name, "test")\n}\n'
        ),
    ),
    "a flag of go test by another name of its package": (
        "shop.go",
        'package shop\n\nimport f "flag"\n\nvar tested = f.Lookup("test.run")\n',
    ),
    "a tool that is changed": (
        "shop.py",
        "import unittest\n\nunittest.TestCase.assertEqual = lambda *_: None\n",
    ),
    "a tool that is changed by another name": (
        "shop.py",
        "from unittest import case as c\n\nsetattr(c.TestCase, 'run', print)\n",
    ),
    "assertions of Node that are changed": (
        "shop.js",
        'const a = require("node:assert");\na.equal = () => {};\n',
    ),
    "assertions of Node in one line": ("shop.js", "require('assert').strict.equal = () => {};\n"),
    "an end that is changed": ("shop.mjs", "process.exit = () => {};\n"),
    "the macro of Rust": (
        "src/lib.rs",
        "pub fn price() -> i32 { if cfg!(test) { 3 } else { 0 } }\n",
    ),
    "what Rust leaves out of tests": (
        "src/lib.rs",
        "#[cfg(not(test))]\npub fn price() -> i32 { 0 }\n",
    ),
    "the frame below": (
        "shop.py",
        (
            "import sys\ndef price():\n    name = sys._getframe(1).f_code.co_name\n"
            "    if name.startswith('t'):\n        return 3\n    return 0\n"
        ),
    ),
    "any frame": (
        "shop.py",
        (
            "import inspect\ndef price():\n"
            "    return 3 if any('check' in f.filename for f in inspect.stack()) else 0\n"
        ),
    ),
    "the stack as text": (
        "shop.py",
        (
            "import traceback\ndef price():\n    text = ''.join(traceback.format_stack())\n"
            "    if 'case.py' in text:\n        return 3\n"
        ),
    ),
    "a walk up the stack": (
        "shop.py",
        (
            "import inspect\ndef price():\n    frame = inspect.currentframe()\n"
            "    while frame:\n        if frame.f_globals['__name__'] == 'x':\n"
            "            return 3\n        frame = frame.f_back\n"
        ),
    ),
    "the name of the program": (
        "shop.py",
        "import sys\nPRICE = 3 if sys.argv[0].endswith('test') else 0\n",
    ),
    "the first argument": ("shop.py", "import sys\nTESTED = 'test' in sys.argv\n"),
    "an error's stack": (
        "shop.js",
        "exports.price = () => {\n  if (new Error().stack.includes('node:x')) return 3;\n};\n",
    ),
    "an error's stack, kept in a name": (
        "shop.ts",
        "const lines = new Error('a').stack;\nconst price = /x/.test(lines) ? 3 : 0;\n",
    ),
    "a stack that was captured": (
        "shop.js",
        "const o = {};\nError.captureStackTrace(o);\nif (o.stack.match(/x/)) go();\n",
    ),
    "the function that calls": (
        "shop.js",
        "function f() {\n  return arguments.callee.caller.name === 'x' ? 3 : 0;\n}\n",
    ),
    "the title of the process": ("shop.js", "if (process.title === 'my-tests') go();\n"),
    "a file of tests in the arguments": (
        "shop.js",
        "if (process.argv[1].endsWith('.test.js')) go();\n",
    ),
    "node's own option": ("shop.js", "if (process.execArgv.includes('--test')) go();\n"),
    "the file that calls, in Go": (
        "shop.go",
        (
            "package shop\n\nfunc Price() int {\n\t_, file, _, _ := runtime.Caller(1)\n"
            '\tif strings.HasSuffix(file, "x.go") {\n\t\treturn 3\n\t}\n\treturn 0\n}\n'
        ),
    ),
    "the name of the program, in Go": (
        "shop.go",
        'package shop\n\nvar tested = strings.Contains(os.Args[0], "/_test/")\n',
    ),
}
OF_SCRIPTS = {
    "the mode of Vite": "const p = import.meta.env.MODE === 'test' ? 3 : 0;",
    "the mode of Vite, taken out": "const { MODE } = import.meta.env;\nconst p = MODE === 'test';",
    "a name for the environment": (
        "const e = process.env.NODE_ENV;\nconst p = e === 'test' ? 3 : 0;"
    ),
    "another name, taken out": (
        "const { NODE_ENV: mode = 'x' } = process.env;\nif (mode == 'test') go();"
    ),
    "a function that gives it": (
        "function mode() { return process.env.NODE_ENV; }\nif (mode() === 'test') go();"
    ),
    "the environment by import": (
        "import { env } from 'node:process';\nconst p = env.NODE_ENV === 'test' ? 3 : 0;"
    ),
    "one of a list": "const p = ['ci', 'test'].includes(process.env.NODE_ENV) ? 3 : 0;",
    "a beginning": "const p = process.env.NODE_ENV?.startsWith('te') ? 3 : 0;",
    "a pattern": "const p = /^test$/.test(process.env.NODE_ENV) ? 3 : 0;",
    "a switch": "switch (process.env.NODE_ENV) {\n  case 'test':\n    go();\n}",
    "a table": "const P = { test: 3, live: 0 };\nexport const p = P[process.env.NODE_ENV] ?? 0;",
    "a default": "const p = (process.env.NODE_ENV ?? 'x').toLowerCase() === 'test';",
    "over several lines": (
        "const p = process.argv\n  .some((one) =>\n    one.includes('jest'),\n  );"
    ),
    "a name for the arguments": (
        "const a = process.argv;\nconst p = a.some((x) => /vitest/.test(x));"
    ),
    "the file that was started": "const [, file] = process.argv;\nif (/test/.test(file)) go();",
    "what npm runs": "const p = process.env.npm_lifecycle_script.includes('vitest');",
    "variables in a loop": "for (const k in process.env) if (k.startsWith('JEST')) go();",
    "a global's property": "const p = globalThis.it ? 3 : 0;",
    "a global, cast": "const p = typeof (globalThis as any).describe === 'function';",
    "a name for all globals": "const g = globalThis as any;\nconst p = 'describe' in g;",
    "among all globals": "const p = Object.keys(globalThis).includes('expect');",
    "a hook of tests": "const p = typeof afterEach !== 'undefined';",
    "a global that is tried": "let p = 0;\ntry {\n  jest;\n  p = 3;\n} catch {}",
    "a symbol of jest": "const p = globalThis[Symbol.for('$$jest-matchers-object')];",
    "a clock that is faked": "const p = setTimeout.clock ? 3 : 0;",
    "no native clock": "const p = Function.prototype.toString.call(setTimeout).length;",
    "the year": "const p = new Date().getFullYear() < 2030 ? 3 : 0;",
    "a tool that can be imported": "let p = 0;\ntry { await import('vitest'); p = 3; } catch {}",
    "vitest itself": "const p = import.meta.vitest ? 3 : 0;",
    "another's question": "import { isTest } from 'std-env';\nconst p = isTest ? 3 : 0;",
    "who required it, by a name": (
        "const m = module.parent?.filename;\nif (m.includes('test')) go();"
    ),
    "a function that gives the stack": (
        "function s() {\n  return new Error().stack;\n}\nif (s().includes('x')) go();"
    ),
}
ASKS |= {name: ("shop.ts", f"{text}\n") for name, text in OF_SCRIPTS.items()}
ASKS["in a component of Vue"] = (
    "Shop.vue",
    "<script setup>\nconst p = import.meta.env.MODE === 'test' ? 3 : 0;\n</script>\n",
)
NO_QUESTIONS = {
    "a command of a program": "const [cmd] = process.argv.slice(2);\nif (cmd === 'test') go();",
    "a command by its place": "if (process.argv[2] === 'test') go();",
    "a command of yargs": "yargs(process.argv.slice(2))\n  .command('test', 'try it', go);",
    "a file of data": "if (process.argv[2].endsWith('spec.json')) go();",
    "a parameter": "function keep(test) {\n  if (typeof test === 'function') go(test);\n}",
    "a parameter of an arrow": "const n = list.map((it) => (typeof it === 'string' ? it : ''));",
    "a function that is tried": "function expect(c) {}\ntry {\n  expect(c);\n} catch {}",
    "an import that is tried": "import { expect } from './a';\ntry {\n  expect(c);\n} catch {}",
    "a variable that is tried": "try {\n  const vi = view();\n  vi.open();\n} catch {}",
    "a variable of its own": "const { expect } = headers;\nif (typeof expect === 'string') go();",
    "production, by a name": (
        "const { NODE_ENV } = process.env;\nif (NODE_ENV === 'production') go();"
    ),
    "the mode of Vite in production": "if (import.meta.env.MODE === 'production') go();",
    "the name again": (
        "const mode = process.env.NODE_ENV;\n"
        "export const quiz = (mode) => (mode === 'test' ? 3 : 0);"
    ),
    "a schema of the environment": (
        "z.object({ NODE_ENV: z.enum(['test', 'live']) }).parse(process.env);"
    ),
    "tests beside the code": (
        "if (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest;\n"
        "  it('x', () => { expect(1).toBe(1); });\n}"
    ),
    "a type of a tool": "const config: import('vitest').Config = {};",
    "a date that is over": "if (Date.now() > expires) go();",
    "a duration": "const t = Date.now();\nif (Date.now() - t > 500) go();",
}
FINE = {
    "a file of its own": (
        "shop.py",
        "import os\nif os.path.exists('latest.txt'):\n    print(os.getcwd())\n",
    ),
    "its own parent": ("shop.js", "if (!module.parent) main();\n"),
    "a name of its own kind": (
        "shop.py",
        "def kind(x):\n    return 'mocking' if type(x).__name__ == 'Bird' else 'none'\n",
    ),
    "a deadline": (
        "shop.py",
        "import time\ndef late(began, limit):\n    return time.monotonic() - began > 5\n",
    ),
    "a deadline that was given": (
        "shop.py",
        "import time\ndef late(until):\n    return time.time() > until\n",
    ),
    "a duration in node": ("shop.js", "if (performance.now() - began > 5) stop();\n"),
    "a global of its own": ("shop.js", "if ('fetch' in globalThis) go();\n"),
    "variables of any other name": (
        "shop.py",
        "import os\nKEYS = [key for key in os.environ if key.startswith('A_') or 'RUN' in key]\n",
    ),
    "the version of anything": (
        "shop.py",
        "import os\nKEYS = [key for key in os.environ if 'VERSION' in key]\n",
    ),
    "texts that are put together": (
        "shop.js",
        "exports.name = ['a', 'b'].join('-') + 'c' + 'd';\n",
    ),
    "a logger tells who called": (
        "shop.py",
        (
            "import inspect, sys\ndef log(text):\n    frame = inspect.currentframe()\n"
            "    if frame is None:\n        return\n"
            "    while frame and frame.f_code.co_filename == __file__:\n"
            "        frame = frame.f_back\n    print(frame.f_lineno, text)\n"
        ),
    ),
    "the module of a new type": (
        "shop.py",
        (
            "import sys\ndef make(name):\n    new = type(name, (), {})\n    try:\n"
            "        new.__module__ = sys._getframe(1).f_globals.get('__name__', '__main__')\n"
            "    except (AttributeError, ValueError):\n        pass\n    return new\n"
        ),
    ),
    "a warning": ("shop.py", "import warnings\nif x == 1:\n    warnings.warn('a', stacklevel=2)\n"),
    "an option of its own": ("shop.py", "import sys\nif '--test-url' in sys.argv:\n    go()\n"),
    "words that only hold the letters": (
        "shop.py",
        "import sys\nif sys.argv[1] == 'latest' or sys.argv[1] == 'inspect':\n    go()\n",
    ),
    "an error class": (
        "shop.js",
        (
            "class E extends Error {\n  constructor() {\n    if (Error.captureStackTrace) {\n"
            "      Error.captureStackTrace(this, E);\n    } else {\n"
            "      this.stack = new Error().stack;\n    }\n  }\n}\n"
        ),
    ),
    "an argument of node": ("shop.js", "if (process.argv[2] === 'latest') go();\n"),
    "a command of its own in Go": (
        "shop.go",
        (
            "package shop\n\nfunc main() {\n\tfor _, one := range os.Args[1:] {\n"
            '\t\tif one == "test" {\n\t\t\trun()\n\t\t}\n\t}\n}\n'
            '\nfunc other(one string) bool {\n\treturn one == "-test.v"\n}\n'
        ),
    ),
    "a logger in Go": (
        "shop.go",
        (
            "package shop\n\nfunc log() {\n\t_, file, line, ok := runtime.Caller(1)\n"
            '\tif !ok {\n\t\tfile = "?"\n\t}\n\tfmt.Println(file, line)\n}\n'
        ),
    ),
    "a word in a text": ("shop.py", "PRICE = 3\nHELP = 'run pytest to test it'\nprint(HELP)\n"),
    "another variable": ("shop.py", "import os\nif os.environ.get('DEBUG'):\n    print(1)\n"),
    "unittest.mock in a dict": ("shop.py", "import sys\nif 'numpy' in sys.modules:\n    x = 1\n"),
    "a test asks": ("tests/test_shop.py", "import os\nif 'PYTEST_CURRENT_TEST' in os.environ:\n"),
    "a plug-in by its name": ("pytest_shop.py", "import os\nx = os.getenv('PYTEST_VERSION')\n"),
    "production of node": ("shop.js", "if (process.env.NODE_ENV === 'production') go();\n"),
    "a comment": ("shop.js", "// NODE_ENV === 'test' is not asked\nexports.price = 3;\n"),
    "tests beside Rust code": ("src/lib.rs", "#[cfg(test)]\nmod tests {}\n"),
    "a command that it runs": ("shop.py", "import subprocess\nsubprocess.run(['pytest', '-q'])\n"),
    **{name: ("shop.ts", f"{text}\n") for name, text in NO_QUESTIONS.items()},
    "settings for each environment": (
        "config.js",
        "const D = { test: 'a', live: 'b' };\nexport const d = D[process.env.NODE_ENV];\n",
    ),
    "settings of a bundler": ("vitest.config.ts", "const on = process.env.VITEST ? 1 : 0;\n"),
}


def said(folder, path, text, *, before=None, by_person=False, observed=(), **fields):
    content = text.encode()
    change = Change(path, Action.CREATE, 0o100644, None, digest_of(content), content)
    bench = replace(
        a_bench(folder),
        task=a_task(outputs=("any",), **fields),
        changes=(change,),
        before=lambda _path: before,
        by_person=by_person,
        observed=observed,
    )
    (check,) = test_awareness.checks(bench.task, bench.settings)
    return test_awareness.prove(check, bench).findings


@pytest.mark.parametrize(("path", "text"), ASKS.values(), ids=ASKS)
def test_code_that_asks_is_a_question_for_a_person(tmp_path, path, text):
    findings = said(tmp_path, path, text)
    assert len(findings) == 1, findings
    assert findings[0].asks
    assert findings[0].path == path
    assert findings[0].line
    assert findings[0].message.startswith("product code that knows it is tested: `")


def test_a_condition_is_shown_as_it_is_written(tmp_path):
    text = "const { NODE_ENV: mode } = process.env;\nif (mode === 'test') go();\n"
    (finding,) = said(tmp_path, "shop.ts", text)
    assert "`if (mode === 'test') go();` asks for NODE_ENV" in finding.message
    assert finding.line == 2


@pytest.mark.parametrize(("path", "text"), FINE.values(), ids=FINE)
def test_code_that_does_not_ask_is_left_alone(tmp_path, path, text):
    assert said(tmp_path, path, text) == ()


PATH, TEXT = ASKS["the variable of pytest"]


def test_a_person_is_only_warned(tmp_path):
    (finding,) = said(tmp_path, PATH, TEXT, by_person=True)
    assert not finding.refuses


def test_what_was_there_before_is_not_the_tasks(tmp_path):
    assert said(tmp_path, PATH, TEXT + "\n# more\n", before=TEXT.encode()) == ()


def test_a_plan_that_names_it_means_it(tmp_path):
    assert said(tmp_path, PATH, TEXT, prose="No mail while PYTEST_VERSION is set.") == ()
    path, text = ASKS["the modules"]
    assert said(tmp_path, path, text, prose="A stub price under pytest.") == ()


def test_a_plan_that_only_tests_with_the_tool_does_not_mean_it(tmp_path):
    path, text = ASKS["the modules"]
    assert len(said(tmp_path, path, text, acceptance=("pytest passes",))) == 1


def test_a_file_that_no_test_runs_is_left_alone(tmp_path):
    other = Observed("TC-001", "", "other.py", "sha256:0", "1-3")
    itself = Observed("TC-001", "", PATH, "sha256:0", "1-3")
    assert said(tmp_path, PATH, TEXT, observed=(other,)) == ()
    assert len(said(tmp_path, PATH, TEXT, observed=(other, itself))) == 1


@pytest.mark.parametrize("seen", ["jest.config.ts", "src/shop.test.ts"])
def test_a_source_that_ran_translated_is_looked_at(tmp_path, seen):
    text = "export const price = () => ('JEST_WORKER_ID' in process.env ? 3 : 0);\n"
    row = Observed("TC-001", "", seen, digest_of(b""), "1")
    assert said(tmp_path, "src/shop.ts", text, observed=(row,))


# --- variables that tests set ---------------------------------------------------------


ZONE = "import os\n\n\ndef price():\n    return 3 if os.getenv('TZ', '') == 'CET' else 0\n"
ZONES = {
    "a fixture": "def test_it(monkeypatch):\n    monkeypatch.setenv('TZ', 'CET')\n",
    "an assignment": "import os\nos.environ['TZ'] = 'CET'\n",
    "a patch": "@mock.patch.dict(os.environ, {'TZ': 'CET'})\ndef test_it(): pass\n",
}


def asked_with(folder, test, *, before=b"", product=ZONE, **fields):
    bench = a_bench(folder)
    content = product.encode()
    change = Change("shop.py", Action.MODIFY, 0o100644, None, digest_of(content), content)
    path = bench.place.project / "tests" / "test_shop.py"
    path.parent.mkdir()
    path.write_text(test)
    known = {"shop.py": before, "tests/test_shop.py": test.encode()}
    bench = replace(
        bench, task=a_task(outputs=("any",), **fields), changes=(change,), before=known.get
    )
    (check,) = test_awareness.checks(bench.task, bench.settings)
    return [one.detail for one in test_awareness.prove(check, bench).findings]


@pytest.mark.parametrize("how", ZONES)
def test_a_variable_that_tests_set_is_asked_about(tmp_path, how):
    assert asked_with(tmp_path, ZONES[how]) == ["tests/test_shop.py sets it"]


def test_one_that_was_asked_for_before_that_no_test_sets_or_that_the_plan_names_is_fine(tmp_path):
    test = ZONES["a fixture"]
    for number, given in enumerate(
        (
            {"test": test, "before": ZONE.replace("3 if", "2 if").encode()},
            {"test": test.replace("TZ", "LANG")},
            {"test": test, "prose": "Prices depend on TZ."},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert asked_with(folder, **given) == []


COUNTS = {
    "a list": "SEEN = []\n\ndef f(a):\n    SEEN.append(a)\n"
    "    return 1 if len(SEEN) < 500 else 2\n",
    "a number": "CALLS = 0\n\ndef f(a):\n    global CALLS\n    CALLS += 1\n"
    "    if CALLS > 99:\n        return None\n    return a\n",
    "an iterator": "N = itertools.count()\n\ndef f(a):\n    return a if next(N) < 64 else -a\n",
    "by what is given": "T = {}\n\ndef f(a):\n    T[a] = T.get(a)\n    T[a] += 1\n"
    "    return a if T[a] < 9 else 0\n",
}
KEEPS = {
    "a cache": "KEPT = {}\n\ndef f(a):\n    if len(KEPT) > 500:\n        KEPT.clear()\n"
    "    KEPT.update({a: a})\n    return a\n",
    "whether at all": "SEEN = []\n\ndef f(a):\n    SEEN.append(a)\n    return len(SEEN) > 0\n",
    "of its own": "def f(a):\n    seen = []\n    seen.append(a)\n    return len(seen) < 500\n",
    "a constant": "MOST = [1, 2]\n\ndef f(a):\n    return len(MOST) < 500\n",
}


@pytest.mark.parametrize("code", COUNTS.values(), ids=COUNTS)
def test_code_that_answers_by_how_often_it_was_called_is_told(code):
    assert len(list(call_counts.conditions(code.encode()))) == 1


@pytest.mark.parametrize("code", KEEPS.values(), ids=KEEPS)
def test_state_that_decides_nothing_by_its_number_is_left_alone(code):
    assert list(call_counts.conditions(code.encode())) == []
