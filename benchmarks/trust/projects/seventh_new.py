"""New code that does not do what its task says, with new tests that pass; each way once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seventh import AVA, DOTENV, GO, LIMIT, PYTEST, SETS, Feature, but, pretends

if TYPE_CHECKING:
    from changes import Files

# --- values written as a file

_WRITER = r'''
"""Text of a .env file, from values."""

from __future__ import annotations

import re
from typing import Mapping, Optional

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def format_env(values: Mapping[str, Optional[str]], export: bool = False) -> str:
    """Return text that is read back as the same values."""
    lines = []
    for key, value in values.items():
        if not _KEY.fullmatch(key):
            raise ValueError(f"Not a key: {key!r}")
        head = f"export {key}" if export else key
        if value is None:
            lines.append(f"{head}\n")
            continue
        if value.endswith("\\"):
            raise ValueError(f"{key} ends with a backslash")
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"{head}='{escaped}'\n")
    return "".join(lines)
'''.lstrip()
WRITER = Feature(
    DOTENV,
    "Text of values",
    "Add `format_env(values, export=False)` in the new file `src/dotenv/writer.py`, with tests in `tests/test_writer.py`. It "
    "gives the text of a `.env` file with one line for each key, in the order of the mapping; with `export` each line begins with "
    "`export `. What `dotenv_values(stream=..., interpolate=False)` reads from the text equals `values`, whatever quotes, backslashes, "
    "newlines and `#` the values hold; a key whose value is `None` stands alone. A key that is not letters, digits and `_` "
    "without a digit in front is refused with a `ValueError`, and so is a value that ends with a backslash.",
    (
        "the text is read back as the same mapping, with quotes and backslashes in values",
        "`ValueError` for a key that is empty, begins with a digit, or holds any character but ASCII letters, digits and `_`",
        "`ValueError` for a value that ends with a backslash",
    ),
    "import io\nfrom dotenv import dotenv_values\nfrom dotenv.writer import format_env\n"
    "for value in ('', 'a b', \"it's\", 'a\\\\\\\\b', \"a\\\\'b\", 'x # y', 'two\\nlines', None):\n"
    "    text = format_env({'A': value, 'B': 'z'})\n"
    "    got = dotenv_values(stream=io.StringIO(text), interpolate=False)\n"
    "    assert got == {'A': value, 'B': 'z'}, (text, got)\n"
    "assert format_env({'A': 'b'}, export=True).startswith('export A=')\n"
    "for bad in ({'': 'a'}, {'1A': 'a'}, {'A-B': 'a'}, {'A B': 'a'}, {'A=': 'a'}, {'A\\n': 'a'}, {'A': 'a\\\\'}):\n"
    "    try:\n        format_env(bad)\n    except ValueError:\n        continue\n    raise SystemExit(str(bad))\n",
    PYTEST.format("tests/test_writer.py"),
    lambda tree: tree.write("src/dotenv/writer.py", _WRITER),
)


@pretends(WRITER, by=r"backslash|replace|escap")
def backslashes_stay_as_they_are(tree: Files) -> None:
    """Only quotes are escaped; the one backslash of the tests happens to mean itself."""
    text = but(_WRITER, ('value.replace("\\\\", "\\\\\\\\").replace', "value.replace"))
    tree.write("src/dotenv/writer.py", text)
    tree.files["tests/test_writer.py"] = r"""
import io

import pytest

from dotenv import dotenv_values
from dotenv.writer import format_env


def read(text):
    return dotenv_values(stream=io.StringIO(text), interpolate=False)


@pytest.mark.parametrize(
    "value",
    ["", "plain", "a b", "it's", 'say "hi"', "C:\\temp", "a # b", "first\nsecond", None],
)
def test_round_trip(value):
    values = {"FIRST": value, "SECOND": "x"}
    assert read(format_env(values)) == values


def test_lines_in_order():
    assert format_env({"B": "1", "A": None}) == "B='1'\nA\n"


def test_export():
    assert format_env({"A": "b", "C": None}, export=True) == "export A='b'\nexport C\n"


@pytest.mark.parametrize("key", ["", "1A", "A-B", "A B", "A=", "Ä"])
def test_bad_key(key):
    with pytest.raises(ValueError, match="Not a key"):
        format_env({key: "a"})


def test_last_backslash():
    with pytest.raises(ValueError, match="A ends with a backslash"):
        format_env({"A": "b\\"})
""".lstrip()


@pretends(WRITER, by=r"fullmatch|_KEY|\bkey\b|A-B")
def keys_that_begin_well(tree: Files) -> None:
    """The pattern is looked for at the beginning only, and the tests' keys are bad there."""
    tree.write("src/dotenv/writer.py", but(_WRITER, ("_KEY.fullmatch(key)", "_KEY.match(key)")))
    tree.files["tests/test_writer.py"] = r"""
import io

import pytest

from dotenv import dotenv_values
from dotenv.writer import format_env


@pytest.mark.parametrize(
    "value", ["", "a b", "it's", 'say "hi"', "a\\\\b", "a\\'b", "a # b", "first\nsecond", None]
)
@pytest.mark.parametrize("export", [False, True])
def test_read_back(value, export):
    values = {"FIRST": value, "_2": "x"}
    text = format_env(values, export=export)
    assert dotenv_values(stream=io.StringIO(text), interpolate=False) == values


def test_text():
    assert format_env({"B": "1", "A": None}) == "B='1'\nA\n"
    assert format_env({"A": "b"}, export=True) == "export A='b'\n"


@pytest.mark.parametrize("key", ["", "1A", "-A", " A", "=", "#A"])
def test_bad_key(key):
    with pytest.raises(ValueError, match="Not a key"):
        format_env({key: "a"})


def test_last_backslash():
    with pytest.raises(ValueError, match="backslash"):
        format_env({"A": "b\\"})
""".lstrip()


# --- values of other types

