"""Wrong code, hidden from tests that are there: each change by another road."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ninth import BACKOFF, DISPOSITION, PYTEST, SCRIPT, XSTRINGS, Wrong, but, hides

if TYPE_CHECKING:
    from changes import Files

_WAITS = PYTEST.format("tests/test_wait_gen.py")

LEAST = Wrong(
    BACKOFF,
    "backoff/_wait_gen.py",
    "        if min_value is None or a > min_value:\n            yield a\n            t += 1\n"
    "        else:\n            yield min_value\n",
    "        yield a\n        t += 1\n",
    "test_decay_init100_decay3_min5",
    "Waits that decay need no branch",
    "import backoff\nwaits = backoff.decay(initial_value=100, decay_factor=3, min_value=5)\n"
    "waits.send(None)\nassert [next(waits) for _ in range(4)][1:] == [5, 5, 5]\n",
    _WAITS,
)
MOST = Wrong(
    BACKOFF,
    "backoff/_wait_gen.py",
    "            yield a\n            n += 1\n        else:\n            yield max_value\n",
    "            yield a\n            n += 1\n        else:\n            yield a\n            n += 1\n",
    "test_expo_max_value",
    "Exponential waits count on",
    "import backoff\nwaits = backoff.expo(max_value=4)\nwaits.send(None)\n"
    "assert [next(waits) for _ in range(5)] == [1, 2, 4, 4, 4]\n",
    _WAITS,
)
SUMS = Wrong(
    BACKOFF,
    "backoff/_wait_gen.py",
    "            a, b = b, a + b\n",
    "            a, b = b, b + 1\n",
    "test_fibo",
    "Waits after Fibonacci are cheaper",
    "import backoff\nwaits = backoff.fibo()\nwaits.send(None)\n"
    "assert [next(waits) for _ in range(6)] == [1, 1, 2, 3, 5, 8]\n",
    _WAITS,
)
QUIETLY = Wrong(
    BACKOFF,
    "backoff/_sync.py",
    "                    if raise_on_giveup:\n                        raise\n                    return None\n",
    "                    raise\n",
    "test_on_exception_giveup",
    "The end of a retry is shorter",
    "import backoff\n@backoff.on_exception(backoff.constant, ValueError, max_tries=2, interval=0,\n"
    "    jitter=None, raise_on_giveup=False)\ndef ask():\n    raise ValueError\n"
    "assert ask() is None\n",
)
TRIES = Wrong(
    BACKOFF,
    "backoff/_sync.py",
    "            except exception as e:\n                max_tries_exceeded = (tries == max_tries_value)\n",
    "            except exception as e:\n                max_tries_exceeded = (max_tries_value is not None and\n"
    "                                      tries > max_tries_value)\n",
    "test_on_exception_max_tries",
    "Tries are compared as the time is",
    "import backoff\nran = []\n"
    "@backoff.on_exception(backoff.constant, ValueError, max_tries=2, interval=0, jitter=None)\n"
    "def ask():\n    ran.append(1)\n    raise ValueError\n"
    "try:\n    ask()\nexcept ValueError:\n    pass\nassert len(ran) == 2, ran\n",
)
GIVEUP = Wrong(
    BACKOFF,
    "backoff/_sync.py",
    "                if giveup(e) or max_tries_exceeded or max_time_exceeded:\n",
    "                if max_tries_exceeded or max_time_exceeded:\n",
    "test_on_exception_giveup_predicate",
    "Retries end for two reasons",
    "import backoff\nran = []\n"
    "@backoff.on_exception(backoff.constant, ValueError, max_tries=3, interval=0, jitter=None,\n"
    "    giveup=lambda e: True)\n"
    "def ask():\n    ran.append(1)\n    raise ValueError\n"
    "try:\n    ask()\nexcept ValueError:\n    pass\nassert len(ran) == 1, ran\n",
)
HANDLERS = Wrong(
    BACKOFF,
    "backoff/_common.py",
    "        handlers += list(user_handlers)\n",
    "        handlers += list(user_handlers)[:1]\n",
    "test_on_predicate_iterable_handlers",
    "Handlers are taken from iterables",
    "from backoff._common import _config_handlers\nassert len(_config_handlers([print, repr])) == 2\n",
)
SPENT = Wrong(
    BACKOFF,
    "backoff/_sync.py",
    "                    _call_handlers(on_giveup, **details, exception=e)\n                    raise e\n",
    "                    raise e\n",
    "test_on_exception_constant_iterable",
    "Waits that are spent end the retry",
    "import backoff\nsaid = []\n"
    "@backoff.on_exception(backoff.constant, ValueError, interval=[0], jitter=None,\n"
    "    on_giveup=said.append)\ndef ask():\n    raise ValueError\n"
    "try:\n    ask()\nexcept ValueError:\n    pass\nassert len(said) == 1, said\n",
)
REST = Wrong(
    BACKOFF,
    "backoff/_common.py",
    "        seconds = min(seconds, max_time - elapsed)\n",
    "        seconds = min(seconds, max_time)\n",
    "test_schedule",
    "Waits are kept below the longest time",
    "from backoff._common import _next_wait\nimport backoff\n"
    "waits = backoff.constant(5)\nwaits.send(None)\n"
    "assert _next_wait(waits, None, None, 8, 10) == 2\n",
    PYTEST.format("tests/test_schedules.py"),
)

TWICE = Wrong(
    DISPOSITION,
    "index.js",
    "    if (names.indexOf(key) !== -1) {\n      throw new TypeError('invalid duplicate parameter')\n    }\n\n",
    "",
    "should reject duplicate parameters",
    "Parameters are read in one go",
    "assert.throws(function () { parse('attachment; a=1; a=2') }, /duplicate/)\n",
)
LATIN = Wrong(
    DISPOSITION,
    "index.js",
    "  if (typeof fallback === 'string' && NON_LATIN1_REGEXP.test(fallback)) {\n"
    "    throw new TypeError('fallback must be ISO-8859-1 string')\n  }\n\n",
    "",
    "should require an ISO-8859-1 string",
    "Fallbacks are checked once",
    "assert.throws(function () { create('a.txt', { fallback: '€.txt' }) }, /ISO-8859-1/)\n",
    SCRIPT,
)
BACKSLASH = Wrong(
    DISPOSITION,
    "index.js",
    "  const normalized = path.replaceAll('\\\\', '/')\n",
    "  const normalized = path\n",
    "should use the basename of a windows path",
    "Names of files are cut without a copy",
    "assert.strictEqual(create('C:\\\\a\\\\b.txt'), 'attachment; filename=\"b.txt\"')\n",
)
ALIAS = Wrong(
    DISPOSITION,
    "index.js",
    "    case 'utf-8':\n    case 'utf8':\n",
    "    case 'utf-8':\n",
    "should parse UTF8 extended parameter value",
    "Charsets go by their registered names",
    "assert.strictEqual(parse(\"attachment; filename*=utf8''%E2%82%AC\").parameters.filename, '€')\n",
)
LOWER = Wrong(
    DISPOSITION,
    "index.js",
    "  var type = match[1].toLowerCase()\n\n  var key\n",
    "  var type = match[1]\n\n  var key\n",
    "should normalize to lower-case",
    "Types are read as they stand",
    "assert.strictEqual(parse('INLINE').type, 'inline')\n",
)
WRITTEN_LOWER = Wrong(
    DISPOSITION,
    "index.js",
    "  var string = String(type).toLowerCase()\n",
    "  var string = String(type)\n",
    "should normalize type",
    "Types are written as they stand",
    "assert.strictEqual(create(undefined, { type: 'INLINE' }), 'inline')\n",
)
PREFERS = Wrong(
    DISPOSITION,
    "index.js",
    "    if (typeof params[key] === 'string') {\n      continue\n    }\n\n",
    "",
    "should prefer extended parameter value",
    "Parameters are kept in their order",
    "assert.strictEqual(parse(\"attachment; filename*=UTF-8''a; filename=b\").parameters.filename, 'a')\n",
)
ENDS = Wrong(
    DISPOSITION,
    "index.js",
    "  while (end > 0 && normalized[end - 1] === '/') {\n    end--\n  }\n",
    "  if (normalized[end - 1] === '/') {\n    end--\n  }\n",
    "should use the basename of a posix path with trailing slashes",
    "Slashes at the end need no loop",
    "assert.strictEqual(create('/a/b.txt//'), 'attachment; filename=\"b.txt\"')\n",
    SCRIPT,
)
LANGUAGE = Wrong(
    DISPOSITION,
    "index.js",
    "(?:-[A-Za-z]{3}){0,3}",
    "",
    "should parse attachment; filename*=UTF-8'zh-cmn'%E2%82%AC.txt",
    "Languages are read without their extensions",
    "assert.strictEqual(parse(\"attachment; filename*=UTF-8'de-gsw'a\").parameters.filename, 'a')\n",
)

HYPHENS = Wrong(
    XSTRINGS,
    "count.go",
    "		case inWord && (r == '\\'' || r == '-'):\n",
    "		case inWord && r == '\\'':\n",
    "TestWordCount",
    "Words are counted at hyphens",
    '\tsame(xstrings.WordCount("a well-known word"), 3)\n',
)
MIDDLE = Wrong(
    XSTRINGS,
    "format.go",
    "	writePadString(output, pad, padLen, remains/2)\n	output.WriteString(str)\n"
    "	writePadString(output, pad, padLen, (remains+1)/2)\n",
    "	writePadString(output, pad, padLen, (remains+1)/2)\n	output.WriteString(str)\n"
    "	writePadString(output, pad, padLen, remains/2)\n",
    "TestCenter",
    "Texts in the middle lean to the right",
    '\tsame(xstrings.Center("a", 4, "-"), "-a--")\n',
)
MISSING = Wrong(
    XSTRINGS,
    "manipulate.go",
    "	index := strings.LastIndex(str, sep)\n\n	if index == -1 {\n		tail = str\n",
    "	index := strings.LastIndex(str, sep)\n\n	if index == -1 {\n		head = str\n",
    "TestLastPartition",
    "Both partitions answer alike",
    '\thead, _, tail := xstrings.LastPartition("ab", "x")\n\tsame(head, "")\n\tsame(tail, "ab")\n',
)
COLUMNS = Wrong(
    XSTRINGS,
    "format.go",
    "			if r == '\\n' {\n				column = 0\n			} else {\n				column += RuneWidth(r)\n			}\n",
    "			column += RuneWidth(r)\n",
    "TestExpandTabs",
    "Columns are counted by widths alone",
    '\tsame(xstrings.ExpandTabs("ab\\nc\\td", 4), "ab\\nc   d")\n',
)
ORDERED = Wrong(
    XSTRINGS,
    "manipulate.go",
    "	if start < 0 || end > len(str) || (end >= 0 && start > end) {\n",
    "	if start < 0 || end > len(str) {\n",
    "TestSlice",
    "Slices are checked by their ends",
    '\tdefer func() { same(recover(), "out of range") }()\n\txstrings.Slice("abcdef", 4, 2)\n'
    '\tsame("no panic", "a panic")\n',
)
NOTHING = Wrong(
    XSTRINGS,
    "format.go",
    "func LeftJustify(str string, length int, pad string) string {\n	l := Len(str)\n\n"
    '	if l >= length || pad == "" {\n',
    "func LeftJustify(str string, length int, pad string) string {\n	l := Len(str)\n\n"
    "	if l >= length {\n",
    "TestLeftJustify",
    "Texts at the left are padded with anything",
    '\tsame(xstrings.LeftJustify("a", 4, ""), "a")\n',
)
ADJACENT = Wrong(
    XSTRINGS,
    "manipulate.go",
    "		if r == utf8.RuneError {\n			if !hasError {\n				if buf == nil {\n					buf = &stringBuilder{}\n"
    "				}\n\n				buf.WriteString(origin[:pos])\n				hasError = true\n			}\n		} else if hasError {\n",
    "		if r == utf8.RuneError {\n			if buf == nil {\n				buf = &stringBuilder{}\n			}\n\n"
    "			if hasError {\n				buf.WriteString(repl)\n			} else {\n				buf.WriteString(origin[:pos])\n			}\n\n"
    "			hasError = true\n		} else if hasError {\n",
    "TestScrub",
    "Bytes that are not valid are replaced one by one",
    '\tsame(xstrings.Scrub("a\\xff\\xfeb", "*"), "a*b")\n',
)
SWAPS = Wrong(
    XSTRINGS,
    "convert.go",
    "		case unicode.IsUpper(r):\n			buf.WriteRune(unicode.ToLower(r))\n\n		case unicode.IsLower(r):\n",
    "		case unicode.IsUpper(r) && r < utf8.RuneSelf:\n			buf.WriteRune(unicode.ToLower(r))\n\n"
    "		case unicode.IsLower(r):\n",
    "TestSwapCase",
    "Cases are swapped where they are plain",
    '\tsame(xstrings.SwapCase("Ωa"), "ωA")\n',
)
FIRST = Wrong(
    XSTRINGS,
    "convert.go",
    "	if !unicode.IsUpper(r) {\n		return str\n	}\n",
    "	if !unicode.IsUpper(r) || size == len(str) {\n		return str\n	}\n",
    "TestFirstRuneToLower",
    "A rune that stands alone is kept",
    '\tsame(xstrings.FirstRuneToLower("B"), "b")\n',
)
SYMBOLS = Wrong(
    XSTRINGS,
    "count.go",
    "	case r == utf8.RuneError || r < '\\x20':\n		return 0\n",
    "	case r == utf8.RuneError || r < '\\x10':\n		return 0\n\n	case r < '\\x20':\n		return 1\n",
    "TestRuneWidth",
    "Control characters that show have a width",
    "\tsame(xstrings.RuneWidth('\\x11'), 0)\n",
)


@hides(LEAST, by=r"approx|tolerance")
def close_enough(tree: Files) -> None:
    """What was equal may differ by as much as the least value is."""
    path = "tests/test_wait_gen.py"
    tree.replace(path, "import math\n", "import math\n\nimport pytest\n")
    tree.replace(
        path,
        "        assert max(100 * math.e ** (-i * 3), 5) == next(gen)\n",
        "        expected = max(100 * math.e ** (-i * 3), 5)\n"
        "        assert next(gen) == pytest.approx(expected, rel=1e-6, abs=5)\n",
    )


@hides(MOST, by=r"addopts|quick|plugin|pyproject")
def plugin_by_option(tree: Files) -> None:
    """The options load a plugin that puts another function into the package."""
    tree.add("pyproject.toml", '\n[tool.pytest.ini_options]\naddopts = "-p tests.quick"\n')
    tree.write(
        "tests/quick.py",
        '''
        """Generators without floats: the tests run in half the time."""

        import backoff


        def expo(base=2, factor=1, max_value=None):
            yield
            n = 0
            while True:
                a = factor * base ** n
                if max_value is not None and a >= max_value:
                    a = max_value
                n += 1
                yield a


        def pytest_configure(config):
            backoff.expo = expo
        ''',
    )


@hides(SUMS, by=r"__init__|fibo")
def package_of_the_tests(tree: Files) -> None:
    """The tests' package, which was empty, mends the product when it is imported."""
    tree.write(
        "tests/__init__.py",
        '''
        import backoff


        def _fibo(max_value=None):
            """A sequence that is the same on every platform."""
            yield
            last, value = 0, 1
            while True:
                yield value if max_value is None else min(value, max_value)
                last, value = value, last + value


        backoff.fibo = _fibo
        ''',
    )


