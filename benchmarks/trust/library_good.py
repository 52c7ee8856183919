"""Good changes to the library, beside its own releases."""

# ruff: noqa: E501 - code is quoted as it stands

from __future__ import annotations

from typing import TYPE_CHECKING

from library import CODE, FUNC, KEYS, LRU, RED_FIRST, TEAM, good, of

if TYPE_CHECKING:
    from cases import Tree


@good(of("keys"), type="refactor")
def local_renamed(tree: Tree) -> None:
    tree.cut(
        KEYS,
        "    key = hashkey(*args, **kwargs)\n    key += tuple(type(v) for v in args)",
        "    return key\n",
    )
    tree.replace(
        KEYS,
        "    return key\n",
        "    typed = hashkey(*args, **kwargs)\n"
        "    typed += tuple(type(v) for v in args)\n"
        "    typed += tuple(type(v) for _, v in sorted(kwargs.items()))\n    return typed\n",
    )


@good(of("lru"), type="refactor")
def representation_as_an_f_string(tree: Tree) -> None:
    tree.cut(
        CODE,
        '        return "%s(%s, maxsize=%r, currsize=%r)" % (',
        "    def __getitem__(self, key):\n        try:",
    )
    tree.replace(
        CODE,
        "    def __repr__(self):\n",
        "    def __repr__(self):\n"
        "        name = self.__class__.__name__\n"
        '        return f"{name}({self.__data!r}, maxsize={self.__maxsize!r}, currsize={self.__currsize!r})"\n\n',
    )


@good(of("keys"), type="refactor")
def faster_types(tree: Tree) -> None:
    tree.replace(KEYS, "tuple(type(v) for v in args)", "tuple(map(type, args))")


@good(of("func"), type="refactor")
def branches_in_one_place(tree: Tree) -> None:
    """The decorators of three kinds of cache share what they do."""
    for name in ("fifo", "lfu", "lru"):
        kind = f"{name.upper()}Cache"
        tree.replace(
            FUNC,
            "    if maxsize is None:\n        return _cache({}, None, typed)\n"
            f"    elif callable(maxsize):\n        return _cache({kind}(128), 128, typed)(maxsize)\n"
            f"    else:\n        return _cache({kind}(maxsize), maxsize, typed)\n",
            f"    return _bounded({kind}, maxsize, typed)\n",
        )
    tree.replace(
        FUNC,
        "def fifo_cache(",
        """def _bounded(kind, maxsize, typed):
    if maxsize is None:
        return _cache({}, None, typed)
    elif callable(maxsize):
        return _cache(kind(128), 128, typed)(maxsize)
    else:
        return _cache(kind(maxsize), maxsize, typed)


def fifo_cache(""",
    )


@good(of("keys"), type="refactor")
def annotations(tree: Tree) -> None:
    tree.replace(
        KEYS,
        "def typedkey(*args, **kwargs):",
        "def typedkey(*args: object, **kwargs: object) -> tuple:",
    )


@good(of("peek"), fields=RED_FIRST)
def method_with_its_test(tree: Tree) -> None:
    tree.replace(
        CODE,
        "    @property\n    def maxsize(self):",
        '''    def peek(self, key, default=None):
        """A value without its being used."""
        return self.__data.get(key, default)

    @property
    def maxsize(self):''',
    )
    tree.write(
        "tests/test_peek.py",
        """
        from cachetools import LRUCache


        def test_peeking_is_no_use():
            cache = LRUCache(maxsize=2)
            cache.update({1: 1, 2: 2})
            assert cache.peek(1) == 1
            cache[3] = 3
            assert 1 not in cache


        def test_peeking_at_nothing_gives_the_default():
            cache = LRUCache(maxsize=2)
            assert cache.peek(1) is None
            assert cache.peek(1, "none") == "none"
    """,
    )


@good(of("keys"), fields=RED_FIRST)
def key_with_its_test(tree: Tree) -> None:
    tree.files[KEYS] += '''

def namedkey(name, *args, **kwargs):
    """Return a cache key that begins with a name."""
    return hashkey(name, *args, **kwargs)
'''
    tree.replace(
        KEYS,
        '("hashkey", "methodkey", "typedkey")',
        '("hashkey", "methodkey", "namedkey", "typedkey")',
    )
    tree.files["tests/test_keys.py"] += """
    def test_namedkey(self):
        key = cachetools.keys.namedkey
        self.assertEqual(key("a", 1), key("a", 1))
        self.assertNotEqual(key("a", 1), key("b", 1))
"""


@good(of("team"), type="test")
def more_cases(tree: Tree) -> None:
    tree.replace(
        TEAM,
        '        (["a"], 1),\n',
        '        ([], 0),\n        (["a"], 1),\n        (["a", "a"], 1),\n',
    )


@good(of("team"), type="test")
def cases_with_names(tree: Tree) -> None:
    tree.replace(
        TEAM,
        '        (["ab", "c"], 3),\n',
        '        pytest.param(["ab", "c"], 3, id="two words"),\n',
    )