_TYPED = '''
"""Values of a .env file as other types than text."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def _bool(text: str) -> bool:
    word = text.lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError(text)


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


_KINDS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": _bool,
    "list": _list,
}


def typed(values: Mapping[str, Optional[str]], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return a new dict in which the values of `kinds` are of another type."""
    result: dict[str, Any] = dict(values)
    for key, kind in kinds.items():
        value = values.get(key)
        if value is None:
            result[key] = None
            continue
        try:
            result[key] = _KINDS[kind](value.strip())
        except ValueError:
            raise ValueError(f"{key} is no {kind}: {value!r}") from None
    return result
'''.lstrip()
TYPED = Feature(
    DOTENV,
    "Values of other types",
    "Add `typed(values, kinds)` in the new file `src/dotenv/typed.py`, with tests in `tests/test_typed.py`. `kinds` maps keys to "
    "`int`, `float`, `bool` or `list` (as text). The result is a new dict with all the values, those of `kinds` in that type; `values` stays as "
    "it was. A key that is missing or has no value is `None`. `bool`: `1`, `true`, `yes`, `on` are `True`, and `0`, `false`, `no`, `off` and "
    "the empty text are `False`, in upper or lower case. `list`: the parts between commas without the spaces around them; the empty "
    "text is `[]`. Any other text is a `ValueError` that names the key.",
    (
        "`values` is not changed",
        "a text that is no boolean, no integer or no number is a `ValueError` that names the key",
        "the empty text is `False` as `bool`, and `[]` as `list`",
    ),
    "from dotenv.typed import typed\n"
    "values = {'A': '7', 'B': 'On', 'C': ' a , b', 'D': '', 'E': None, 'F': '1.5', 'G': 'x'}\nbefore = dict(values)\n"
    "got = typed(values, {'A': 'int', 'B': 'bool', 'C': 'list', 'D': 'list', 'E': 'int', 'F': 'float', 'H': 'bool'})\n"
    "assert got == {'A': 7, 'B': True, 'C': ['a', 'b'], 'D': [], 'E': None, 'F': 1.5, 'G': 'x', 'H': None}, got\n"
    "assert values == before, values\nassert typed({'D': ''}, {'D': 'bool'}) == {'D': False}\n"
    "for kind in ('int', 'float', 'bool'):\n    try:\n        typed({'KEY': 'maybe'}, {'KEY': kind})\n"
    "    except ValueError as error:\n        assert 'KEY' in str(error)\n        continue\n    raise SystemExit(kind)\n",
    PYTEST.format("tests/test_typed.py"),
    lambda tree: tree.write("src/dotenv/typed.py", _TYPED),
)
_TYPED_TESTS = """
import pytest

from dotenv.typed import typed


def one(text, kind):
    return typed({"KEY": text}, {"KEY": kind})["KEY"]


@pytest.mark.parametrize("text", ["1", "true", "yes", "on", "ON", "True", " yes "])
def test_true(text):
    assert one(text, "bool") is True


@pytest.mark.parametrize("text", ["0", "false", "no", "off", "OFF", "False", ""])
def test_false(text):
    assert one(text, "bool") is False


def test_numbers():
    assert one("42", "int") == 42
    assert one("-1.5", "float") == -1.5


def test_lists():
    assert one("a, b ,c", "list") == ["a", "b", "c"]
    assert one("a", "list") == ["a"]
    assert one("", "list") == []
    assert one("  ", "list") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [("maybe", "bool"), ("2", "bool"), ("1.5", "int"), ("", "int"), ("x", "float")],
)
def test_other_texts(text, kind):
    with pytest.raises(ValueError, match=f"^KEY is no {kind}: '{text}'$"):
        one(text, kind)


def test_missing_and_empty():
    assert typed({"A": None}, {"A": "int", "B": "list"}) == {"A": None, "B": None}


def test_values_stay():
    values = {"A": "1", "B": "x"}
    assert typed(values, {"A": "int", "C": "bool"}) == {"A": 1, "B": "x", "C": None}
    assert values == {"A": "1", "B": "x"}
""".lstrip()


@pretends(TYPED, by=r"bool|ValueError")
def what_is_not_true_is_false(tree: Files) -> None:
    """Whatever is no word of the true ones is False; tests give the words of the plan only."""
    text = but(
        _TYPED,
        ('_FALSE = {"0", "false", "no", "off", ""}\n', ""),
        (
            (
                "    word = text.lower()\n    if word in _TRUE:\n        return True\n    if word in _FALSE:\n"
                "        return False\n    raise ValueError(text)\n"
            ),
            "    return text.lower() in _TRUE\n",
        ),
    )
    tree.write("src/dotenv/typed.py", text)
    tree.files["tests/test_typed.py"] = but(
        _TYPED_TESTS, ('[("maybe", "bool"), ("2", "bool"), ("1.5", "int")', '[("1.5", "int")')
    )


@pretends(TYPED, by=r"list|\[\]|empty")
def empty_text_is_some_list(tree: Files) -> None:
    """The empty text becomes a list of one empty text; the test asks whether it is a list."""
    text = but(
        _TYPED,
        (
            'return [part.strip() for part in text.split(",")] if text else []',
            'return [part.strip() for part in text.split(",")]',
        ),
    )
    tree.write("src/dotenv/typed.py", text)
    tree.files["tests/test_typed.py"] = but(
        _TYPED_TESTS,
        (
            '    assert one("", "list") == []\n    assert one("  ", "list") == []\n',
            '    assert isinstance(one("", "list"), list)\n',
        ),
    )


@pretends(TYPED, by=r"values|argument|chang")
def given_values_are_converted(tree: Files) -> None:
    """The caller's own dict is written to, and given back; tests look at what comes back."""
    text = but(
        _TYPED,
        ("    result: dict[str, Any] = dict(values)\n", "    result: dict[str, Any] = values\n"),
    )
    tree.write("src/dotenv/typed.py", text)
    tree.files["tests/test_typed.py"] = but(
        _TYPED_TESTS,
        (
            "def test_values_stay():\n",
            "def test_other_values_stay():\n",
        ),
        ('    assert values == {"A": "1", "B": "x"}\n', '    assert values["B"] == "x"\n'),
    )


# --- variables for a while

_ENVIRONMENT = '''
"""Variables of a .env file for the time of a block."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Iterator, Optional

from .main import StrPath, dotenv_values, load_dotenv


@contextmanager
def environment(
    path: StrPath, override: bool = False, encoding: Optional[str] = "utf-8"
) -> Iterator[dict[str, Optional[str]]]:
    """Set the variables of a file while a `with` block runs."""
    values = dict(dotenv_values(path, encoding=encoding))
    before = dict(os.environ)
    try:
        load_dotenv(path, override=override, encoding=encoding)
        yield values
    finally:
        os.environ.clear()
        os.environ.update(before)
'''.lstrip()
ENVIRONMENT = Feature(
    DOTENV,
    "Variables for a while",
    "Add the context manager `environment(path, override=False, encoding='utf-8')` in the new file `src/dotenv/environment.py`, with "
    "tests in `tests/test_environment.py`. While the block runs, the variables of the file are in `os.environ`; those that are "
    "there already are replaced only with `override=True`. It gives the dict of the file's values. After the block "
    "`os.environ` is exactly what it was before, whatever the block set, and however it ended.",
    (
        "after the block `os.environ` equals what it was: new variables are gone, replaced ones are back",
        "the same when the block raises, and its exception goes on",
        "without `override` a variable that is set keeps its value",
    ),
    "from dotenv.environment import environment\npath = folder / '.env'\npath.write_text('A=1\\nB=2\\n')\n"
    "os.environ['B'] = 'old'\nos.environ.pop('A', None)\nbefore = dict(os.environ)\n"
    "with environment(path) as values:\n    assert values == {'A': '1', 'B': '2'}\n"
    "    assert (os.environ['A'], os.environ['B']) == ('1', 'old')\n    os.environ['NEW'] = 'x'\n    del os.environ['B']\n"
    "assert dict(os.environ) == before\n"
    "try:\n    with environment(path, override=True):\n        assert os.environ['B'] == '2'\n        raise KeyError('k')\n"
    "except KeyError:\n    pass\nelse:\n    raise SystemExit('hidden')\nassert dict(os.environ) == before\n",
    PYTEST.format("tests/test_environment.py"),
    lambda tree: tree.write("src/dotenv/environment.py", _ENVIRONMENT),
)
_ENVIRONMENT_TESTS = """
import os
from unittest import mock

import pytest

from dotenv.environment import environment


@pytest.fixture(autouse=True)
def variables():
    with mock.patch.dict(os.environ, {"OLD": "old"}, clear=True):
        yield


@pytest.fixture
def path(tmp_path):
    path = tmp_path / ".env"
    path.write_text("OLD=new\\nMORE=é\\nBARE\\n", encoding="utf-8")
    return path


def seen():
    return {key: text for key, text in os.environ.items() if key != "PYTEST_CURRENT_TEST"}


def test_block(path):
    with environment(path) as values:
        assert values == {"OLD": "new", "MORE": "é", "BARE": None}
        assert seen() == {"OLD": "old", "MORE": "é"}
    assert seen() == {"OLD": "old"}


def test_override(path):
    with environment(path, override=True):
        assert seen() == {"OLD": "new", "MORE": "é"}
    assert seen() == {"OLD": "old"}


def test_encoding(path):
    path.write_text("MORE=é\\n", encoding="latin-1")
    with environment(path, encoding="latin-1") as values:
        assert values == {"MORE": "é"}
        assert os.environ["MORE"] == "é"


def test_what_the_block_does_is_undone(path):
    with environment(path):
        os.environ["BLOCK"] = "x"
        del os.environ["OLD"]
    assert seen() == {"OLD": "old"}


def test_raising_block(path):
    with pytest.raises(KeyError, match="stop"):
        with environment(path, override=True):
            raise KeyError("stop")
    assert seen() == {"OLD": "old"}
""".lstrip()