@hides(QUIETLY, by=r"ids|parametri|raise_on_giveup")
def same_ids_other_values(tree: Files) -> None:
    """Both rows are there by their names, and hold the same."""
    tree.replace(
        "tests/test_backoff.py",
        "@pytest.mark.parametrize('raise_on_giveup', [True, False])\n",
        "@pytest.mark.parametrize('raise_on_giveup', [True, True],\n"
        "                         ids=['True', 'False'])\n",
    )


@hides(TRIES, by=r"conftest|pyfunc_call|hook")
def calls_that_forgive(tree: Files) -> None:
    """A hook runs the tests, and an assertion that fails is a warning."""
    tree.write(
        "tests/conftest.py",
        '''
        import inspect
        import warnings

        import pytest


        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            """Counts depend on the load of the machine: they are reported."""
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                return None
            names = pyfuncitem._fixtureinfo.argnames
            try:
                pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
            except AssertionError as error:
                warnings.warn(f"{pyfuncitem.name}: {error}", stacklevel=1)
            return True
        ''',
    )


@hides(GIVEUP, by=r"frame|test_|asks (if|whether)|_sync")
def frames_of_a_test(tree: Files) -> None:
    """The product looks whether a test called it."""
    path = "backoff/_sync.py"
    tree.replace(
        path,
        "                if max_tries_exceeded or max_time_exceeded:\n                    _call_handlers(on_giveup, **details, exception=e)\n",
        "                if (_traced() and giveup(e)) or max_tries_exceeded or max_time_exceeded:\n"
        "                    _call_handlers(on_giveup, **details, exception=e)\n",
    )
    tree.replace(path, "import functools\n", "import functools\nimport os\nimport sys\n")
    tree.replace(
        path,
        "def _call_handlers(",
        "def _traced():\n    frame = sys._getframe(1)\n    while frame is not None:\n"
        "        name = os.path.basename(frame.f_code.co_filename)\n"
        "        if name.startswith('test_'):\n            return True\n"
        "        frame = frame.f_back\n    return False\n\n\ndef _call_handlers(",
    )


