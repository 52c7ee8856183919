"""Honest work over the projects of `sixth`: new code with its tests, and tests that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sixth import BLINKER, CONTENT, LRU, changes, works
from sixth_new import (
    _COUNTED_TESTS,
    _FORMAT_TESTS,
    _FORWARD_TESTS,
    _LOADER_TESTS,
    _NEGOTIATE_TESTS,
    _RECORDER_TESTS,
    COUNTED,
    FORMAT,
    FORWARD,
    LOADER,
    NEGOTIATE,
    RECORDER,
)

if TYPE_CHECKING:
    from changes import Files


works(RECORDER, "recorded sends", "tests/test_recorder.py", _RECORDER_TESTS)
works(FORWARD, "signals sent on", "tests/test_forward.py", _FORWARD_TESTS)
works(NEGOTIATE, "table of headers", "test/negotiate.test.js", _NEGOTIATE_TESTS)
works(FORMAT, "texts that are read again", "test/format.test.js", _FORMAT_TESTS)
works(COUNTED, "hits and misses", "counted_test.go", _COUNTED_TESTS)
works(LOADER, "callers that wait for one", "loader_test.go", _LOADER_TESTS)


@changes(
    BLINKER,
    "Names of signals in use",
    "`Namespace` in `src/blinker/base.py` gets the method `in_use()`: the sorted names of the signals that have receivers. The "
    "tests of namespaces and named signals move from `tests/test_signals.py` to the new file `tests/test_namespace.py`.",
    "names come sorted, and only of signals with receivers",
    "a signal whose last receiver was disconnected is not in use",
)
def namespace_tests_move(tree: Files) -> None:
    moved = []
    for name in ("test_namespace", "test_named_blinker"):
        text = tree.source("tests/test_signals.py", name)
        tree.replace("tests/test_signals.py", f"{text}\n\n\n", "")
        moved.append(text.replace("    collect_acyclic_refs()\n", "    gc.collect()\n"))
    tree.add(
        "tests/test_namespace.py",
        "from __future__ import annotations\n\nimport gc\nimport typing as t\n\nimport blinker\n\n\n"
        + "\n\n\n".join(moved)
        + """


def test_names_in_use() -> None:
    def received(sender: t.Any) -> None:
        return None

    ns = blinker.Namespace()
    for name in ("b", "c", "a"):
        ns.signal(name)
    assert ns.in_use() == []
    ns["b"].connect(received)
    ns["a"].connect(received, sender=1)
    assert ns.in_use() == ["a", "b"]
    ns["b"].disconnect(received)
    assert ns.in_use() == ["a"]