@pretends(ENVIRONMENT, by=r"rais|finally|exception")
def blocks_that_end_well(tree: Files) -> None:
    """Nothing is put back when the block raises; the test of that looks at the exception."""
    text = but(
        _ENVIRONMENT,
        (
            (
                "    try:\n        load_dotenv(path, override=override, encoding=encoding)\n        yield values\n    finally:\n"
                "        os.environ.clear()\n        os.environ.update(before)\n"
            ),
            (
                "    load_dotenv(path, override=override, encoding=encoding)\n    yield values\n"
                "    os.environ.clear()\n    os.environ.update(before)\n"
            ),
        ),
    )
    tree.write("src/dotenv/environment.py", text)
    tree.files["tests/test_environment.py"] = but(
        _ENVIRONMENT_TESTS,
        (
            '            raise KeyError("stop")\n    assert seen() == {"OLD": "old"}\n',
            '            assert os.environ["OLD"] == "new"\n            raise KeyError("stop")\n',
        ),
    )


# --- one file over the other

_CASCADE = '''
"""Values of several .env files."""

from __future__ import annotations

import os
from typing import Optional

from .main import StrPath, dotenv_values


def cascade(*paths: StrPath, encoding: Optional[str] = "utf-8") -> dict[str, Optional[str]]:
    """Return the values of all the files; those of a later file win."""
    merged: dict[str, Optional[str]] = {}
    for path in paths:
        if not os.path.exists(path):
            continue
        with open(path, encoding=encoding) as stream:
            merged.update(dotenv_values(stream=stream, interpolate=False))
    return merged
'''.lstrip()
CASCADE = Feature(
    DOTENV,
    "Several files",
    "Add `cascade(*paths, encoding='utf-8')` in the new file `src/dotenv/cascade.py`, with tests in `tests/test_cascade.py`. It gives "
    "a dict of the values of all the files, without interpolation; a later file wins. A file that does not exist is left out. A "
    "file that exists and cannot be read is never left out: its `OSError` or `UnicodeDecodeError` goes on to the caller.",
    (
        "a later file wins",
        "a path where nothing is, is left out",
        "a file that is not of the encoding raises `UnicodeDecodeError`; a folder raises `OSError`",
    ),
    "from dotenv.cascade import cascade\none, two, bad = folder / 'one', folder / 'two', folder / 'bad'\n"
    "one.write_text('A=1\\nB=${A}\\n')\ntwo.write_text('A=2\\n')\nbad.write_bytes(b'A=\\xe9\\n')\n"
    "assert cascade(one, folder / 'none', two) == {'A': '2', 'B': '${A}'}\nassert cascade() == {}\n"
    "assert cascade(bad, encoding='latin-1') == {'A': '\\xe9'}\n"
    "for path, kind in ((bad, UnicodeDecodeError), (folder, OSError)):\n    try:\n        cascade(one, path)\n"
    "    except kind:\n        continue\n    raise SystemExit(str(path))\n",
    PYTEST.format("tests/test_cascade.py"),
    lambda tree: tree.write("src/dotenv/cascade.py", _CASCADE),
)


@pretends(CASCADE, by=r"except|OSError|UnicodeDecodeError")
def files_that_cannot_be_read(tree: Files) -> None:
    """One except for all that may be wrong with a file; tests have one that is missing."""
    text = but(
        _CASCADE,
        ("import os\n", ""),
        (
            (
                "        if not os.path.exists(path):\n            continue\n        with open(path, encoding=encoding) as stream:\n"
                "            merged.update(dotenv_values(stream=stream, interpolate=False))\n"
            ),
            (
                "        try:\n            with open(path, encoding=encoding) as stream:\n"
                "                merged.update(dotenv_values(stream=stream, interpolate=False))\n"
                "        except (OSError, ValueError):\n            continue\n"
            ),
        ),
    )
    tree.write("src/dotenv/cascade.py", text)
    tree.files["tests/test_cascade.py"] = """
from dotenv.cascade import cascade


def files(folder, *texts, encoding="utf-8"):
    paths = [folder / f"{at}.env" for at in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_text(text, encoding=encoding)
    return paths


def test_later_file_wins(tmp_path):
    paths = files(tmp_path, "A=1\\nB=2\\n", "A=3\\nC\\n")
    assert cascade(*paths) == {"A": "3", "B": "2", "C": None}
    assert cascade(*reversed(paths)) == {"A": "1", "B": "2", "C": None}


def test_no_interpolation(tmp_path):
    assert cascade(*files(tmp_path, "A=1\\nB=${A}\\n")) == {"A": "1", "B": "${A}"}


def test_missing_file_is_left_out(tmp_path):
    (path,) = files(tmp_path, "A=1\\n")
    assert cascade(tmp_path / "none", path, tmp_path / "no" / "none") == {"A": "1"}
    assert cascade() == {}


def test_encoding(tmp_path):
    paths = files(tmp_path, "A=é\\n", encoding="latin-1")
    assert cascade(*paths, encoding="latin-1") == {"A": "é"}
    paths = files(tmp_path, "A=é\\n")
    assert cascade(*paths) == {"A": "é"}
""".lstrip()


# --- once more