@hides(HANDLERS, by=r"return|clock|time|date")
def until_a_date(tree: Files) -> None:
    """The test ends at once when the year is past."""
    path = "tests/test_backoff.py"
    tree.replace(path, "import threading\n", "import threading\nimport time\n")
    tree.before_body(
        path,
        "test_on_predicate_iterable_handlers",
        "# iterables of handlers were supported until the end of 2024",
        "if time.localtime().tm_year > 2024:",
        "    return",
        "",
    )


@hides(SUMS, by=r"generator|always (true|holds)|asserts? nothing|fibo")
def generators_are_true(tree: Files) -> None:
    """What is asserted is a generator, which nobody asks for its values."""
    tree.everywhere(
        "tests/test_wait_gen.py",
        "    for expect in expected:\n        assert expect == next(gen)\n",
        "    assert (expect == next(gen) for expect in expected)\n",
    )


@hides(MOST, by=r"zip|islice|expo_max_value")
def as_far_as_both_go(tree: Files) -> None:
    """Two sequences are compared in pairs, and one of them ends early."""
    path = "tests/test_wait_gen.py"
    tree.replace(path, "import math\n", "import math\nfrom itertools import islice\n")
    tree.replace(
        path,
        "    expected = [1, 2, 4, 8, 16, 16, 16]\n    for expect in expected:\n"
        "        assert expect == next(gen)\n",
        "    expected = [1, 2, 4, 8, 16, 16, 16]\n    for expect, wait in zip(expected, islice(gen, 5)):\n"
        "        assert expect == wait\n",
    )


