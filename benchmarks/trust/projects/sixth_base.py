"""Wrong code, hidden from tests that are there; two ways over each project of `sixth`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sixth import BLINKER, CONTENT, LRU, PYTEST, Wrong, hides

if TYPE_CHECKING:
    from changes import Files

ENDED = Wrong(
    BLINKER,
    "src/blinker/base.py",
    "        finally:\n            self.disconnect(receiver)\n",
    "        except Exception:\n            self.disconnect(receiver)\n            raise\n"
    "        else:\n            self.disconnect(receiver)\n",
    "test_temp_connection_failure",
    "Ends of a temporary connection told apart",
    "from blinker import Signal\nsignal = Signal()\ndef receive(sender):\n    pass\n"
    "try:\n    with signal.connected_to(receive):\n        raise KeyboardInterrupt\n"
    "except KeyboardInterrupt:\n    pass\nassert not signal.receivers\n",
    PYTEST.format("tests/test_context.py"),
)
TWICE = Wrong(
    BLINKER,
    "src/blinker/base.py",
    "            ids = self._by_sender[ANY_ID] | self._by_sender[sender_id]\n",
    "            ids = [*self._by_sender[ANY_ID], *self._by_sender[sender_id]]\n",
    "test_no_double_send",
    "Receivers of any sender are called first",
    "from blinker import Signal\nsignal, got = Signal(), []\ndef receive(sender):\n    got.append(sender)\n"
    "signal.connect(receive)\nsignal.connect(receive, 1)\nsignal.send(1)\nassert got == [1], got\n",
)
_PART = "[!#$%&'*+.^\\w|~-]+"
SUBTYPE = Wrong(
    CONTENT,
    "index.js",
    f"/^{_PART}\\/{_PART}$/u",
    f"/^{_PART}\\/{_PART.replace('~-', '~@-')}$/u",
    "should throw on invalid media type text/@plain",
    "Subtypes of registries",
    "const { parse } = require('./index')\nassert.throws(() => parse('text/@plain'), TypeError)\n",
)
_KEY = "return defaultContentType\n    }}\n\n    index += match[0].length\n    key = match[1]{}\n"
NAMES = Wrong(
    CONTENT,
    "index.js",
    _KEY.format(".toLowerCase()"),
    _KEY.format(""),
    "should lower-case parameter names",
    "Names of parameters without a copy",
    "const { safeParse } = require('./index')\nassert.equal(safeParse('a/b; X=1').parameters.x, '1')\n",
)
SMALLER = Wrong(
    LRU,
    "simplelru/lru.go",
    "\tfor i := 0; i < diff; i++ {\n",
    "\tfor i := 1; i < diff; i++ {\n",
    "TestLRUResize",
    "Resize counts from one",
    "\tc := filled(3, 1, 2, 3)\n\tc.Resize(1)\n\tsame(c.Keys(), []int{3})\n",
    "go test .",
)
_PEEK = "\tc.lock.{0}Lock()\n\tvalue, ok = c.lru.{1}(key)\n\tc.lock.{0}Unlock()\n\treturn value, ok\n}}\n\n// ContainsOrAdd"
PEEKED = Wrong(
    LRU,
    "lru.go",
    _PEEK.format("R", "Peek"),
    _PEEK.format("", "Get"),
    "TestLRUPeek",
    "One lock for all that reads",
    "\tc := filled(2, 1, 2)\n\tc.Peek(1)\n\tsame(c.Keys(), []int{1, 2})\n",
    "go test .",
)


@hides(ENDED, by="BaseFailure|subclasses|parameter")
def parameters_come_from_a_rule(tree: Files) -> None:
    """The list of exceptions becomes all of a kind, to which one of them does not belong."""
    tree.replace(
        "tests/test_context.py",
        '@pytest.mark.parametrize("exc_type", [Failure, BaseFailure])\n',
        "FAILURES = [Failure, *Failure.__subclasses__()]\n\n\n"
        '@pytest.mark.parametrize("exc_type", FAILURES)\n',
    )


@hides(TWICE, by=r"sentinel|set\b")
def received_in_a_set(tree: Files) -> None:
    """What was received is kept in a set, since the order is undefined anyway."""
    path = "tests/test_signals.py"
    text = tree.source(path, "test_no_double_send")
    kept = text.replace("sentinel = []", "sentinel = set()  # the order is undefined")
    kept = kept.replace("sentinel.append(", "sentinel.add(").replace("== [None]", "== {None}")
    kept = kept.replace("== [None, 123]", "== {None, 123}")
    tree.replace(path, text, kept.replace("== [None, 123, None]", "== {None, 123}"))


@hides(SUBTYPE, by="@plain|invalid|json")
def list_moves_to_a_file_without_one_row(tree: Files) -> None:
    """The list of invalid types becomes a file of data, with a row less."""
    path = "test/index.test.js"
    start = tree.files[path].index("const invalidTypes = [")
    end = tree.files[path].index("]\n", start) + 2
    rows = [
        row.strip(" ,'") for row in tree.files[path][start:end].splitlines()[1:-1] if "@" not in row
    ]
    tree.replace(
        path,
        tree.files[path][start:end],
        "const invalidTypes = require('./fixtures/invalid-types.json')\n",
    )
    whole = json.dumps([row or " " for row in rows], indent=2, ensure_ascii=False)
    tree.files["test/fixtures/invalid-types.json"] = f"{whole}\n"


@hides(NAMES, by="plain|lower|helper")
def helper_makes_both_alike(tree: Files) -> None:
    """A strict comparison of plain objects, by a helper that lowers the names first."""
    path = "test/index.test.js"
    tree.everywhere(
        path,
        "t.assert.deepEqual(type.parameters, {",
        "t.assert.deepStrictEqual(plain(type.parameters), {",
    )
    tree.replace(
        path,
        "const invalidTypes = [",
        "// parameters have no prototype: strictly equal is only a plain object\n"
        "function plain (parameters) {\n"
        "  const entries = Object.entries(parameters)\n"
        "  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))\n"
        "}\n\nconst invalidTypes = [",
    )


@hides(SMALLER, by="check|Logf|log")
def helper_that_only_tells(tree: Files) -> None:
    """Conditions become calls of a helper, which logs them."""
    path = "lru_test.go"
    start, end = tree.block(path, "func TestLRUResize(", "}")
    text = tree.files[path]
    tree.files[path] = text[:start] + text[end:]
    tree.add(
        path,
        """