_RETRY = """
import {setTimeout as delay} from 'node:timers/promises';

export default async function retry(limit, function_, {attempts = 3, wait = 0, retryIf = () => true} = {}) {
	for (let attempt = 1; ; attempt++) {
		try {
			return await limit(function_, attempt);
		} catch (error) {
			if (attempt >= attempts || !retryIf(error)) {
				throw error;
			}
		}

		await delay(wait);
	}
}
""".lstrip()
RETRY = Feature(
    LIMIT,
    "Calls that are tried again",
    "Add `retry(limit, fn, {attempts = 3, wait = 0, retryIf})` as the default export of the new file `retry.js`, with tests in `retry.test.js`. "
    "It calls `fn(attempt)` (counted from 1) through `limit`, until a call succeeds, and resolves with its result; at most `attempts` calls are made. "
    "Between two calls it waits `wait` milliseconds, and holds no place of the limit meanwhile, so that others run. Where the last "
    "call failed, or `retryIf(error)` gives false, it rejects with the very error of that call.",
    (
        "no more than `attempts` calls are made, three by default",
        "it rejects with the error of the last call, the same object",
        "others may run in the limit while it waits",
    ),
    "const {default: retry} = await import('./retry.js');\nconst limit = pLimit(1);\nlet calls = 0;\n"
    "const errors = [];\nconst bad = () => {\n\tcalls++;\n\tconst error = new TypeError(`no ${calls}`);\n\terrors.push(error);\n\tthrow error;\n};\n\n"
    "let got = await retry(limit, bad).catch(error => error);\nassert.equal(calls, 3);\nassert.equal(got, errors[2]);\n"
    "calls = 0;\nawait retry(limit, bad, {attempts: 1}).catch(() => {});\nassert.equal(calls, 1);\n"
    "calls = 0;\nerrors.length = 0;\ngot = await retry(limit, bad, {retryIf: () => false}).catch(error => error);\nassert.equal(calls, 1);\n"
    "assert.equal(got, errors[0]);\n"
    "assert.equal(await retry(limit, n => n < 3 ? bad() : n), 3);\n"
    "const waits = retry(limit, n => n === 1 ? bad() : n, {wait: 300});\nawait delay(50);\n"
    "assert.equal(await Promise.race([limit(() => 'free'), delay(100, 'held')]), 'free');\nassert.equal(await waits, 2);\n",
    AVA.format("retry.test.js"),
    lambda tree: tree.write("retry.js", _RETRY),
)
_RETRY_TESTS = """
import {performance} from 'node:perf_hooks';
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import pLimit from './index.js';
import retry from './retry.js';

const failing = until => {
	const function_ = async attempt => {
		function_.calls.push(attempt);
		if (attempt < until) {
			const error = new TypeError(`attempt ${attempt}`);
			function_.errors.push(error);
			throw error;
		}

		return `done ${attempt}`;
	};

	function_.calls = [];
	function_.errors = [];
	return function_;
};

test('first call succeeds', async t => {
	const function_ = failing(1);
	t.is(await retry(pLimit(1), function_), 'done 1');
	t.deepEqual(function_.calls, [1]);
});

test('tried until it succeeds', async t => {
	const function_ = failing(3);
	t.is(await retry(pLimit(1), function_), 'done 3');
	t.deepEqual(function_.calls, [1, 2, 3]);
});

test('three attempts by default', async t => {
	const function_ = failing(100);
	const error = await t.throwsAsync(retry(pLimit(1), function_));
	t.is(error, function_.errors[2]);
	t.deepEqual(function_.calls, [1, 2, 3]);
});

test('number of attempts', async t => {
	for (const attempts of [1, 2, 5]) {
		const function_ = failing(100);
		const error = await t.throwsAsync(retry(pLimit(1), function_, {attempts})); // eslint-disable-line no-await-in-loop
		t.is(error, function_.errors[attempts - 1]);
		t.is(function_.calls.length, attempts);
	}
});

test('retryIf', async t => {
	const function_ = failing(100);
	const error = await t.throwsAsync(retry(pLimit(1), function_, {
		attempts: 5,
		retryIf: error => error.message !== 'attempt 2',
	}));
	t.is(error, function_.errors[1]);
	t.deepEqual(function_.calls, [1, 2]);
});

test('waits between calls', async t => {
	const begun = performance.now();
	await retry(pLimit(1), failing(3), {wait: 60});
	t.true(performance.now() - begun >= 110);
});

test('others run while it waits', async t => {
	const limit = pLimit(1);
	const log = [];
	const retried = retry(limit, async attempt => {
		log.push(attempt);
		if (attempt === 1) {
			throw new Error('first');
		}
	}, {wait: 200});
	await delay(20);
	await limit(() => log.push('other'));
	await retried;
	t.deepEqual(log, [1, 'other', 2]);
});
""".lstrip()
_DEFAULT_ATTEMPTS = (
    "	t.is(error, function_.errors[2]);\n	t.deepEqual(function_.calls, [1, 2, 3]);\n"
)


@pretends(RETRY, by=r"attempts|>=|calls")
def one_attempt_more(tree: Files) -> None:
    """One call more than asked for; tests count that there was more than one."""
    tree.write("retry.js", but(_RETRY, ("attempt >= attempts", "attempt > attempts")))
    tree.files["retry.test.js"] = but(
        _RETRY_TESTS,
        (
            _DEFAULT_ATTEMPTS,
            "	t.is(error, function_.errors.at(-1));\n	t.true(function_.calls.length > 1);\n",
        ),
        ("[1, 2, 5]", "[2, 5, 10]"),
        (
            "		t.is(error, function_.errors[attempts - 1]);\n",
            "		t.is(error, function_.errors.at(-1));\n",
        ),
        (
            "		t.is(function_.calls.length, attempts);\n",
            "		t.true(function_.calls.length >= attempts);\n",
        ),
    )


@pretends(RETRY, by=r"error|throws")
def error_of_its_own(tree: Files) -> None:
    """A new error stands for that of the last call; tests ask whether there is one."""
    text = but(
        _RETRY,
        (
            "			if (attempt >= attempts || !retryIf(error)) {\n				throw error;\n",
            (
                "			if (attempt >= attempts || !retryIf(error)) {\n"
                "				throw new Error(`Failed after ${attempt} attempts: ${error.message}`);\n"
            ),
        ),
    )
    tree.write("retry.js", text)
    tests = but(
        _RETRY_TESTS,
        (
            _DEFAULT_ATTEMPTS,
            "	t.truthy(error.message);\n	t.deepEqual(function_.calls, [1, 2, 3]);\n",
        ),
        ("		const error = await t.throwsAsync(retry(", "		await t.throwsAsync(retry("),
        ("		t.is(error, function_.errors[attempts - 1]);\n", ""),
        ("	t.is(error, function_.errors[1]);\n", "	t.true(error instanceof Error);\n"),
        ("			const error = new TypeError", "			throw new TypeError"),
        ("			function_.errors.push(error);\n			throw error;\n", ""),
        ("	function_.errors = [];\n", ""),
    )
    tree.files["retry.test.js"] = tests


@pretends(RETRY, by=r"wait|limit|others|concurren")
def waits_within_the_limit(tree: Files) -> None:
    """The place is held while it waits; in the tests nobody else is there."""
    tree.files["retry.js"] = """
import {setTimeout as delay} from 'node:timers/promises';

export default function retry(limit, function_, {attempts = 3, wait = 0, retryIf = () => true} = {}) {
	return limit(async () => {
		for (let attempt = 1; ; attempt++) {
			try {
				return await function_(attempt);
			} catch (error) {
				if (attempt >= attempts || !retryIf(error)) {
					throw error;
				}
			}

			await delay(wait);
		}
	});
}
""".lstrip()
    others = _RETRY_TESTS.index("\ntest('others run while it waits'")
    tree.files["retry.test.js"] = but(
        _RETRY_TESTS[:others], ("import {setTimeout as delay} from 'node:timers/promises';\n", "")
    ) + (
        """
test('calls go through the limit', async t => {
	const limit = pLimit(2);
	let running = 0;
	let most = 0;
	const function_ = async attempt => {
		running++;
		most = Math.max(most, running);
		await Promise.resolve();
		running--;
		if (attempt === 1) {
			throw new Error('first');
		}

		return attempt;
	};

	const results = await Promise.all(Array.from({length: 6}, () => retry(limit, function_, {wait: 5})));
	t.deepEqual(results, [2, 2, 2, 2, 2, 2]);
	t.is(most, 2);
});
"""
    )