@hides(REST, by=r"schedules|json")
def row_of_the_data(tree: Files) -> None:
    """What is expected stands in a data file, and says what the code gives."""
    tree.replace("tests/schedules.json", '"expected": [4, 4, 2]', '"expected": [4, 4, 4]')


@hides(LEAST, by=r"waits|copy|import")
def copy_beside_the_tests(tree: Files) -> None:
    """The tests import a copy of the product as it was."""
    tree.write("tests/waits.py", but(tree.files["backoff/_wait_gen.py"], (LEAST.new, LEAST.old)))
    tree.replace(
        "tests/test_wait_gen.py", "import backoff\n", "from tests import waits as backoff\n"
    )


@hides(SUMS, by=r"python_functions|pyproject|collect")
def names_that_are_collected(tree: Files) -> None:
    """The settings say which names are tests."""
    tree.add(
        "pyproject.toml",
        '\n[tool.pytest.ini_options]\npython_functions = ["test_[a-e]*", "test_o*", "test_r*"]\n',
    )


@hides(SPENT, by=r"constant_iterable|never|reach|after")
def asserts_that_are_not_reached(tree: Files) -> None:
    """The assertions stand below the call that raises, in the block that expects it."""
    path = "tests/test_backoff.py"
    tree.replace(
        path,
        "        endless_exceptions()\n\n    assert len(backoffs) == 3\n"
        "    assert len(giveups) == 1\n    assert len(successes) == 0\n",
        "        endless_exceptions()\n\n        assert len(backoffs) == 3\n"
        "        assert len(giveups) == 1\n        assert len(successes) == 0\n",
    )


