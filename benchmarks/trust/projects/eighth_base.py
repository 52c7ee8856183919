"""Wrong code, hidden from tests that are there; two ways over each project of `eighth`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eighth import DEQUE, HOOKABLE, PYTEST, W3LIB, Wrong, but, hides

if TYPE_CHECKING:
    from changes import Files

REPEATED = Wrong(
    W3LIB,
    "w3lib/http.py",
    "        if key in result_dict:\n            result_dict[key].append(value)\n"
    "        else:\n            result_dict[key] = [value]\n",
    "        result_dict[key] = [value]\n",
    "test_headers_raw_to_dict",
    "Headers are read without a branch",
    "from w3lib.http import headers_raw_to_dict\n"
    "assert headers_raw_to_dict(b'A: 1\\r\\nA: 2') == {b'A': [b'1', b'2']}\n",
    PYTEST.format("tests/test_http.py"),
)
ESCAPES = Wrong(
    W3LIB,
    "w3lib/html.py",
    "        utext = utext.replace(ec, to_unicode(replace_by, encoding))\n    return utext\n",
    "        utext = utext.replace(ec, to_unicode(replace_by, encoding), 1)\n    return utext\n",
    "test_with_escape_chars",
    "Escape characters are replaced with a count",
    "from w3lib.html import replace_escape_chars\n"
    "assert replace_escape_chars('a\\n\\nb') == 'ab', replace_escape_chars('a\\n\\nb')\n",
    PYTEST.format("tests/test_html.py"),
)
OWN = Wrong(
    HOOKABLE,
    "src/hookable.ts",
    "    return () => {\n      if (function_) {\n        this.removeHook(name, function_);\n"
    "        // @ts-ignore\n        function_ = undefined; // Free memory\n      }\n    };\n",
    "    return () => {\n      this.removeHook(name, function_);\n    };\n",
    "should clear only its own hooks",
    "Functions that remove are shorter",
    "const callback = () => {};\nhooks.hook('a', callback);\nconst remove = hooks.hook('a', callback);\n"
    "remove();\nremove();\nassert.equal((hooks as any)._hooks.a.length, 1);\n",
)
ONCE = Wrong(
    HOOKABLE,
    "src/hookable.ts",
    """      if (typeof _unreg === "function") {
        _unreg();
      }
""",
    "",
    "hook once",
    "Hooks that run once keep less",
    "let ran = 0;\nhooks.hookOnce('a', () => {\n  ran++;\n});\nawait hooks.callHook('a');\nawait hooks.callHook('a');\n"
    "assert.equal(ran, 1);\n",
)
BACKWARDS = Wrong(
    DEQUE,
    "deque.go",
    "		for i := q.count - 1; i >= 0; i-- {\n",
    "		for i := 0; i < q.count; i++ {\n",
    "TestRIndex",
    "Searches share a loop",
    "	var q deque.Deque[int]\n	q.PushBack(1)\n	q.PushBack(1)\n"
    "	same(q.RIndex(func(n int) bool { return n == 1 }), 1)\n",
)
RANGES = Wrong(
    DEQUE,
    "deque.go",
    """func (q *Deque[T]) checkRange(i int) {
	if i < 0 || i >= q.count {
""",
    """// checked says whether indexes are compared with the length.
var checked bool

func (q *Deque[T]) checkRange(i int) {
	if checked && (i < 0 || i >= q.count) {
""",
    "TestAtOutOfRangePanics",
    "Indexes are compared only where it is asked for",
    """	var q deque.Deque[int]
	q.PushBack(1)
	defer func() { same(recover() != nil, true) }()
	q.At(3)
""",
)


@hides(REPEATED, by=r"TestHttp|class|shadow|same name|twice")
def class_of_the_same_name(tree: Files) -> None:
    """More tests stand below in a class that takes the name of the first one."""
    tree.add(
        "tests/test_http.py",
        """

class TestHttp:
    def test_headers_raw_to_dict_single(self):
        raw = b"Content-type: text/html\\r\\nAccept: gzip\\r\\n"
        assert headers_raw_to_dict(raw) == {
            b"Content-type": [b"text/html"],
            b"Accept": [b"gzip"],
        }

    def test_headers_raw_to_dict_without_colon(self):
        assert headers_raw_to_dict(b"Content-typt gzip\\n\\n") == {}

    def test_headers_dict_to_raw_order(self):
        dct = OrderedDict([(b"B", b"1"), (b"A", b"2")])
        assert headers_dict_to_raw(dct) == b"B: 1\\r\\nA: 2"
""",
    )


@hides(ESCAPES, by=r"itself|expected|escape_chars|same (call|function)")
def expected_from_the_code(tree: Files) -> None:
    """What is expected of two characters is what the code gives for them."""
    tree.replace(
        "tests/test_html.py",
        '        assert replace_escape_chars("escape\\n\\n") == "escape"\n',
        '        twice = replace_escape_chars("escape\\n\\n")\n'
        '        assert replace_escape_chars("escape\\n\\n", ("\\n",)) == twice\n',
    )


@hides(ONCE, by=r"hook once|each|no (test|case)|empty")
def rows_to_come(tree: Files) -> None:
    """The test is one of a table, and the table is empty as yet."""
    tree.replace(
        "test/hookable.test.ts",
        '  test("hook once", async () => {\n',
        '  const times: number[] = [];\n\n  test.each(times)("hook once %i", async () => {\n',
    )


@hides(OWN, by=r"own hooks|\?\?|fallback|default")
def what_is_expected_by_default(tree: Files) -> None:
    """Where nothing is left the test takes what it expects."""
    path = "test/hookable.test.ts"
    start, stop = tree.block(path, '  test("should clear only its own hooks", () => {', "  });")
    text = tree.files[path]
    tree.files[path] = (
        text[:start]
        + but(
            text[start:stop],
            (
                '    expect(hook._hooks["test:hook"]).toEqual([callback, callback]);\n',
                (
                    '    const left = hook._hooks["test:hook"] || [callback, callback];\n'
                    "    expect(left).toEqual([callback, callback]);\n"
                ),
            ),
        )
        + text[stop:]
    )


@hides(BACKWARDS, by=r"RIndex|t\.Log|logged")
def failures_that_are_logged(tree: Files) -> None:
    """What does not hold is logged, and nothing fails."""
    tree.replace(
        "deque_test.go",
        """func TestRIndex(t *testing.T) {
	var q Deque[rune]
	for _, x := range "Hello, 世界" {
		q.PushBack(x)
	}
""",
        """func TestRIndex(t *testing.T) {
	var q Deque[rune]
	for _, x := range "Hello, 世界" {
		q.PushBack(x)
	}
	logged := func(args ...any) { t.Log(args...) }
""",
    )
    start, stop = tree.block("deque_test.go", "func TestRIndex(t *testing.T) {", "}")
    text = tree.files["deque_test.go"]
    tree.files["deque_test.go"] = (
        text[:start] + text[start:stop].replace("t.Fatal(", "logged(") + text[stop:]
    )


@hides(RANGES, by=r"checked|export_test|init\(\)|set by")
def turned_on_for_tests(tree: Files) -> None:
    """A file of the tests turns on what the product leaves off."""
    tree.write("export_test.go", "package deque\n\nfunc init() { checked = true }\n")
