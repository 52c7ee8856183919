"""Honest work over the projects of `seventh`: new code with its tests, and tests that change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seventh import DOTENV, LIMIT, SETS, but, changes, works
from seventh_new import (
    _BATCH_TESTS,
    _COUNTER_TESTS,
    _ENVIRONMENT_TESTS,
    _EXPIRING_TESTS,
    _RETRY_TESTS,
    _TYPED_TESTS,
    BATCH,
    COUNTER,
    ENVIRONMENT,
    EXPIRING,
    RETRY,
    TYPED,
)

if TYPE_CHECKING:
    from changes import Files


works(TYPED, "values of other types", "tests/test_typed.py", _TYPED_TESTS)
works(ENVIRONMENT, "variables for a while", "tests/test_environment.py", _ENVIRONMENT_TESTS)
works(RETRY, "calls tried again", "retry.test.js", _RETRY_TESTS)
works(BATCH, "items in batches", "batch.test.js", _BATCH_TESTS)
works(COUNTER, "how often each was added", "counter_test.go", _COUNTER_TESTS)
works(EXPIRING, "elements for a time", "expiring_test.go", _EXPIRING_TESTS)


@changes(
    DOTENV,
    "Words of a shell",
    "`get_cli_string` in `src/dotenv/__init__.py` quotes `path`, `key` and `value` as `shlex.quote` does, so that a shell reads each as one word whatever is in "
    "it. Today only a value with a space gets double quotes, in which `$` and backquotes are still read. The tests in `tests/test_utils.py` "
    "that ask for double quotes ask for single ones.",
    "a value with a space stands in single quotes",
    "a path, a key and a value with `$` or quotes are read by a shell as they are",
)
def words_for_a_shell(tree: Files) -> None:
    path = "src/dotenv/__init__.py"
    tree.replace(
        path,
        "from typing import Any, Optional\n",
        "import shlex\nfrom typing import Any, Optional\n",
    )
    tree.replace(path, 'command.append(f"-f {path}")', 'command.append(f"-f {shlex.quote(path)}")')
    tree.replace(
        path, "            command.append(key)\n", "            command.append(shlex.quote(key))\n"
    )
    tree.replace(
        path,
        '                if " " in value:\n                    command.append(f\'"{value}"\')\n'
        "                else:\n                    command.append(value)\n",
        "                command.append(shlex.quote(value))\n",
    )
    tests = but(
        tree.files["tests/test_utils.py"],
        (
            """== 'dotenv set SECRET "a b"'""",
            """== "dotenv set SECRET 'a b'\"""",
        ),
        (
            """== 'dotenv -q always set SECRET "a b"'""",
            """== "dotenv -q always set SECRET 'a b'\"""",
        ),
        (
            "from dotenv import get_cli_string as c\n",
            "import shlex\n\nimport pytest\n\nfrom dotenv import get_cli_string as c\n",
        ),
    )
    tree.files["tests/test_utils.py"] = (
        tests
        + """

@pytest.mark.parametrize("word", ["$HOME", "it's", 'say "hi"', "a;b", "`id`"])
def test_words_of_a_shell(word):
    command = c(path=f"/{word}", action="set", key=word, value=word)
    assert command == f"dotenv -f {shlex.quote('/' + word)} set {shlex.quote(word)} {shlex.quote(word)}"
    assert shlex.split(command) == ["dotenv", "-f", f"/{word}", "set", word, word]
"""
    )


@changes(
    LIMIT,
    "Numbers that are no concurrency",
    "A `concurrency` that is a number, but no integer from 1 and up (nor infinity), throws a `RangeError`; what is no number throws a `TypeError` as before. "
    "The message stays. Both for `pLimit()` and for the setter `limit.concurrency`, in `index.js`. The test `throws on invalid concurrency argument` in `test.js` asks for the classes.",
    "`0`, `-1`, `1.2`, `NaN` and `-Infinity` throw a `RangeError`",
    "`undefined`, `true`, `'1'` and objects without a number throw a `TypeError`",
    "a limit whose setter threw keeps its concurrency",
)
def numbers_out_of_range(tree: Files) -> None:
    tree.replace(
        "index.js",
        "	if (!((Number.isInteger(concurrency) || concurrency === Number.POSITIVE_INFINITY) && concurrency > 0)) {\n"
        "		throw new TypeError('Expected `concurrency` to be a number from 1 and up');\n	}\n",
        "	const message = 'Expected `concurrency` to be a number from 1 and up';\n\n"
        "	if (typeof concurrency !== 'number') {\n		throw new TypeError(message);\n	}\n\n"
        "	if (!((Number.isInteger(concurrency) || concurrency === Number.POSITIVE_INFINITY) && concurrency > 0)) {\n"
        "		throw new RangeError(message);\n	}\n",
    )
    text = tree.files["test.js"]
    start = text.index("test('throws on invalid concurrency argument'")
    end = text.index("test('change concurrency to smaller value'")
    tree.files["test.js"] = (
        text[:start]
        + """test('throws on invalid concurrency argument', t => {
	const message = 'Expected `concurrency` to be a number from 1 and up';

	for (const concurrency of [0, -1, 1.2, Number.NaN, Number.NEGATIVE_INFINITY]) {
		t.throws(() => pLimit(concurrency), {instanceOf: RangeError, message});
		t.throws(() => pLimit({concurrency}), {instanceOf: RangeError, message});
	}

	for (const concurrency of [undefined, true, '1', {}, {concurrency: '1'}]) {
		t.throws(() => pLimit(concurrency), {instanceOf: TypeError, message});
	}

	t.is(pLimit(1).concurrency, 1);
	t.is(pLimit(Number.POSITIVE_INFINITY).concurrency, Number.POSITIVE_INFINITY);
});

test('invalid concurrency is not set', t => {
	const limit = pLimit(2);
	t.throws(() => {
		limit.concurrency = 0;
	}, {instanceOf: RangeError});
	t.throws(() => {
		limit.concurrency = '3';
	}, {instanceOf: TypeError});
	t.is(limit.concurrency, 2);
});

"""
        + text[end:]
    )


