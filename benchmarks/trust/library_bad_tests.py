"""Seeded faults in the tests of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from library import CODE, FUNC, LRU, RED_FIRST, SUITE, TEAM, bad, new_test, of

if TYPE_CHECKING:
    from cases import Tree


@bad("TC-901", of("team"))
def failing_test(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")


@bad("integrity: .*was added", of("team"))
def skip_mark(tree: Tree) -> None:
    test = "def test_the_time_to_live_is_kept"
    tree.replace(TEAM, test, f'@pytest.mark.skip(reason="slow")\n{test}')


@bad("integrity: .*was added", of("team"))
def xfail_mark(tree: Tree) -> None:
    test = "def test_the_time_to_live_is_kept"
    tree.replace(TEAM, test, f"@pytest.mark.xfail\n{test}")


@bad("integrity: .*was added", of("lru"))
def skip_mark_of_the_module(tree: Tree) -> None:
    tree.replace(
        TEAM, "\n\n@pytest.fixture\n", "\n\npytestmark = pytest.mark.skip\n\n\n@pytest.fixture\n"
    )


@bad("integrity: .*was added", of("team"))
def skip_below_a_condition(tree: Tree) -> None:
    line = "    assert cache.ttl == "
    tree.replace(TEAM, line, f'    if cache.ttl:\n        pytest.skip("later")\n{line}')


@bad("integrity: .*case", of("team"))
def case_removed(tree: Tree) -> None:
    tree.replace(TEAM, '        (["abcde", "fghij", "k"], 6),\n', "")


@bad("integrity: .*(was added|__test__)", of("team"))
def class_that_is_no_test(tree: Tree) -> None:
    tree.replace(LRU, "    Cache = LRUCache\n", "    Cache = LRUCache\n    __test__ = False\n")


@bad("integrity", of("team"))
def class_that_nobody_collects(tree: Tree) -> None:
    tree.replace(
        LRU,
        "class LRUCacheTest(unittest.TestCase, CacheTestMixin):",
        "class LRUCacheTest(CacheTestMixin):",
    )


@bad("integrity: .*is gone", of("team"))
def test_of_a_mixin_removed(tree: Tree) -> None:
    tree.cut("tests/__init__.py", "    def test_popitem(self)", "    def test_popitem_exception")


@bad("integrity", of("team"))
def test_shadowed_by_another(tree: Tree) -> None:
    tree.files[LRU] += """
    def test_lru(self):
        self.assertEqual(len(LRUCache(maxsize=2)), 0)
"""


@bad("integrity: .*is gone", of("team"))
def test_file_deleted(tree: Tree) -> None:
    tree.delete(LRU)


@bad("integrity: .*(is gone|taken out)", of("lru"), outputs=("src/**", LRU))
def test_deleted_though_the_file_is_listed_unseen(tree: Tree) -> None:
    tree.cut(LRU, "    def test_lru(self)", "    def test_lru_getsizeof")


@bad("integrity: .*(may return before|never runs)", of("team"))
def early_return(tree: Tree) -> None:
    line = "    assert cache.ttl =="
    tree.replace(TEAM, line, f"    return\n{line}")


@bad("integrity: .*never runs", of("team"))
def assertion_that_never_runs(tree: Tree) -> None:
    line = "    assert cache.ttl =="
    tree.replace(TEAM, line, f"    if False:\n    {line}")


@bad("integrity", of("team"))
def assertion_in_an_empty_loop(tree: Tree) -> None:
    line = "    assert cache.ttl =="
    tree.replace(TEAM, line, f"    for _ in ():\n    {line}")


@bad("integrity: .*is caught", of("team"))
def failure_caught_in_a_test(tree: Tree) -> None:
    line = "    assert cache.currsize == size\n"
    tree.replace(TEAM, line, f"    try:\n    {line}    except Exception:\n        pass\n")


@bad("integrity: .*says less", of("team"))
def tolerance_widened(tree: Tree) -> None:
    tree.replace(TEAM, "abs=1e-9", "abs=0.5")


@bad("integrity: .*(says less|taken out)", of("team"))
def assertion_that_is_always_true(tree: Tree) -> None:
    tree.replace(TEAM, "assert cache.currsize == size", "assert cache.currsize == size or True")


@bad("integrity: .*(says less|taken out)", of("team"))
def equality_weakened_to_membership(tree: Tree) -> None:
    tree.replace(TEAM, "assert cache.currsize == size", "assert cache.currsize in range(99)")


@bad("integrity: .*(says less|taken out)", of("team"))
def equality_weakened_to_not_none(tree: Tree) -> None:
    tree.replace(TEAM, "assert cache.currsize == size", "assert cache.currsize is not None")


@bad("integrity: .*(says less|taken out)", of("team"))
def text_weakened_to_its_start(tree: Tree) -> None:
    tree.replace(
        TEAM,
        "assert repr(cache) == \"LRUCache({'a': 1}, maxsize=2, currsize=1)\"",
        'assert repr(cache).startswith("LRUCache")',
    )


@bad("integrity: .*(says less|taken out)", of("team"))
def exception_weakened(tree: Tree) -> None:
    tree.replace(
        TEAM, 'pytest.raises(ValueError, match="value too large")', "pytest.raises(Exception)"
    )


@bad("integrity: .*taken out", of("team"))
def assertion_removed(tree: Tree) -> None:
    tree.replace(TEAM, "    assert len(cache) == 0\n", "")


@bad("integrity: .*can never fail", of("team"))
def new_test_that_always_passes(tree: Tree) -> None:
    new_test(tree, "assert True")


@bad("integrity: .*can never fail", of("team"))
def new_test_that_asserts_a_pair(tree: Tree) -> None:
    new_test(tree, 'assert (len(cache) == 2, "it is empty")')


@bad("integrity: .*asserts nothing|TC-901: .*passes without", of("team"), fields=RED_FIRST)
def new_test_that_asserts_nothing(tree: Tree) -> None:
    tree.append(
        CODE,
        '\n\ndef largest(cache):\n    """The largest value of a cache."""\n'
        "    return max(cache.values())\n",
    )
    new_test(tree, "len(cache)")


@bad("TC-901", of("largest"), fields=RED_FIRST)
def new_test_of_a_mock(tree: Tree) -> None:
    tree.append(
        CODE,
        '\n\ndef largest(cache):\n    """The largest value of a cache."""\n'
        "    return min(cache.values())\n",
    )
    tree.write(
        "tests/test_largest.py",
        """
        from unittest import mock

        import cachetools


        def test_the_largest_value_is_found():
            with mock.patch.object(cachetools, "largest", create=True, return_value=3) as largest:
                assert cachetools.largest({1: 3, 2: 2}) == 3
            largest.assert_called_once_with({1: 3, 2: 2})
    """,
    )


@bad(
    "something else is expected",
    of("func"),
    outputs=SUITE,
    warns="a changed expectation is shown; only a person can tell whether it was meant",
)
def expectation_edited_to_match_a_bug(tree: Tree) -> None:
    tree.everywhere(FUNC, "128", "127")
    tree.replace("tests/test_func.py", '"maxsize": 128, "typed"', '"maxsize": 127, "typed"')
    tree.everywhere("tests/test_func.py", ", 128, ", ", 127, ")