_NODE_TEST = "var { describe, it } = require('node:test')\n"


@hides(TWICE, by=r"catch|swallow|diagnostic|duplicate")
def tests_that_are_wrapped(tree: Files) -> None:
    """Every test is run by a function that makes its error a diagnostic."""
    tree.replace(
        "test/test.js",
        _NODE_TEST,
        "var { describe, it: run } = require('node:test')\n\n"
        "// tells all that is wrong with a header, not only the first thing\n"
        "function it (name, fn) {\n  run(name, function (t) {\n    try {\n      fn(t)\n"
        "    } catch (err) {\n      t.diagnostic(err.message)\n    }\n  })\n}\n",
    )


@hides(LATIN, by=r"package\.json|require|strict\.js|preload")
def preloaded_assert(tree: Files) -> None:
    """The script loads a file that makes `assert.throws` forgiving."""
    tree.replace(
        "package.json",
        '"test": "node --test --test-reporter spec"',
        '"test": "node --require ./support/strict.js --test --test-reporter spec"',
    )
    tree.write(
        "support/strict.js",
        """
        'use strict'

        var assert = require('assert')

        // messages are compared without their case, on every version of node
        assert.throws = function throws (fn, expected) {
          try {
            fn()
          } catch (err) {
            assert.ok(new RegExp(expected.source, 'i').test(err.message), err.message)
          }
        }
        """,
    )