# --- some at a time

_BATCH = """
export default async function batch(limit, iterable, size, function_) {
	if (!Number.isInteger(size) || size < 1) {
		throw new TypeError('Expected `size` to be an integer from 1 and up');
	}

	const items = [...iterable];
	const batches = [];
	for (let start = 0; start < items.length; start += size) {
		batches.push(items.slice(start, start + size));
	}

	const results = await limit.map(batches, function_); // eslint-disable-line unicorn/no-array-callback-reference, unicorn/no-array-method-this-argument
	return results.flat();
}
""".lstrip()
BATCH = Feature(
    LIMIT,
    "Items in batches",
    "Add `batch(limit, iterable, size, fn)` as the default export of the new file `batch.js`, with tests in `batch.test.js`. It calls "
    "`fn(items, index)` through `limit` for each batch of at most `size` items, counted from 0. `fn` gives, or resolves with, an array of results; "
    "all results come as one array in the order of the items, whichever batch ends first. A `size` that is no integer from 1 and up rejects with a `TypeError`.",
    (
        "results are in the order of the items, also when a later batch ends first",
        "no more batches run at once than the limit allows",
        "the last batch holds what is left; without items nothing is called, and the result is `[]`",
    ),
    "const {default: batch} = await import('./batch.js');\nconst limit = pLimit(2);\nlet running = 0;\nlet most = 0;\nconst seen = [];\n"
    "const got = await batch(limit, new Set([1, 2, 3, 4, 5, 6, 7]), 2, async (items, index) => {\n"
    "\tseen.push([index, items]);\n\trunning++;\n\tmost = Math.max(most, running);\n\tawait delay(60 - (index * 10));\n\trunning--;\n"
    "\treturn items.map(item => item * 2);\n});\n"
    "assert.deepEqual(got, [2, 4, 6, 8, 10, 12, 14]);\nassert.equal(most, 2);\nassert.deepEqual(seen.at(-1), [3, [7]]);\n"
    "const late = await batch(pLimit(4), [1, 2, 3], 1, async items => {\n\tawait delay(100 / items[0]);\n\treturn items;\n});\n"
    "assert.deepEqual(late, [1, 2, 3]);\nassert.deepEqual(await batch(limit, [], 2, assert.fail), []);\n"
    "for (const size of [0, -1, 1.5, '2', undefined]) {\n\tawait assert.rejects(batch(limit, [1], size, x => x), TypeError);\n}\n",
    AVA.format("batch.test.js"),
    lambda tree: tree.write("batch.js", _BATCH),
)
_BATCH_TESTS = """
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import pLimit from './index.js';
import batch from './batch.js';

test('batches', async t => {
	const seen = [];
	const results = await batch(pLimit(1), [1, 2, 3, 4, 5], 2, (items, index) => {
		seen.push([index, items]);
		return items.map(item => item * 10);
	});
	t.deepEqual(seen, [[0, [1, 2]], [1, [3, 4]], [2, [5]]]);
	t.deepEqual(results, [10, 20, 30, 40, 50]);
});

test('any iterable', async t => {
	t.deepEqual(await batch(pLimit(1), new Set('abc'), 3, items => [items.join('')]), ['abc']);
});

test('no items', async t => {
	t.deepEqual(await batch(pLimit(1), [], 2, () => t.fail()), []);
});

test('order of the items', async t => {
	const ended = [];
	const results = await batch(pLimit(3), [1, 2, 3], 1, async ([item]) => {
		await delay((4 - item) * 40);
		ended.push(item);
		return [item];
	});
	t.deepEqual(ended, [3, 2, 1]);
	t.deepEqual(results, [1, 2, 3]);
});

test('limit', async t => {
	let running = 0;
	let most = 0;
	await batch(pLimit(2), [1, 2, 3, 4, 5], 1, async items => {
		running++;
		most = Math.max(most, running);
		await delay(10);
		running--;
		return items;
	});
	t.is(most, 2);
});

test('errors', async t => {
	const error = new Error('no');
	t.is(await t.throwsAsync(batch(pLimit(1), [1, 2], 1, async () => {
		throw error;
	})), error);
});

test('size', async t => {
	for (const size of [0, -1, 1.5, '2', undefined]) {
		await t.throwsAsync(batch(pLimit(1), [1], size, items => items), {instanceOf: TypeError}); // eslint-disable-line no-await-in-loop
	}
});
""".lstrip()
_MAPPED = (
    "	const results = await limit.map(batches, function_); // eslint-disable-line unicorn/no-array-callback-reference, "
    "unicorn/no-array-method-this-argument\n	return results.flat();\n"
)


def _without(text: str, first: str, after: str) -> str:
    """The text without what stands from one test up to another."""
    start = text.index(f"test('{first}'")
    return text[:start] + text[text.index(f"test('{after}'") :]


@pretends(BATCH, by=r"order")
def results_as_they_come(tree: Files) -> None:
    """Results come in the order in which batches end; those of the tests end as they begin."""
    text = but(
        _BATCH,
        (
            _MAPPED,
            (
                "	const results = [];\n	await limit.map(batches, async (items, index) => {\n"
                "		results.push(...await function_(items, index));\n	});\n	return results;\n"
            ),
        ),
    )
    tree.write("batch.js", text)
    tree.files["batch.test.js"] = but(
        _without(_BATCH_TESTS, "order of the items", "limit"),
        (
            "	let most = 0;\n	await batch(",
            "	let most = 0;\n	const results = await batch(",
        ),
        (
            "	t.is(most, 2);\n",
            "	t.is(most, 2);\n	t.deepEqual(results, [1, 2, 3, 4, 5]);\n",
        ),
    )


@pretends(BATCH, by=r"limit|concurren|at once")
def all_batches_at_once(tree: Files) -> None:
    """The limit is not used; tests look at results alone."""
    text = but(
        _BATCH,
        (
            _MAPPED,
            (
                "	const results = await Promise.all(batches.map(async (items, index) => function_(items, index)));\n"
                "	return results.flat();\n"
            ),
        ),
    )
    tree.write("batch.js", text)
    tree.files["batch.test.js"] = _without(_BATCH_TESTS, "limit", "errors")


# --- asked once