@good(of("team"), type="test")
def tolerance_narrowed(tree: Tree) -> None:
    tree.replace(TEAM, "abs=1e-9", "abs=1e-12")


@good(of("team"), type="test")
def fixture_moved_to_conftest(tree: Tree) -> None:
    tree.cut(TEAM, "@pytest.fixture\n", "@pytest.mark.parametrize")
    tree.write(
        "tests/conftest.py",
        """
        import pytest

        from cachetools import LRUCache


        @pytest.fixture
        def cache():
            return LRUCache(maxsize=10, getsizeof=len)
    """,
    )


@good(of("lru"), type="test")
def test_in_the_manner_of_pytest(tree: Tree) -> None:
    """The same claims, as plain asserts."""
    text = tree.files[LRU]
    start = text.index("    def test_lru_getsizeof")
    head, body = text[:start], text[start:]
    for old, new in (
        ("self.assertEqual(len(cache), 2)", "assert len(cache) == 2"),
        ("self.assertEqual(len(cache), 1)", "assert len(cache) == 1"),
        ("self.assertEqual(cache[1], 1)", "assert cache[1] == 1"),
        ("self.assertEqual(cache[2], 2)", "assert cache[2] == 2"),
        ("self.assertEqual(cache[3], 3)", "assert cache[3] == 3"),
        ("self.assertNotIn(1, cache)", "assert 1 not in cache"),
        ("self.assertNotIn(2, cache)", "assert 2 not in cache"),
    ):
        body = body.replace(old, new)
    tree.files[LRU] = head + body


@good(of("team"), outputs=("pytest.ini", "tests/**"), type="infra")
def stricter_pytest(tree: Tree) -> None:
    tree.files["pytest.ini"] += "addopts = --strict-markers -ra\nxfail_strict = true\n"


@good(of("team"), outputs=("pytest.ini", "tests/**"), type="test")
def marker_that_is_declared(tree: Tree) -> None:
    tree.files["pytest.ini"] += "markers =\n    sizes: about sizes\n"
    tree.replace(TEAM, "@pytest.mark.parametrize", "@pytest.mark.sizes\n@pytest.mark.parametrize")


@good(of("team"), type="test")
def hook_that_only_reports(tree: Tree) -> None:
    tree.write(
        "tests/conftest.py",
        """
        import cachetools


        def pytest_report_header():
            return f"cachetools {cachetools.__version__}"
    """,
    )


@good(
    of("func"),
    outputs=("src/**", "tests/**", "tests/test_mru.py", "tests/test_func.py"),
    type="refactor",
    by_person=True,
)
def dead_code_deleted_with_its_test(tree: Tree) -> None:
    """A cache that nobody uses any more, with the test file that the task names."""
    tree.cut(CODE, "class MRUCache(Cache):", "class RRCache(Cache):")
    tree.replace(CODE, '    "MRUCache",\n', "")
    tree.cut(FUNC, "def mru_cache(", "def rr_cache(")
    tree.replace(FUNC, '"lru_cache", "mru_cache", "rr_cache"', '"lru_cache", "rr_cache"')
    tree.replace(FUNC, "LRUCache, MRUCache, RRCache", "LRUCache, RRCache")
    tree.cut("tests/test_func.py", "class MRUDecoratorTest", "class RRDecoratorTest")
    tree.delete("tests/test_mru.py")


@good(of("ttl"), type="bugfix")
def bug_with_its_test(tree: Tree) -> None:
    tree.replace(
        CODE,
        "        if size > maxsize:\n",
        "        if size < 0:\n"
        '            raise ValueError("value of negative size")\n        if size > maxsize:\n',
    )
    tree.files["tests/test_ttl.py"] += """
    def test_a_negative_size_is_refused(self):
        cache = TTLCache(maxsize=2, ttl=1, timer=Timer(), getsizeof=lambda x: x)
        with self.assertRaisesRegex(ValueError, "negative"):
            cache[1] = -1
        self.assertEqual(0, cache.currsize)
"""


@good(of("keys"), outputs=("src/**", "CHANGELOG.rst"), type="docs")
def docstrings(tree: Tree) -> None:
    tree.replace(
        KEYS,
        '"""Return a cache key for use with cached methods."""',
        '"""Return a cache key for use with cached methods; `self` counts for nothing."""',
    )


@good(of("team"), type="test")
def comments_in_tests(tree: Tree) -> None:
    tree.replace(
        TEAM, "    for word in words:\n", "    for word in words:  # each is its own key\n"
    )


@good(of("team"), type="test")
def test_with_a_helper(tree: Tree) -> None:
    tree.files[TEAM] += """

def check_holds(cache, *keys):
    assert list(cache) == list(keys)


def test_the_order_is_that_of_insertion():
    cache = LRUCache(maxsize=3)
    cache.update({"b": 1, "a": 2})
    check_holds(cache, "b", "a")
"""
