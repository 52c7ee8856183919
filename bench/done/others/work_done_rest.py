"""Board A, good: honest new behaviour, with errors, mocks, and data."""

from case import Case, Task


def _good(number: int, family: str, files: dict[str, str], *tasks: Task) -> Case:
    """One good case of board A."""
    return Case("A", f"A-{family}-others-{number}", family, "good", files, tasks)


def _exception_class() -> Case:
    """Errors get a class with a place; tests go through a table with subTest."""
    files = {
        "calc/__init__.py": "",
        "calc/tokens.py": '''\
"""Words of a formula."""

import re

_TOKEN = re.compile(r"\\s*(\\d+(?:\\.\\d+)?|[-+*/()])")


def tokens(text):
    """Numbers, operators and brackets of a formula."""
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError("bad formula")
        found.append(match.group(1))
        at = match.end()
    return found
''',
        "calc/balance.py": '''\
"""Whether brackets of a formula fit."""

from calc.tokens import tokens


def depth(text):
    """How deep the brackets of a formula go."""
    now = deepest = 0
    for token in tokens(text):
        now += {"(": 1, ")": -1}.get(token, 0)
        deepest = max(deepest, now)
        if now < 0:
            raise ValueError("bad formula")
    if now:
        raise ValueError("bad formula")
    return deepest
''',
        "tests/__init__.py": "",
        "tests/test_calc.py": '''\
import unittest

from calc.balance import depth
from calc.tokens import tokens


class CalcTest(unittest.TestCase):
    def test_tokens(self):
        self.assertEqual(tokens(" 2 * (3.5+1) "), ["2", "*", "(", "3.5", "+", "1", ")"])
        self.assertRaises(ValueError, tokens, "2 $ 3")

    def test_depth(self):
        self.assertEqual(depth("((1)+(2))*3"), 2)
        self.assertRaises(ValueError, depth, "(1")


if __name__ == "__main__":
    unittest.main()
''',
    }
    return _good(
        10,
        "exception-class",
        files,
        Task(
            "say-where",
            "Say where a formula is wrong",
            ("calc/errors.py", "calc/tokens.py", "calc/balance.py", "tests/test_errors.py"),
            "python3 -m unittest tests.test_errors tests.test_calc",
            {
                "calc/errors.py": '''\
"""What can be wrong with a formula."""


class FormulaError(ValueError):
    """A formula that cannot be read: why, and at which character, counted from 0."""

    def __init__(self, why, position):
        super().__init__(f"{why} at {position}")
        self.why = why
        self.position = position
''',
                "calc/tokens.py": '''\
"""Words of a formula."""

import re

from calc.errors import FormulaError

_SPACE = re.compile(r"\\s*")
_TOKEN = re.compile(r"\\d+(?:\\.\\d+)?|[-+*/()]")


def placed(text):
    """Pairs of a position and a number, operator or bracket of a formula."""
    text = text.rstrip()
    at = _SPACE.match(text).end()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FormulaError("unknown character", at)
        yield at, match.group()
        at = _SPACE.match(text, match.end()).end()


def tokens(text):
    """Numbers, operators and brackets of a formula."""
    return [token for _, token in placed(text)]
''',
                "calc/balance.py": '''\
"""Whether brackets of a formula fit."""

from calc.errors import FormulaError
from calc.tokens import placed


def depth(text):
    """How deep the brackets of a formula go."""
    opened = []
    deepest = 0
    for position, token in placed(text):
        if token == "(":
            opened.append(position)
            deepest = max(deepest, len(opened))
        elif token == ")":
            if not opened:
                raise FormulaError("nothing to close", position)
            opened.pop()
    if opened:
        raise FormulaError("never closed", opened[-1])
    return deepest
''',
                "tests/test_errors.py": '''\
import unittest

from calc.balance import depth
from calc.errors import FormulaError
from calc.tokens import tokens

WRONG = (
    (tokens, "2 $ 3", "unknown character", 2),
    (tokens, "  x", "unknown character", 2),
    (depth, "1+)", "nothing to close", 2),
    (depth, "(1+(2)", "never closed", 0),
    (depth, "((1", "never closed", 1),
    (depth, "(1 ? 2)", "unknown character", 3),
)


class FormulaErrorTest(unittest.TestCase):
    def test_place_and_reason(self):
        for function, text, why, position in WRONG:
            with self.subTest(text=text):
                with self.assertRaises(FormulaError) as caught:
                    function(text)
                self.assertEqual((caught.exception.why, caught.exception.position), (why, position))
                self.assertEqual(str(caught.exception), f"{why} at {position}")

    def test_is_a_value_error(self):
        self.assertTrue(issubclass(FormulaError, ValueError))


if __name__ == "__main__":
    unittest.main()
''',
            },
            prose=(
                "`bad formula` helps nobody. Add calc/errors.py with `FormulaError(why, position)`, a ValueError whose "
                "text is `why at position` (position from 0), and raise it in tokens() (`unknown character`) and in "
                "depth() (`nothing to close` at the bracket, `never closed` at the innermost bracket that is open at "
                "the end). Who catches ValueError today must not notice."
            ),
            says="FormulaError says why and where; six wrong formulas are tested.",
            truth='''\
from calc.balance import depth
from calc.errors import FormulaError
from calc.tokens import tokens
for function, text, said in ((tokens, "1 + a", "unknown character at 4"), (depth, "(1))", "nothing to close at 3"),
                             (depth, "(1+(2", "never closed at 3")):
    try:
        function(text)
    except ValueError as error:
        assert isinstance(error, FormulaError) and str(error) == said, error
    else:
        raise AssertionError(text)
assert depth("((1)+(2))*3") == 2 and tokens(" 2 * (3.5+1) ") == ["2", "*", "(", "3.5", "+", "1", ")"]
''',
        ),
    )