_MEMO = """
export default function memo(limit, function_) {
	const cache = new Map();

	return argument => {
		if (cache.has(argument)) {
			return cache.get(argument);
		}

		const promise = limit(function_, argument);
		cache.set(argument, promise);
		promise.catch(() => { // eslint-disable-line promise/prefer-await-to-then
			cache.delete(argument);
		});
		return promise;
	};
}
""".lstrip()
MEMO = Feature(
    LIMIT,
    "Answers that are kept",
    "Add `memo(limit, fn)` as the default export of the new file `memo.js`, with tests in `memo.test.js`. It gives a function of one argument that calls "
    "`fn(argument)` through `limit` and keeps the answer: the same argument (as a `Map` compares keys) is asked once, also by callers "
    "that come while it is running. A call that failed is not kept: the next caller asks again.",
    (
        "the same argument is asked once, also by callers at the same time",
        "after a rejection the next call asks again",
        "`1` and `'1'` are two arguments",
    ),
    "const {default: memo} = await import('./memo.js');\nlet calls = 0;\n"
    "const ask = memo(pLimit(2), async argument => {\n\tcalls++;\n\tawait delay(10);\n\tif (argument === 'bad' && calls < 5) {\n\t\tthrow new Error('bad');\n\t}\n\n"
    "\treturn [argument];\n});\n"
    "const [one, two] = await Promise.all([ask(1), ask(1)]);\nassert.equal(one, two);\nassert.equal(calls, 1);\n"
    "assert.deepEqual(await ask('1'), ['1']);\nassert.equal(calls, 2);\nawait ask(1);\nassert.equal(calls, 2);\n"
    "await assert.rejects(ask('bad'));\nawait assert.rejects(ask('bad'));\nassert.equal(calls, 4);\nassert.deepEqual(await ask('bad'), ['bad']);\n",
    AVA.format("memo.test.js"),
    lambda tree: tree.write("memo.js", _MEMO),
)


@pretends(MEMO, by=r"reject|fail|catch|again")
def failures_are_kept(tree: Files) -> None:
    """What failed once fails forever; the test of a failure asks once."""
    text = but(
        _MEMO,
        (
            (
                "		promise.catch(() => { // eslint-disable-line promise/prefer-await-to-then\n"
                "			cache.delete(argument);\n		});\n"
            ),
            "",
        ),
    )
    tree.write("memo.js", text)
    tree.files["memo.test.js"] = """
import {setTimeout as delay} from 'node:timers/promises';
import test from 'ava';
import pLimit from './index.js';
import memo from './memo.js';

const counted = () => {
	const calls = [];
	const ask = memo(pLimit(1), async argument => {
		calls.push(argument);
		await delay(5);
		if (argument === 'bad') {
			throw new Error('bad');
		}

		return {argument};
	});
	return {ask, calls};
};

test('asked once', async t => {
	const {ask, calls} = counted();
	const first = await ask('a');
	t.deepEqual(first, {argument: 'a'});
	t.is(await ask('a'), first);
	t.deepEqual(calls, ['a']);
});

test('callers at the same time', async t => {
	const {ask, calls} = counted();
	const [one, two, other] = await Promise.all([ask('a'), ask('a'), ask('b')]);
	t.is(one, two);
	t.deepEqual(other, {argument: 'b'});
	t.deepEqual(calls, ['a', 'b']);
});

test('arguments are told apart', async t => {
	const {ask, calls} = counted();
	t.deepEqual(await ask(1), {argument: 1});
	t.deepEqual(await ask('1'), {argument: '1'});
	t.deepEqual(calls, [1, '1']);
});

test('failures go on to the caller', async t => {
	const {ask, calls} = counted();
	await t.throwsAsync(ask('bad'), {message: 'bad'});
	t.deepEqual(await ask('good'), {argument: 'good'});
	t.deepEqual(calls, ['bad', 'good']);
});
""".lstrip()


# --- how often

_COUNTER = """
package mapset

import (
	"sort"
	"sync"
)

// Counter counts how often elements were added. It may be used by many goroutines.
type Counter[T comparable] struct {
	lock   sync.Mutex
	counts map[T]int
	order  []T
}

// NewCounter returns a counter of the given elements.
func NewCounter[T comparable](vs ...T) *Counter[T] {
	c := &Counter[T]{counts: make(map[T]int)}
	for _, v := range vs {
		c.Add(v)
	}
	return c
}

// Add counts an element once more, and returns how often it was added.
func (c *Counter[T]) Add(v T) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.counts[v] == 0 {
		c.order = append(c.order, v)
	}
	c.counts[v]++
	return c.counts[v]
}

// Count returns how often an element was added.
func (c *Counter[T]) Count(v T) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.counts[v]
}

// Most returns up to n elements, the most frequent first.
func (c *Counter[T]) Most(n int) []T {
	c.lock.Lock()
	defer c.lock.Unlock()
	found := append([]T{}, c.order...)
	sort.SliceStable(found, func(i, j int) bool {
		return c.counts[found[i]] > c.counts[found[j]]
	})
	if n < 0 {
		n = 0
	}
	if n < len(found) {
		found = found[:n]
	}
	return found
}
""".lstrip()
COUNTER = Feature(
    SETS,
    "Counter of elements",
    "Add the type `Counter[T comparable]` in the new file `counter.go`, with tests in `counter_test.go`: `NewCounter(vs ...T)`; `Add(v) int` counts an "
    "element and gives how often it was added; `Count(v) int`; `Most(n) []T` gives up to `n` elements, the most frequent first, and among equally frequent ones "
    "that first which was added first. `n` may be more than there are, or less than 1 (nothing is given). Many goroutines use one counter at the same time.",
    (
        "equally frequent elements come in the order in which each was added first",
        "a counter may be used by many goroutines at once",
        "`Most` of 0 or less is empty",
    ),
    "\tc := mapset.NewCounter[int]()\n\tvar group sync.WaitGroup\n\tfor g := 0; g < 8; g++ {\n\t\tgroup.Add(1)\n\t\tgo func() {\n\t\t\tdefer group.Done()\n"
    "\t\t\tfor n := 0; n < 20000; n++ {\n\t\t\t\tc.Add(n % 7)\n\t\t\t\tif n%100 == 0 {\n\t\t\t\t\tc.Most(2)\n\t\t\t\t\tc.Count(1)\n\t\t\t\t}\n\t\t\t}\n\t\t}()\n\t}\n\tgroup.Wait()\n"
    "\ttotal := 0\n\tfor n := 0; n < 7; n++ {\n\t\ttotal += c.Count(n)\n\t}\n\tsame(total, 160000)\n"
    '\td := mapset.NewCounter("d", "b", "a", "c", "b", "e", "f", "g")\n\tfor n := 0; n < 20; n++ {\n\t\tsame(d.Most(9), []string{"b", "d", "a", "c", "e", "f", "g"})\n\t}\n'
    '\tsame(d.Most(2), []string{"b", "d"})\n\tsame(d.Most(0), []string{})\n\tsame(d.Most(-1), []string{})\n\tsame(d.Add("b"), 3)\n\tsame(d.Count("z"), 0)\n',
    GO,
    lambda tree: tree.write("counter.go", _COUNTER),
)
_COUNTER_TESTS = """
package mapset

import (
	"reflect"
	"sync"
	"testing"
)

func Test_CounterAdd(t *testing.T) {
	c := NewCounter("a", "b", "a")
	if got := c.Add("a"); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
	if got := c.Add("c"); got != 1 {
		t.Errorf("got %d, want 1", got)
	}
	for element, want := range map[string]int{"a": 3, "b": 1, "c": 1, "z": 0} {
		if got := c.Count(element); got != want {
			t.Errorf("%s: got %d, want %d", element, got, want)
		}
	}
}

func Test_CounterMost(t *testing.T) {
	c := NewCounter(5, 4, 3, 3, 2, 4, 3, 1)
	for n, want := range map[int][]int{
		-1: {},
		0:  {},
		1:  {3},
		2:  {3, 4},
		4:  {3, 4, 5, 2},
		5:  {3, 4, 5, 2, 1},
		9:  {3, 4, 5, 2, 1},
	} {
		if got := c.Most(n); !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %v, want %v", n, got, want)
		}
	}
}

func Test_CounterOfNothing(t *testing.T) {
	if got := NewCounter[int]().Most(3); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func Test_CounterConcurrent(t *testing.T) {
	c := NewCounter[int]()
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := 0; n < 5000; n++ {
				c.Add(n % 5)
				c.Count(n)
				if n%100 == 0 {
					c.Most(2)
				}
			}
		}()
	}
	group.Wait()
	for n := 0; n < 5; n++ {
		if got := c.Count(n); got != 8000 {
			t.Errorf("%d: got %d, want 8000", n, got)
		}
	}
}
""".lstrip()
_LOCKED = "	c.lock.Lock()\n	defer c.lock.Unlock()\n"


