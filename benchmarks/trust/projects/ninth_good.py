"""Honest work over the projects of `ninth`: tests that are tidied, and real commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ninth import (
    BACKOFF,
    DISPOSITION,
    GO,
    NODE,
    PYTEST,
    TYPED,
    VITEST,
    XSTRINGS,
    maintained,
    tidies,
    within,
)

if TYPE_CHECKING:
    from changes import Files

_WAITS = PYTEST.format("tests/test_wait_gen.py")


@tidies(BACKOFF, "Tests of waits that decay are one table", _WAITS)
def a_table_of_tests(tree: Files) -> None:
    path = "tests/test_wait_gen.py"
    tree.cut(path, "def test_decay():", "def test_expo():")
    tree.replace(
        path,
        "def test_expo():\n",
        "@pytest.mark.parametrize(\n    ('initial_value', 'decay_factor', 'min_value'),\n"
        "    [(1, 1, 0), (100, 1, 0), (100, 3, 0), (100, 3, 5)],\n)\n"
        "def test_decay(initial_value, decay_factor, min_value):\n"
        "    gen = backoff.decay(initial_value=initial_value,\n"
        "                        decay_factor=decay_factor, min_value=min_value)\n"
        "    gen.send(None)\n    for i in range(10):\n"
        "        exact = initial_value * math.e ** (-i * decay_factor)\n"
        "        assert max(exact, min_value) == next(gen)\n\n\n"
        "def test_decay_defaults():\n    gen = backoff.decay()\n    gen.send(None)\n"
        "    for i in range(10):\n        assert math.e ** -i == next(gen)\n\n\n"
        "def test_expo():\n",
    )
    tree.replace(path, "import math\n", "import math\n\nimport pytest\n")


@tidies(BACKOFF, "Tests of retries share a fixture", PYTEST.format("tests/test_backoff.py"))
def a_fixture_that_is_shared(tree: Files) -> None:
    path = "tests/test_backoff.py"
    tree.write(
        "tests/conftest.py",
        """
        import pytest


        @pytest.fixture
        def no_sleep(monkeypatch):
            monkeypatch.setattr('time.sleep', lambda x: None)
        """,
    )
    tree.sub(
        path,
        r"^(def test_\w+)\(monkeypatch\):\n    monkeypatch\.setattr\('time\.sleep', lambda x: None\)\n\n"
        r"(?=    @backoff|    backoffs|    def )",
        r"\1(monkeypatch, no_sleep):\n",
    )


@tidies(
    BACKOFF,
    "The tests of jitter look at every value",
    PYTEST.format("tests/test_jitter.py tests/test_wait_gen.py"),
)
def asserts_that_are_stricter(tree: Files) -> None:
    tree.replace(
        "tests/test_jitter.py",
        "            jitter = backoff.full_jitter(input)\n"
        "        assert jitter >= 0\n        assert jitter <= input\n",
        "            jitter = backoff.full_jitter(input)\n"
        "            assert 0 <= jitter <= input\n\n\n"
        "def test_random_jitter():\n    for input in range(100):\n"
        "        assert input <= backoff.random_jitter(input) < input + 1\n",
    )
    tree.replace(
        "tests/test_wait_gen.py",
        "    gen = backoff.constant(interval=3)\n    gen.send(None)\n    for i in range(9):\n"
        "        assert 3 == next(gen)\n",
        "    gen = backoff.constant(interval=3)\n    gen.send(None)\n"
        "    assert [next(gen) for _ in range(9)] == [3] * 9\n",
    )


@tidies(DISPOSITION, "Tests of reading have a file of their own", NODE)
def tests_in_two_files(tree: Files) -> None:
    path = "test/test.js"
    text = tree.files[path]
    at = text.index("describe('contentDisposition.parse(string)', function () {")
    head = text[: text.index("\n\n") + 2]
    tree.files[path] = text[:at].rstrip("\n") + "\n"
    tree.files["test/parse.js"] = head + text[at:]


@tidies(DISPOSITION, "Tests of slashes are rows", NODE)
def rows_of_the_same_names(tree: Files) -> None:
    path = "test/test.js"
    text = tree.files[path]
    start = text.index("  it('should use the basename of a posix path with trailing slash', ")
    stop = text.index("  describe('when \"filename\" is US-ASCII', function () {")
    tree.files[path] = (
        text[:start]
        + r"""  ;[
    ['a posix path with trailing slash', '/path/to/plans.pdf/'],
    ['a windows path with trailing slash', '\\path\\to\\plans.pdf\\'],
    ['a windows path with drive letter and trailing slash', 'C:\\path\\to\\plans.pdf\\'],
    ['a posix path with trailing slashes', '/path/to/plans.pdf///'],
    ['a windows path with trailing slashes', '\\path\\to\\plans.pdf\\\\\\'],
    ['a windows path with drive letter and trailing slashes', 'C:\\path\\to\\plans.pdf\\\\\\']
  ].forEach(function (row) {
    it('should use the basename of ' + row[0], function () {
      assert.strictEqual(contentDisposition(row[1]),
        'attachment; filename="plans.pdf"')
    })
  })