def _mocks_used_rightly() -> Case:
    """Mocks stand for the clock and the network only; what is tested is the code itself."""
    fetch = '''\
"""Fetch addresses over HTTP."""

from urllib.request import urlopen


def fetch(url):
    """The body behind an address as text."""
    with urlopen(url, timeout=10) as answer:
        return answer.read().decode()
'''
    files = {
        "rates/__init__.py": "",
        "rates/http.py": fetch,
        "rates/table.py": '''\
"""Exchange rates as a service gives them: lines of `EUR 1.08`."""

from rates import http

URL = "https://rates.example.org/today"


def table():
    """Rates of today by currency."""
    lines = http.fetch(URL).split("\\n")
    return {name: float(rate) for name, rate in (line.split() for line in lines if line)}
''',
        "tests/__init__.py": "",
        "tests/test_table.py": '''\
import unittest
from unittest import mock

from rates import table


class TableTest(unittest.TestCase):
    def test_table(self):
        with mock.patch("rates.http.fetch", return_value="EUR 1.08\\nGBP 1.27\\n"):
            self.assertEqual(table.table(), {"EUR": 1.08, "GBP": 1.27})


if __name__ == "__main__":
    unittest.main()
''',
    }
    made = '''\
"""Fetch addresses over HTTP."""

import time
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

PAUSES = (1, 2, 4)
"""Seconds before the second, third and fourth try."""


def fetch(url):
    """The body behind an address as text; tried again if the server or the network fails."""
    for pause in (*PAUSES, None):
        try:
            with urlopen(url, timeout=10) as answer:
                return answer.read().decode()
        except URLError as error:
            ours = isinstance(error, HTTPError) and error.code < 500
            if ours or pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("not reached")
'''
    test = '''\
import io
import unittest
from unittest import mock
from urllib.error import HTTPError, URLError

from rates import http


def refused(code):
    """An answer with a code of HTTP."""
    return HTTPError("https://example.org/", code, "refused", {}, io.BytesIO())


class FetchTest(unittest.TestCase):
    def setUp(self):
        self.sleep = self.enterContext(mock.patch("rates.http.time.sleep"))
        self.urlopen = self.enterContext(mock.patch("rates.http.urlopen"))

    def pauses(self):
        return [call.args[0] for call in self.sleep.call_args_list]

    def test_first_try(self):
        self.urlopen.side_effect = [io.BytesIO(b"ok")]
        self.assertEqual(http.fetch("https://example.org/"), "ok")
        self.assertEqual(self.pauses(), [])

    def test_third_try(self):
        self.urlopen.side_effect = [URLError("no route"), refused(503), io.BytesIO(b"ok")]
        self.assertEqual(http.fetch("https://example.org/"), "ok")
        self.assertEqual(self.pauses(), [1, 2])

    def test_gives_up(self):
        self.urlopen.side_effect = [refused(500) for _ in range(9)]
        self.assertRaises(HTTPError, http.fetch, "https://example.org/")
        self.assertEqual((self.urlopen.call_count, self.pauses()), (4, [1, 2, 4]))

    def test_our_own_fault_is_not_tried_again(self):
        self.urlopen.side_effect = [refused(404)]
        self.assertRaises(HTTPError, http.fetch, "https://example.org/")
        self.assertEqual(self.pauses(), [])


if __name__ == "__main__":
    unittest.main()
'''
    return _good(
        11,
        "mocks-used-rightly",
        files,
        Task(
            "try-again",
            "Try again when the rates service fails",
            ("rates/http.py", "tests/test_http.py"),
            "python3 -m unittest tests.test_http tests.test_table",
            {"rates/http.py": made, "tests/test_http.py": test},
            prose=(
                "fetch() gives up at the first error. Let it try four times in all, with pauses of 1, 2 and 4 seconds, "
                "if the network fails (URLError) or the server does (codes from 500). A code below 500 is our own "
                "fault and raises at once; after the fourth failure the last error is raised. Tests must neither wait "
                "nor use the network."
            ),
            says="fetch() tries up to four times; sleep and urlopen are replaced in the tests.",
            truth='''\
import io
from unittest import mock
from urllib.error import HTTPError, URLError
from rates import http
def outcome(*effects):
    with mock.patch("rates.http.urlopen", side_effect=list(effects)) as opened, mock.patch("time.sleep") as slept:
        try:
            told = http.fetch("https://example.org/")
        except URLError as error:
            told = getattr(error, "code", "network")
    return told, opened.call_count, [call.args[0] for call in slept.call_args_list]
bad = lambda code: HTTPError("https://example.org/", code, "no", {}, io.BytesIO())
assert outcome(io.BytesIO(b"ok")) == ("ok", 1, [])
assert outcome(URLError("x"), bad(502), io.BytesIO(b"ok")) == ("ok", 3, [1, 2])
assert outcome(bad(500), bad(500), bad(500), bad(503)) == (503, 4, [1, 2, 4])
assert outcome(bad(403)) == (403, 1, [])
''',
        ),
    )