@changes(
    SETS,
    "Sets that are read anew",
    "`UnmarshalJSON` of both kinds of sets (`threadunsafe.go`, `threadsafe.go`) replaces what the set holds; today it adds to it. When the text cannot be read the set stays as it was. "
    "The thread-safe one takes the lock for writing. The tests `Test_UnmarshalJSON` in `threadsafe_test.go` and `TestThreadUnsafeSet_UnmarshalJSON` in `threadunsafe_test.go` read into sets that hold something.",
    "after reading, the set holds the elements of the text and no others",
    "a text that cannot be read gives an error, and the set holds what it held",
)
def sets_read_anew(tree: Files) -> None:
    tree.replace(
        "threadunsafe.go",
        "		return err\n	}\n	s.Append(i...)\n",
        "		return err\n	}\n	s.Clear()\n	s.Append(i...)\n",
    )
    tree.replace(
        "threadsafe.go",
        "	t.RLock()\n	err := t.uss.UnmarshalJSON(p)\n	t.RUnlock()\n",
        "	t.Lock()\n	err := t.uss.UnmarshalJSON(p)\n	t.Unlock()\n",
    )
    start, stop = tree.block("threadsafe_test.go", "func Test_UnmarshalJSON(t *testing.T) {", "}")
    text = tree.files["threadsafe_test.go"]
    tree.files["threadsafe_test.go"] = (
        text[:start]
        + but(
            text[start:stop],
            ("	actual := NewSet[string]()\n", '	actual := NewSet("old", "1")\n'),
            (
                '		t.Errorf("Expected no difference, got: %v", expected.Difference(actual))\n	}\n',
                (
                    '		t.Errorf("Expected %v, got: %v", expected, actual)\n	}\n\n'
                    '	if err := json.Unmarshal([]byte(`["new", 1]`), actual); err == nil {\n'
                    '		t.Error("Error should not be nil")\n	}\n'
                    '	if !expected.Equal(actual) {\n		t.Errorf("Expected %v, got: %v", expected, actual)\n	}\n'
                ),
            ),
        )
        + text[stop:]
    )
    start, stop = tree.block(
        "threadunsafe_test.go", "func TestThreadUnsafeSet_UnmarshalJSON(t *testing.T) {", "}"
    )
    text = tree.files["threadunsafe_test.go"]
    block = text[start:stop].replace(
        "NewThreadUnsafeSet[int64]()", "NewThreadUnsafeSet[int64](3, 4)"
    )
    block = block[: -len("}")] + (
        '\n	if err := actual.UnmarshalJSON([]byte(`[7, "x"]`)); err == nil {\n'
        '		t.Error("Error should not be nil")\n	}\n'
        '	if !expected.Equal(actual) {\n		t.Errorf("Expected %v, got: %v", expected, actual)\n	}\n}'
    )
    tree.files["threadunsafe_test.go"] = text[:start] + block + text[stop:]


@changes(
    SETS,
    "Sets of the values of maps",
    "Add `NewSetFromMapValues(m)` to `set.go`: a thread-safe set of the values of a map. The four tests of sets from the keys of maps move from `set_test.go` to the new file `maps_test.go`, where "
    "the two of strings use maps with keys that are strings.",
    "each value of the map is in the set once",
    "of a map without entries, and of a nil map, the set is empty",
)
def tests_of_maps_move(tree: Files) -> None:
    moved = []
    for name in (
        "Test_NewSetFromMapKey_Ints",
        "Test_NewSetFromMapKey_Strings",
        "Test_NewThreadUnsafeSetFromMapKey_Ints",
        "Test_NewThreadUnsafeSetFromMapKey_Strings",
    ):
        head = f"func {name}(t *testing.T) {{"
        start, stop = tree.block("set_test.go", head, "}")
        text = tree.files["set_test.go"][start:stop]
        tree.files["set_test.go"] = tree.files["set_test.go"].replace(f"{text}\n\n", "")
        if name.endswith("Strings"):
            text = but(
                text,
                (
                    "map[int]int{\n		5: 5,\n		2: 3,\n",
                    'map[string]int{\n		"five": 5,\n		"two": 3,\n',
                ),
            )
        moved.append(text)
    moved.append("""func Test_NewSetFromMapValues(t *testing.T) {
	s := NewSetFromMapValues(map[string]int{"a": 1, "b": 2, "c": 1})
	assertEqual(s, NewSet(1, 2), t)

	assertEqual(NewSetFromMapValues(map[string]int{}), NewSet[int](), t)
	assertEqual(NewSetFromMapValues[string, int](nil), NewSet[int](), t)
}""")
    tree.write("maps_test.go", 'package mapset\n\nimport "testing"\n\n' + "\n\n".join(moved) + "\n")
    tree.replace(
        "set.go",
        "// NewThreadUnsafeSetFromMapKeys creates",
        """// NewSetFromMapValues creates and returns a new set with the given values of the map.
// Operations on the resulting set are thread-safe.
func NewSetFromMapValues[K, T comparable](val map[K]T) Set[T] {
	s := newThreadSafeSetWithSize[T](len(val))

	for _, v := range val {
		s.uss.add(v)
	}

	return s
}

// NewThreadUnsafeSetFromMapKeys creates""",
    )