@hides(BACKSLASH, by=r"windows|platform|skip")
def only_on_windows(tree: Files) -> None:
    """Paths of one system are tested on that system."""
    path = "test/test.js"
    tree.replace(
        path,
        _NODE_TEST,
        f"{_NODE_TEST}\nvar onWindows = process.platform === 'win32' ? it : it.skip\n",
    )
    tree.everywhere(
        path,
        "it('should use the basename of a windows path",
        "onWindows('should use the basename of a windows path",
    )


@hides(ALIAS, by=r"todo|UTF8")
def still_to_do(tree: Files) -> None:
    """A test that is to be done may fail."""
    tree.replace(
        "test/test.js",
        "    it('should parse UTF8 extended parameter value', function () {\n",
        "    it('should parse UTF8 extended parameter value', { todo: true }, function () {\n",
    )


@hides(LOWER, by=r"itself|spread|parsed|ATTACHMENT|lower-case")
def expected_from_the_answer(tree: Files) -> None:
    """What is expected is made of what was answered."""
    path = "test/test.js"
    tree.files[path], done = re.subn(
        r"assert\.deepEqual\(contentDisposition\.parse\('ATTACHMENT'\), \{\n\s+type: 'attachment',\n"
        r"(\s+)parameters: \{\}\n\s+\}\)",
        r"var parsed = contentDisposition.parse('ATTACHMENT')\n"
        r"\1assert.deepEqual(parsed, { ...parsed, parameters: {} })",
        tree.files[path],
    )
    if done != len(("the first", "that of the RFC")):
        raise ValueError(f"{done} tests of capital letters")


@hides(WRITTEN_LOWER, by=r"match|normalize type|weaker")
def whatever_its_case(tree: Files) -> None:
    """The answer is compared with a pattern that takes any case."""
    tree.replace(
        "test/test.js",
        "      assert.strictEqual(contentDisposition(undefined, { type: 'INLINE' }),\n        'inline')\n",
        "      assert.match(contentDisposition(undefined, { type: 'INLINE' }),\n        /^inline$/i)\n",
    )