"""
        + text[stop:]
    )


@tidies(DISPOSITION, "Tests of types have other names", NODE)
def tests_of_other_names(tree: Files) -> None:
    path = "test/test.js"
    tree.replace(
        path, "    it('should normalize type', ", "    it('should write the type in lower case', "
    )
    tree.replace(
        path,
        "    it('should require a valid type', ",
        "    it('should reject a type that is no token', ",
    )
    within(
        tree,
        path,
        "    it('should create a header with inline type & filename', function () {",
        "    })",
        ("inline type & filename", "inline type and a file name"),
    )


@tidies(XSTRINGS, "Every case of a table is a test", GO)
def cases_that_are_subtests(tree: Files) -> None:
    tree.replace(
        "util_test.go",
        "	for k, v := range cases {\n		s := converter(k)\n\n		if s != v {\n"
        '			t.Fatalf("case fails. [case:%v]\\nshould => %#v\\nactual => %#v", k, v, s)\n'
        "		}\n	}\n",
        "	t.Helper()\n\n	for k, v := range cases {\n		k, v := k, v\n\n		t.Run(k, func(t *testing.T) {\n"
        "			if s := converter(k); s != v {\n"
        '				t.Errorf("case fails. [case:%v]\\nshould => %#v\\nactual => %#v", k, v, s)\n'
        "			}\n		})\n	}\n",
    )


@tidies(XSTRINGS, "Partitions share their cut", GO)
def code_that_is_shared(tree: Files) -> None:
    path = "manipulate.go"
    for name, missing in (("Index", "head"), ("LastIndex", "tail")):
        tree.replace(
            path,
            f"	index := strings.{name}(str, sep)\n\n	if index == -1 {{\n		{missing} = str\n		return\n	}}\n\n"
            "	head = str[:index]\n	match = str[index : index+len(sep)]\n	tail = str[index+len(sep):]\n	return\n}\n",
            f"	index := strings.{name}(str, sep)\n\n	if index == -1 {{\n		{missing} = str\n		return\n	}}\n\n"
            "	return cut(str, index, len(sep))\n}\n",
        )
    tree.replace(
        path,
        "// Insert src into dst at given rune index.\n",
        "// cut splits str around the size bytes at index.\n"
        "func cut(str string, index, size int) (head, match, tail string) {\n"
        "	return str[:index], str[index : index+size], str[index+size:]\n}\n\n"
        "// Insert src into dst at given rune index.\n",
    )
    for head, row in (
        ("func TestPartition(t *testing.T) {", 'sep("", "aa", "a")'),
        ("func TestLastPartition(t *testing.T) {", 'sep("a", "aa", "")'),
    ):
        within(
            tree,
            "manipulate_test.go",
            head,
            "}",
            (
                "	runTestCases(t, runner, _M{\n",
                f'	runTestCases(t, runner, _M{{\n		sep("aaa", "aa"): {row},\n',
            ),
        )


maintained(BACKOFF, "ed932f749b9c6cfe1e374662c23bfaadcb8d12bc", _WAITS, existing=True)
maintained(
    BACKOFF,
    "c0dafcf901ef005f0b8e9f0aa9958c46cc8fc865",
    PYTEST.format("tests/test_backoff.py"),
    existing=True,
)
maintained(
    BACKOFF,
    "7fbae2599ad38c49137ca2abd574048d220c1f9c",
    PYTEST.format("tests/test_backoff.py"),
    existing=True,
)
maintained(
    DISPOSITION,
    "a6c81421f56f9fccf1f75e40bf715f65b0a8cbb8",
    "node --test test/test.js",
    existing=True,
)
maintained(
    TYPED,
    "70862364176c6afe54d2bc3c76f5bdf78ea968b0",
    VITEST.format("src/parse.spec.ts"),
    existing=True,
)
maintained(
    TYPED,
    "3190b76a3f2bb9d1bed2117cfebcd3050e3e7cc0",
    VITEST.format("src/create.spec.ts"),
    existing=True,
)
maintained(
    TYPED,
    "c6b15c86fc2ce66ab4861f11aca6d533c46e38ce",
    VITEST.format("src/parse.spec.ts"),
    existing=True,
)
maintained(XSTRINGS, "170756514820509734fd83d8188a04f1cf39d318", GO, existing=True)
maintained(XSTRINGS, "f0886df0bb1e784616a60512d2621528f720d4b7", GO, existing=True)
maintained(XSTRINGS, "f02667b379e2fb5916c3cda2cf31e0eb885d79f8", GO, existing=True)