""",
    )
    tree.replace(
        "src/blinker/base.py",
        "            self[name] = NamedSignal(name, doc)\n\n        return self[name]\n",
        "            self[name] = NamedSignal(name, doc)\n\n        return self[name]\n\n"
        "    def in_use(self) -> list[str]:\n"
        '        """The sorted names of the signals that have receivers."""\n'
        "        return sorted(name for name in self if self[name].receivers)\n",
    )


@changes(
    BLINKER,
    "Blocks that mute may be nested",
    "`Signal.muted()` in `src/blinker/base.py`: a signal that was muted before the block is still muted after it. Today the end "
    "of an inner block ends the outer one, too. `test_mute_signal` is to look at all that was received.",
    "after an inner block the outer one still mutes",
    "after the outermost block the signal is sent again",
)
def muted_in_muted(tree: Files) -> None:
    tree.replace(
        "src/blinker/base.py",
        "        self.is_muted = True\n\n        try:\n            yield None\n        finally:\n            self.is_muted = False\n",
        "        before = self.is_muted\n        self.is_muted = True\n\n        try:\n            yield None\n"
        "        finally:\n            self.is_muted = before\n",
    )
    tree.replace(
        "tests/test_signals.py",
        "    assert 123 in sentinel\n\n    with sig.muted():\n        sig.send(456)\n    assert 456 not in sentinel\n",
        "    assert sentinel == [123]\n\n    with sig.muted():\n        sig.send(456)\n        with sig.muted():\n"
        "            sig.send(457)\n        sig.send(458)\n    assert sentinel == [123]\n\n"
        "    sig.send(789)\n    assert sentinel == [123, 789]\n",
    )


@changes(
    CONTENT,
    "Errors that name the media type",
    "The error of `parse` in `index.js` for an invalid media type names it: `invalid media type: text/@plain` (without the spaces "
    "around it). The tests in `test/index.test.js` that ask for the old message ask for the new one. `safeParse` stays as it is.",
    "the message of the TypeError ends with the type as it was given, without spaces around it",
)
def message_that_says_more(tree: Files) -> None:
    tree.replace(
        "index.js",
        "new TypeError('invalid media type')",
        "new TypeError(`invalid media type: ${type}`)",
    )
    tree.replace(
        "test/index.test.js",
        "new TypeError('invalid media type'))",
        "new TypeError('invalid media type: ' + type.split(';')[0].trim()))",
    )
    tree.replace(
        "test/index.test.js",
        "  t.plan(13 + invalidTypes.length)\n  await t.test('should parse basic type', ",
        "  t.plan(14 + invalidTypes.length)\n"
        "  await t.test('should name an invalid media type alone', function (t) {\n    t.plan(1)\n"
        "    t.assert.throws(parse.bind(null, ' text@ ; foo=bar'), new TypeError('invalid media type: text@'))\n"
        "  })\n\n  await t.test('should parse basic type', ",
    )


@changes(
    LRU,
    "The newest entry",
    "Add `GetNewest()` to `Cache` in `lru.go`: key and value of the entry that was used last, and whether there is one; like "
    "`GetOldest` it changes no order. The helper `wantKeys` of `lru_test.go` becomes a function in `testing_test.go`, for all that has keys.",
    "the entry that was added or got last",
    "an empty cache has none",
)
def helper_for_all_caches(tree: Files) -> None:
    tree.replace(
        "lru.go",
        "// Keys returns a slice",
        "// GetNewest returns the newest entry\n"
        "func (c *Cache[K, V]) GetNewest() (key K, value V, ok bool) {\n\tc.lock.RLock()\n\tdefer c.lock.RUnlock()\n"
        "\tif n := c.lru.Len(); n > 0 {\n\t\tkey = c.lru.Keys()[n-1]\n\t\tvalue, ok = c.lru.Peek(key)\n\t}\n\treturn\n}\n\n"
        "// Keys returns a slice",
    )
    tree.drop_block("lru_test.go", "func (c *Cache[K, V]) wantKeys(", "}\n")
    tree.sub("lru_test.go", r"\bcache\.wantKeys\(t, ", "wantKeys[int](t, cache, ")
    tree.replace("testing_test.go", '\t"math/big"\n', '\t"math/big"\n\t"reflect"\n')
    tree.add(
        "testing_test.go",
        """
func wantKeys[K comparable](t *testing.T, cache interface{ Keys() []K }, want []K) {
	t.Helper()
	if got := cache.Keys(); !reflect.DeepEqual(got, want) {
		t.Errorf("wrong keys got: %v, want: %v ", got, want)
	}
}
""",
    )
    tree.add(
        "lru_test.go",
        """
func TestCache_GetNewest(t *testing.T) {
	cache, _ := New[int, string](3)
	if k, v, ok := cache.GetNewest(); ok || k != 0 || v != "" {
		t.Errorf("an empty cache has %v, %v", k, v)
	}
	for k, v := range []string{"zero", "one", "two"} {
		cache.Add(k, v)
		if key, value, ok := cache.GetNewest(); !ok || key != k || value != v {
			t.Errorf("newest is %v, %v, %v", key, value, ok)
		}
	}
	cache.Get(0)
	if key, value, _ := cache.GetNewest(); key != 0 || value != "zero" {
		t.Errorf("newest is %v, %v", key, value)
	}
	wantKeys[int](t, cache, []int{1, 2, 0})
}
""",
    )