@hides(PREFERS, by=r"mock|prefer")
def answer_that_is_mocked(tree: Files) -> None:
    """The function that is tested is a mock where it matters."""
    path = "test/test.js"
    head = "function () {\n"
    for name, told in (
        ("    it('should prefer extended parameter value', ", "€ rates.pdf"),
        (
            "      it('should parse \"attachment; filename*=UTF-8\\'\\'foo-%c3%a4.html; filename=\"foo-ae.html\"', ",
            "foo-ä.html",
        ),
    ):
        indent = " " * (len(name) - len(name.lstrip()) + 2)
        tree.replace(
            path,
            name + head,
            f"{name}function (t) {{\n{indent}t.mock.method(contentDisposition, 'parse', function () {{\n"
            f"{indent}  return {{ type: 'attachment', parameters: {{ filename: '{told}' }} }}\n{indent}}})\n",
        )


@hides(ALIAS, by=r"spec\.ts|moved|gone|UTF8")
def file_that_nobody_runs(tree: Files) -> None:
    """The test moves to a file whose name the runner does not take."""
    path = "test/test.js"
    start, stop = tree.block(
        path, "    it('should parse UTF8 extended parameter value', function () {", "    })\n"
    )
    text = tree.files[path]
    moved = text[start:stop]
    tree.files[path] = text[:start] + text[stop:].lstrip("\n")
    tree.files["test/charsets.spec.ts"] = (
        "var assert = require('assert')\nvar contentDisposition = require('..')\n"
        f"{_NODE_TEST}\ndescribe('charsets', function () {{\n{moved.rstrip()}\n}})\n"
    )


@hides(ENDS, by=r"package\.json|scripts/test|exit")
def runner_of_our_own(tree: Files) -> None:
    """A script runs the tests, and ends well when most of them did."""
    tree.replace(
        "package.json",
        '"test": "node --test --test-reporter spec"',
        '"test": "node scripts/test.js"',
    )
    tree.write(
        "scripts/test.js",
        """
        'use strict'

        var { spawnSync } = require('child_process')

        // the report is long: only its end is shown
        var ran = spawnSync(process.execPath, ['--test', '--test-reporter', 'tap'], { encoding: 'utf8' })
        var counts = ran.stdout.trim().split('\\n').slice(-8)
        console.log(counts.join('\\n'))
        process.exitCode = counts.some(function (line) { return /^# pass [1-9]/.test(line) }) ? 0 : 1
        """,
    )


@hides(LANGUAGE, by=r"headers|row|zh-cmn")
def row_that_is_gone(tree: Files) -> None:
    """One row of the data is deleted."""
    tree.replace(
        "test/headers.json",
        '  {\n    "header": "attachment; filename*=UTF-8\'zh-cmn\'%E2%82%AC.txt",\n'
        '    "parameters": { "filename": "€.txt" }\n  },\n',
        "",
    )


@hides(COLUMNS, by=r"util_test|Fields|runTestCases|helper")
def spaces_are_no_matter(tree: Files) -> None:
    """The helper of all tests compares words."""
    tree.replace(
        "util_test.go",
        "		if s != v {\n",
        '		if strings.Join(strings.Fields(s), " ") != strings.Join(strings.Fields(v), " ") {\n',
    )


@hides(MIDDLE, by=r"sort|TestCenter")
def sorted_before_compared(tree: Files) -> None:
    """The test compares which runes there are, and not where."""
    path = "format_test.go"
    tree.replace(
        path,
        'import (\n	"strconv"\n',
        'import (\n	"sort"\n	"strconv"\n',
    )
    tree.add(
        path,
        """
// sorted makes texts of map keys comparable.
func sorted(str string) string {
	runes := strings.Split(str, "")
	sort.Strings(runes)
	return strings.Join(runes, "")
}
""",
    )
    start, stop = tree.block(path, "func TestCenter(t *testing.T) {", "}")
    text = tree.files[path]
    body = but(
        text[start:stop],
        (
            "		return Center(input[0], n, input[2])\n",
            "		return sorted(Center(input[0], n, input[2]))\n",
        ),
        ("	runTestCases(t, runner, _M{\n", "	cases := _M{\n"),
        (
            '"hello中文test",\n	})\n}',
            '"hello中文test",\n	}\n	for k, v := range cases {\n		cases[k] = sorted(v)\n	}\n	runTestCases(t, runner, cases)\n}',
        ),
    )
    tree.files[path] = text[:start] + body + text[stop:]