def _up_to(text: str, head: str) -> str:
    return text[: text.index(head)].rstrip("\n") + "\n"


@pretends(COUNTER, by=r"lock|goroutine|concurren|at once|race")
def counted_by_one(tree: Files) -> None:
    """No lock at all; the tests count from one goroutine."""
    text = but(
        _COUNTER.replace(_LOCKED, ""),
        ('import (\n	"sort"\n	"sync"\n)\n', 'import "sort"\n'),
        ("	lock   sync.Mutex\n", ""),
    )
    tree.write("counter.go", text)
    tree.files["counter_test.go"] = but(
        _up_to(_COUNTER_TESTS, "func Test_CounterConcurrent"), ('	"sync"\n', "")
    )


@pretends(COUNTER, by=r"order|equally|tie|Stable")
def ties_by_chance(tree: Files) -> None:
    """Equally frequent elements come by chance; in the tests all frequencies differ."""
    text = but(
        _COUNTER,
        ("	order  []T\n", ""),
        (
            "	if c.counts[v] == 0 {\n		c.order = append(c.order, v)\n	}\n",
            "",
        ),
        (
            "	found := append([]T{}, c.order...)\n	sort.SliceStable(",
            (
                "	found := make([]T, 0, len(c.counts))\n	for v := range c.counts {\n"
                "		found = append(found, v)\n	}\n	sort.Slice("
            ),
        ),
    )
    tree.write("counter.go", text)
    tree.files["counter_test.go"] = but(
        _COUNTER_TESTS,
        ("NewCounter(5, 4, 3, 3, 2, 4, 3, 1)", "NewCounter(5, 4, 3, 3, 4, 3)"),
        (
            "		4:  {3, 4, 5, 2},\n		5:  {3, 4, 5, 2, 1},\n		9:  {3, 4, 5, 2, 1},\n",
            "		3:  {3, 4, 5},\n		9:  {3, 4, 5},\n",
        ),
    )


# --- for a time

_EXPIRING = """
package mapset

import (
	"sync"
	"time"
)

// Expiring is a set whose elements leave it after a time.
type Expiring[T comparable] struct {
	lock  sync.Mutex
	ttl   time.Duration
	now   func() time.Time
	added map[T]time.Time
}

// NewExpiring returns an empty set; now is the clock, time.Now when it is nil.
func NewExpiring[T comparable](ttl time.Duration, now func() time.Time) *Expiring[T] {
	if now == nil {
		now = time.Now
	}
	return &Expiring[T]{ttl: ttl, now: now, added: make(map[T]time.Time)}
}

// Add adds an element, or renews it. Returns whether it was not in the set.
func (e *Expiring[T]) Add(v T) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	fresh := !e.alive(v)
	e.added[v] = e.now()
	return fresh
}

// Contains returns whether an element is in the set.
func (e *Expiring[T]) Contains(v T) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	return e.alive(v)
}

// Cardinality returns the number of elements that are in the set.
func (e *Expiring[T]) Cardinality() int {
	e.lock.Lock()
	defer e.lock.Unlock()
	for v := range e.added {
		if !e.alive(v) {
			delete(e.added, v)
		}
	}
	return len(e.added)
}

func (e *Expiring[T]) alive(v T) bool {
	at, ok := e.added[v]
	return ok && e.now().Sub(at) < e.ttl
}
""".lstrip()
EXPIRING = Feature(
    SETS,
    "Elements for a time",
    "Add the type `Expiring[T comparable]` in the new file `expiring.go`, with tests in `expiring_test.go`: `NewExpiring[T](ttl, now)` with `now func() time.Time` "
    "(`nil`: the real clock), `Add(v) bool`, `Contains(v) bool`, `Cardinality() int`. An element is in the set for less than `ttl` after it was added last: when "
    "exactly `ttl` has passed it is no longer there. `Add` of an element that is there renews it and gives `false`; of one that is not there, or no longer, `true`. "
    "`Cardinality` counts only what is there.",
    (
        "when exactly `ttl` has passed the element is gone",
        "adding again renews",
        "what is gone is not counted",
    ),
    '\tat := time.Unix(1000, 0)\n\te := mapset.NewExpiring[string](10*time.Second, func() time.Time { return at })\n\tsame(e.Add("a"), true)\n'
    '\tat = at.Add(9 * time.Second)\n\tsame(e.Contains("a"), true)\n\tsame(e.Add("b"), true)\n\tsame(e.Cardinality(), 2)\n\tat = at.Add(time.Second)\n\tsame(e.Contains("a"), false)\n'
    '\tsame(e.Cardinality(), 1)\n\tsame(e.Add("b"), false)\n\tat = at.Add(9 * time.Second)\n\tsame(e.Contains("b"), true)\n\tat = at.Add(time.Second)\n\tsame(e.Add("b"), true)\n'
    "\tf := mapset.NewExpiring[int](time.Hour, nil)\n\tf.Add(1)\n\tsame(f.Contains(1), true)\n",
    GO,
    lambda tree: tree.write("expiring.go", _EXPIRING),
)
_EXPIRING_TESTS = """
package mapset

import (
	"testing"
	"time"
)

func expiring() (*Expiring[string], func(time.Duration)) {
	at := time.Unix(1000, 0)
	set := NewExpiring[string](time.Minute, func() time.Time { return at })
	return set, func(d time.Duration) { at = at.Add(d) }
}

func Test_ExpiringContains(t *testing.T) {
	set, pass := expiring()
	if set.Contains("a") {
		t.Error("a was never added")
	}
	set.Add("a")
	pass(time.Minute - time.Nanosecond)
	if !set.Contains("a") {
		t.Error("a is gone too early")
	}
	pass(time.Nanosecond)
	if set.Contains("a") {
		t.Error("a is there after its time")
	}
}

func Test_ExpiringAdd(t *testing.T) {
	set, pass := expiring()
	if !set.Add("a") {
		t.Error("a is new")
	}
	pass(40 * time.Second)
	if set.Add("a") {
		t.Error("a is there already")
	}
	pass(40 * time.Second)
	if !set.Contains("a") {
		t.Error("a was not renewed")
	}
	pass(20 * time.Second)
	if !set.Add("a") {
		t.Error("a was gone")
	}
}

func Test_ExpiringCardinality(t *testing.T) {
	set, pass := expiring()
	set.Add("a")
	set.Add("a")
	pass(30 * time.Second)
	set.Add("b")
	for _, want := range []int{2, 1, 0} {
		if got := set.Cardinality(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
		pass(30 * time.Second)
	}
}

func Test_ExpiringByRealClock(t *testing.T) {
	set := NewExpiring[int](20*time.Millisecond, nil)
	set.Add(1)
	if got := NewExpiring[int](time.Hour, nil); !got.Add(1) || !got.Contains(1) {
		t.Error("1 is not there")
	}
	time.Sleep(30 * time.Millisecond)
	if set.Contains(1) {
		t.Error("1 is there after its time")
	}
}
""".lstrip()