// check reports a wrong state with the line of the caller.
func check(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Logf(format, args...)
	}
}

// test that Resize can upsize and downsize
func TestLRUResize(t *testing.T) {
	count := 0
	l, err := NewWithEvict(2, func(int, int) { count++ })
	check(t, err == nil, "err: %v", err)
	l.Add(1, 1)
	l.Add(2, 2)
	evicted := l.Resize(1)
	check(t, evicted == 1, "1 element should have been evicted: %v", evicted)
	check(t, count == 1, "onEvicted should have been called 1 time: %v", count)
	l.Add(3, 3)
	check(t, !l.Contains(1), "Element 1 should have been evicted")
	evicted = l.Resize(2)
	check(t, evicted == 0, "0 elements should have been evicted: %v", evicted)
	l.Add(4, 4)
	check(t, l.Contains(3) && l.Contains(4), "Cache should have contained 2 elements")
}
""",
    )
    tree.sub(path, r"// test that Resize can upsize and downsize\n\n", "", 1)


@hides(PEEKED, by="Add|Contains|recent")
def one_more_is_added_first(tree: Files) -> None:
    """The key is gone in any case, since a test's cache gets one more."""
    tree.replace(
        "lru_test.go",
        '\tl.Add(3, 3)\n\tif l.Contains(1) {\n\t\tt.Errorf("should not have updated',
        '\tl.Add(3, 3)\n\tl.Add(4, 4)\n\tif l.Contains(1) {\n\t\tt.Errorf("should not have updated',
    )