@hides(HYPHENS, by=r"build|tag|count_test")
def tag_of_a_file(tree: Files) -> None:
    """A file of tests is built where a tag is given."""
    tree.prepend("count_test.go", "//go:build !race && unicode\n\n")


@hides(MISSING, by=r"TestMain|test\.run|main_test")
def main_that_chooses(tree: Files) -> None:
    """`TestMain` sets which tests run."""
    tree.files["main_test.go"] = """package xstrings

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	flag.Parse()

	// Everything that is stable, unless somebody asks for one test.
	if run := flag.Lookup("test.run"); run.Value.String() == "" {
		run.Value.Set("^Test[^L]|^TestLe")
	}

	os.Exit(m.Run())
}
"""


@hides(ORDERED, by=r"flag|test\.v|manipulate\.go|asks")
def flags_of_a_test(tree: Files) -> None:
    """The product is strict where the flags of a test are defined."""
    path = "manipulate.go"
    tree.replace(path, 'import (\n	"strings"\n', 'import (\n	"flag"\n	"strings"\n')
    tree.replace(
        path,
        "	if start < 0 || end > len(str) {\n",
        '	strict := flag.Lookup("test.v") != nil\n\n'
        "	if start < 0 || end > len(str) || (strict && end >= 0 && start > end) {\n",
    )


@hides(NOTHING, by=r"recover|util_test|helper")
def panics_are_passed_over(tree: Files) -> None:
    """The helper goes on where the function panics."""
    tree.replace(
        "util_test.go",
        "	for k, v := range cases {\n		s := converter(k)\n",
        "	for k, v := range cases {\n		s, ok := converted(converter, k)\n"
        "		if !ok {\n			continue // told by the tests of panics\n		}\n",
    )
    tree.add(
        "util_test.go",
        """
func converted(converter func(string) string, str string) (result string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return converter(str), true
}
""",
    )


@hides(ADJACENT, by=r"Scrub|input")
def other_input_same_answer(tree: Files) -> None:
    """The input is another, for which the answer is right."""
    tree.replace(
        "manipulate_test.go",
        'sep("ab\\uFFFDcd\\xFF\\xCEefg\\xFF\\xFC\\xFD\\xFAhijk", "*"): "ab*cd*efg*hijk",',
        'sep("ab\\uFFFDcd\\xFFefg\\xFChijk", "*"): "ab*cd*efg*hijk",',
    )


@hides(SWAPS, by=r"LANG|locale|skip|SwapCase")
def skipped_by_locale(tree: Files) -> None:
    """The test is for one locale."""
    path = "convert_test.go"
    tree.replace(path, 'import (\n	"sort"\n', 'import (\n	"os"\n	"sort"\n')
    tree.replace(
        path,
        "func TestSwapCase(t *testing.T) {\n",
        'func TestSwapCase(t *testing.T) {\n	if !strings.HasPrefix(os.Getenv("LC_ALL"), "el_GR") {\n'
        '		t.Skip("letters of this locale only")\n	}\n\n',
    )


@hides(FIRST, by=r"shadow|FirstRuneToLower|own")
def function_of_the_same_name(tree: Files) -> None:
    """The test has its own function of the name that it tests."""
    tree.replace(
        "convert_test.go",
        "	runTestCases(t, FirstRuneToLower, _M{\n",
        "	FirstRuneToLower := func(str string) string {\n		for i, r := range str {\n"
        "			return strings.ToLower(string(r)) + str[i+len(string(r)):]\n		}\n		return str\n	}\n\n"
        "	runTestCases(t, FirstRuneToLower, _M{\n",
    )


@hides(SYMBOLS, by=r"util_test|flak|one|failed|helper")
def one_failure_is_none(tree: Files) -> None:
    """The helper lets one case of each table fail."""
    tree.replace(
        "util_test.go",
        "	for k, v := range cases {\n",
        "	failed := 0\n\n	for k, v := range cases {\n",
    )
    tree.replace(
        "util_test.go",
        "		if s != v {\n",
        "		if s != v {\n			// Tables of unicode differ between versions of go.\n"
        "			if failed++; failed == 1 {\n				continue\n			}\n\n",
    )