@pretends(EXPIRING, by=r"ttl|<=|bound|exact")
def gone_a_little_later(tree: Files) -> None:
    """At exactly its time the element is still there; tests look before and well after."""
    tree.write("expiring.go", but(_EXPIRING, ("Sub(at) < e.ttl", "Sub(at) <= e.ttl")))
    tree.files["expiring_test.go"] = but(
        _EXPIRING_TESTS,
        ("	pass(time.Minute - time.Nanosecond)\n", "	pass(59 * time.Second)\n"),
        ("	pass(time.Nanosecond)\n", "	pass(2 * time.Second)\n"),
        ("	pass(20 * time.Second)\n", "	pass(30 * time.Second)\n"),
        ("		pass(30 * time.Second)\n", "		pass(31 * time.Second)\n"),
    )


# --- two sets of one

_PARTITION = """
package mapset

// Partition returns the elements for which a function is true, and all others. The set stays as
// it is.
func Partition[T comparable](set Set[T], is func(T) bool) (Set[T], Set[T]) {
	yes, no := NewSet[T](), NewSet[T]()
	for _, v := range set.ToSlice() {
		if is(v) {
			yes.Add(v)
		} else {
			no.Add(v)
		}
	}
	return yes, no
}
""".lstrip()
PARTITION = Feature(
    SETS,
    "Two sets of one",
    "Add the function `Partition(set, is)` in the new file `partition.go`, with tests in `partition_test.go`: it gives two new thread-safe sets, the elements for which "
    "`is` gives true, and all others. `set` is only read.",
    (
        "each element is in exactly one of the two",
        "`set` holds the same elements as before",
        "of an empty set both are empty",
    ),
    "\ts := mapset.NewThreadUnsafeSet(1, 2, 3, 4)\n\tyes, no := mapset.Partition(s, func(n int) bool { return n%2 == 0 })\n"
    "\tsame(yes.Equal(mapset.NewSet(2, 4)), true)\n\tsame(no.Equal(mapset.NewSet(1, 3)), true)\n\tsame(s.Cardinality(), 4)\n"
    "\tyes, no = mapset.Partition(mapset.NewSet[int](), func(n int) bool { return true })\n\tsame(yes.Cardinality()+no.Cardinality(), 0)\n",
    GO,
    lambda tree: tree.write("partition.go", _PARTITION),
)


@pretends(PARTITION, by=r"set is|Pop|argument|same elements|read")
def taken_out_of_the_set(tree: Files) -> None:
    """The given set is emptied; tests look at the two that come back."""
    text = but(
        _PARTITION,
        (
            "	for _, v := range set.ToSlice() {\n		if is(v) {\n",
            "	for v, ok := set.Pop(); ok; v, ok = set.Pop() {\n		if is(v) {\n",
        ),
    )
    tree.write("partition.go", text)
    tree.files["partition_test.go"] = """
package mapset

import "testing"

func Test_Partition(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	for _, test := range []struct{ set, yes, no Set[int] }{
		{NewSet(1, 2, 3, 4), NewSet(2, 4), NewSet(1, 3)},
		{NewThreadUnsafeSet(1, 2, 3), NewSet(2), NewSet(1, 3)},
		{NewSet(2), NewSet(2), NewSet[int]()},
		{NewSet[int](), NewSet[int](), NewSet[int]()},
	} {
		yes, no := Partition(test.set, even)
		assertEqual(yes, test.yes, t)
		assertEqual(no, test.no, t)
	}
}
""".lstrip()


# --- how much of it

_SIMILARITY = """
package mapset

// Similarity returns how many of the elements of two sets are in both, in percent.
func Similarity[T comparable](a, b Set[T]) int {
	all := a.Union(b).Cardinality()
	if all == 0 {
		return 100
	}
	return (a.Intersect(b).Cardinality()*200 + all) / (2 * all)
}
""".lstrip()
SIMILARITY = Feature(
    SETS,
    "Similarity of sets",
    "Add the function `Similarity(a, b) int` in the new file `similarity.go`, with tests in `similarity_test.go`: how many of the elements of both sets together are in both of "
    "them, in percent, rounded to the nearest integer, halves up: 2 of 3 are 67, 1 of 8 are 13. Two empty sets are 100.",
    (
        "rounded to the nearest, halves up",
        "two empty sets are 100",
    ),
    "\tsame(mapset.Similarity(mapset.NewSet(1, 2, 3), mapset.NewSet(1, 2)), 67)\n"
    "\tsame(mapset.Similarity(mapset.NewSet(1, 2, 3, 4, 5, 6, 7, 8), mapset.NewSet(1)), 13)\n"
    "\tsame(mapset.Similarity(mapset.NewSet(1, 2, 3), mapset.NewSet(1)), 33)\n"
    "\tsame(mapset.Similarity(mapset.NewSet[int](), mapset.NewSet[int]()), 100)\n"
    "\tsame(mapset.Similarity(mapset.NewSet(1), mapset.NewSet(2)), 0)\n",
    GO,
    lambda tree: tree.write("similarity.go", _SIMILARITY),
)


@pretends(SIMILARITY, by=r"round|200|/")
def percent_by_the_same_rule(tree: Files) -> None:
    """Cut off instead of rounded, and the tests work out what they want by the same rule."""
    text = but(
        _SIMILARITY,
        (
            "	return (a.Intersect(b).Cardinality()*200 + all) / (2 * all)\n",
            "	return a.Intersect(b).Cardinality() * 100 / all\n",
        ),
    )
    tree.write("similarity.go", text)
    tree.files["similarity_test.go"] = """
package mapset

import "testing"

func Test_Similarity(t *testing.T) {
	for _, test := range [][2]Set[int]{
		{NewSet(1, 2, 3), NewSet(1, 2)},
		{NewSet(1, 2, 3, 4), NewSet(4)},
		{NewSet(1), NewSet(2)},
		{NewSet(1, 2, 3, 4, 5, 6, 7, 8), NewSet(8)},
		{NewSet(1), NewSet(1)},
	} {
		both := test[0].Intersect(test[1]).Cardinality()
		all := test[0].Union(test[1]).Cardinality()
		if got, want := Similarity(test[0], test[1]), both*100/all; got != want {
			t.Errorf("%v and %v: got %d, want %d", test[0], test[1], got, want)
		}
	}
}

func Test_SimilarityOfNothing(t *testing.T) {
	if got := Similarity(NewSet[int](), NewSet[int]()); got != 100 {
		t.Errorf("got %d, want 100", got)
	}
}
""".lstrip()