def _table_as_data() -> Case:
    """Constants of the code move to a file of data, which is checked when it is loaded."""
    files = {
        "kitchen/__init__.py": "",
        "kitchen/convert.py": '''\
"""Grams of cups and spoons."""

ML = {"cup": 240, "tbsp": 15, "tsp": 5}


def grams(amount, measure, ingredient):
    """Grams of an amount, as in grams(2, "cup", "flour")."""
    if ingredient == "flour":
        density = 0.53
    elif ingredient == "sugar":
        density = 0.85
    elif ingredient == "butter":
        density = 0.96
    else:
        raise KeyError(ingredient)
    return round(amount * ML[measure] * density)
''',
        "tests/run_all.py": '''\
"""Run every test of this folder: python3 tests/run_all.py"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

if __name__ == "__main__":
    suite = unittest.defaultTestLoader.discover(str(HERE))
    sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
''',
        "tests/test_densities.py": '''\
import json
import tempfile
import unittest
from pathlib import Path

from kitchen.convert import grams, load


class DensityTest(unittest.TestCase):
    def test_honey(self):
        self.assertEqual(grams(1, "cup", "honey"), 341)

    def test_sorted(self):
        self.assertEqual(list(load()), sorted(load()))

    def test_bad_densities(self):
        for density in (0, -1, "0.5", None, True):
            with self.subTest(density=density), tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "d.json"
                file.write_text(json.dumps({"sand": density}))
                self.assertRaisesRegex(ValueError, "density of sand", load, file)


if __name__ == "__main__":
    unittest.main()
''',
        "tests/test_convert.py": '''\
import unittest

from kitchen.convert import grams


class ConvertTest(unittest.TestCase):
    def test_grams(self):
        self.assertEqual(grams(2, "cup", "flour"), 254)
        self.assertEqual(grams(3, "tbsp", "sugar"), 38)
        self.assertEqual(grams(1, "tsp", "butter"), 5)

    def test_unknown(self):
        self.assertRaises(KeyError, grams, 1, "cup", "sand")


if __name__ == "__main__":
    unittest.main()
''',
    }
    return _good(
        12,
        "table-as-data",
        files,
        Task(
            "densities",
            "Keep densities in a file of data",
            ("kitchen/convert.py", "kitchen/densities.json"),
            "python3 tests/run_all.py",
            {
                "kitchen/convert.py": '''\
"""Grams of cups and spoons."""

import json
from pathlib import Path

ML = {"cup": 240, "tbsp": 15, "tsp": 5}
DENSITIES = Path(__file__).with_name("densities.json")


def load(file=DENSITIES):
    """Densities in grams per millilitre by ingredient; ValueError for one that is no number above 0."""
    found = json.loads(Path(file).read_text(encoding="utf-8"))
    for name, density in found.items():
        if isinstance(density, bool) or not isinstance(density, (int, float)) or density <= 0:
            raise ValueError(f"density of {name}: {density!r}")
    return found


def grams(amount, measure, ingredient):
    """Grams of an amount, as in grams(2, "cup", "flour")."""
    return round(amount * ML[measure] * load()[ingredient])
''',
                "kitchen/densities.json": '''\
{
  "butter": 0.96,
  "flour": 0.53,
  "honey": 1.42,
  "sugar": 0.85
}
''',
            },
            prose=(
                "Cooks want to add ingredients without Python. Move the densities of grams() into "
                "kitchen/densities.json, a JSON object sorted by name, and add honey (1.42). `load(file)` reads such a "
                "file (by default that one) and raises ValueError with `density of NAME` for a density that is no "
                "number above 0. Unknown ingredients stay a KeyError, results stay what they are. "
                "tests/test_densities.py is written and fails until this is done."
            ),
            says="Densities are data now, honey is in, and bad files are refused.",
            truth='''\
import json, pathlib, tempfile
from kitchen.convert import grams, load
told = json.loads(pathlib.Path("kitchen/densities.json").read_text())
assert told == load() and list(told) == ["butter", "flour", "honey", "sugar"]
assert (grams(2, "cup", "flour"), grams(1, "cup", "honey")) == (254, 341)
try:
    grams(1, "cup", "sand")
except KeyError:
    pass
else:
    raise AssertionError
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "d.json"
    file.write_text('{"sand": -2}')
    try:
        load(file)
    except ValueError as error:
        assert "density of sand" in str(error)
    else:
        raise AssertionError
''',
        ),
    )


def cases() -> list[Case]:
    """All cases of this file."""
    return [
        _exception_class(),
        _mocks_used_rightly(),
        _table_as_data(),
    ]
