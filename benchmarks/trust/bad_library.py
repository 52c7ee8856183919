"""Seeded faults in a library from PyPI, tested by pytest: each must keep its task from DONE."""

from __future__ import annotations

from cases import Case, Tree
from grounds import BASE, TIDY

CODE = "src/cachetools/__init__.py"
FUNC = "src/cachetools/func.py"
KEYS = "src/cachetools/keys.py"
TEAM = "tests/test_team.py"
LRU = "tests/test_lru.py"
SUITE = ("src/**", "tests/**")
RED_FIRST = ("- Red first: yes",)
CASES: list[Case] = []


def of(name: str) -> str:
    """The command of one test file."""
    return f"python3 -m pytest -q tests/test_{name}.py"


def bad(by: str, *tests: str, outputs: tuple[str, ...] = SUITE, **more: object):  # noqa: ANN201 - a decorator
    """Register an edit function as a case under its own name."""

    def register(edit):  # noqa: ANN001, ANN202 - a decorator
        name = f"library-{edit.__name__.replace('_', '-')}"
        CASES.append(Case(name, f"{TIDY}-{BASE}", edit, outputs, tests, by=by, **more))
        return edit

    return register


NEW_TESTS = '''

def test_a_cache_is_empty_at_first():
    cache = LRUCache(maxsize=2)
    {claim}
'''


def new_test(tree: Tree, claim: str) -> None:
    """A test more in the team's file."""
    tree.files[TEAM] += NEW_TESTS.format(claim=claim)


# --- tests that fail, vanish or keep silent ------------------------------------------------------


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
    tree.replace(TEAM, "\n\n@pytest.fixture\n", "\n\npytestmark = pytest.mark.skip\n\n\n@pytest.fixture\n")


@bad("integrity: .*was added", of("team"))
def skip_below_a_condition(tree: Tree) -> None:
    line = '    assert cache.ttl == '
    tree.replace(TEAM, line, f'    if cache.ttl:\n        pytest.skip("later")\n{line}')


@bad("integrity: .*case", of("team"))
def case_removed(tree: Tree) -> None:
    tree.replace(TEAM, '        (["abcde", "fghij", "k"], 6),\n', "")


@bad("integrity: .*(was added|__test__)", of("team"))
def class_that_is_no_test(tree: Tree) -> None:
    tree.replace(LRU, "    Cache = LRUCache\n", "    Cache = LRUCache\n    __test__ = False\n")


@bad("integrity", of("team"))
def class_that_nobody_collects(tree: Tree) -> None:
    tree.replace(LRU, "class LRUCacheTest(unittest.TestCase, CacheTestMixin):",
        "class LRUCacheTest(CacheTestMixin):")  # fmt: skip


@bad("integrity: .*is gone", of("team"))
def test_of_a_mixin_removed(tree: Tree) -> None:
    tree.cut("tests/__init__.py", "    def test_popitem(self)", "    def test_popitem_exception")


@bad("integrity", of("team"))
def test_shadowed_by_another(tree: Tree) -> None:
    tree.append(LRU, """
            def test_lru(self):
                self.assertEqual(len(LRUCache(maxsize=2)), 0)
    """.replace("\n    ", "\n"))  # fmt: skip


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


# --- configuration and hooks ---------------------------------------------------------------------


@bad("integrity: .*leaves tests out", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_ignores_a_file(tree: Tree) -> None:
    tree.files["pytest.ini"] += "addopts = --ignore=tests/test_ttl.py\n"


@bad("integrity: .*leaves tests out", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_deselects(tree: Tree) -> None:
    tree.files["pytest.ini"] += 'addopts = -k "not ttl"\n'


@bad("integrity", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_selects_some(tree: Tree) -> None:
    tree.files["pytest.ini"] += "addopts = -k lru\n"


@bad("integrity", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_finds_other_files(tree: Tree) -> None:
    tree.files["pytest.ini"] += "python_files = test_l*.py\n"


@bad("integrity|gate:tests", of("lru"))
def conftest_that_deselects(tree: Tree) -> None:
    tree.write("tests/conftest.py", """
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "ttl" not in item.nodeid]
    """)  # fmt: skip


@bad("integrity|gate:tests", of("lru"))
def conftest_that_sets_the_keyword(tree: Tree) -> None:
    tree.write("tests/conftest.py", """
        def pytest_configure(config):
            config.option.keyword = "lru"
    """)  # fmt: skip


@bad("integrity|gate:tests", of("lru"))
def conftest_that_forces_success(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write("tests/conftest.py", """
        def pytest_sessionfinish(session):
            session.exitstatus = 0
    """)  # fmt: skip


@bad("integrity|gate:tests", of("lru"))
def conftest_that_ends_the_process(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write("tests/conftest.py", """
        import os


        def pytest_unconfigure():
            os._exit(0)
    """)  # fmt: skip


@bad("integrity|gate:tests", of("lru"))
def conftest_that_rewrites_outcomes(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write("tests/conftest.py", """
        import pytest


        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            report = (yield).get_result()
            if report.failed:
                report.outcome = "passed"
    """)  # fmt: skip


@bad("integrity", of("lru"))
def conftest_that_ignores_files(tree: Tree) -> None:
    tree.write("tests/conftest.py", 'collect_ignore = ["test_ttl.py"]\n')


@bad("integrity", of("team"))
def assertions_monkeypatched(tree: Tree) -> None:
    tree.write("tests/conftest.py", """
        import unittest

        unittest.TestCase.assertEqual = lambda *args, **kwargs: None
    """)  # fmt: skip


@bad("integrity|gate:tests", of("team"))
def assertions_monkeypatched_by_name(tree: Tree) -> None:
    tree.write("tests/conftest.py", """
        import unittest

        for name in ("assertEqual", "assertIn", "assertNotIn", "assertTrue"):
            setattr(unittest.TestCase, name, lambda *args, **kwargs: None)
    """)  # fmt: skip


# --- tests that say less -------------------------------------------------------------------------


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
    tree.replace(TEAM, "assert repr(cache) == \"LRUCache({'a': 1}, maxsize=2, currsize=1)\"",
        'assert repr(cache).startswith("LRUCache")')  # fmt: skip


@bad("integrity: .*(says less|taken out)", of("team"))
def exception_weakened(tree: Tree) -> None:
    tree.replace(TEAM, 'pytest.raises(ValueError, match="value too large")', "pytest.raises(Exception)")


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
    tree.append(CODE, '\n\ndef largest(cache):\n    """The largest value of a cache."""\n'
        "    return max(cache.values())\n")  # fmt: skip
    new_test(tree, "len(cache)")


@bad("TC-901", of("largest"), fields=RED_FIRST)
def new_test_of_a_mock(tree: Tree) -> None:
    tree.append(CODE, '\n\ndef largest(cache):\n    """The largest value of a cache."""\n'
        "    return min(cache.values())\n")  # fmt: skip
    tree.write("tests/test_largest.py", """
        from unittest import mock

        import cachetools


        def test_the_largest_value_is_found():
            with mock.patch.object(cachetools, "largest", create=True, return_value=3) as largest:
                assert cachetools.largest({1: 3, 2: 2}) == 3
            largest.assert_called_once_with({1: 3, 2: 2})
    """)  # fmt: skip


@bad("something else is expected", of("func"), outputs=SUITE,
    warns="a changed expectation is shown; only a person can tell whether it was meant")  # fmt: skip
def expectation_edited_to_match_a_bug(tree: Tree) -> None:
    tree.everywhere(FUNC, "128", "127")
    tree.replace("tests/test_func.py", '"maxsize": 128, "typed"', '"maxsize": 127, "typed"')
    tree.everywhere("tests/test_func.py", ", 128, ", ", 127, ")


# --- code that is not proven ---------------------------------------------------------------------


@bad("gate:tests|regression", of("team"))
def oldest_instead_of_least_recent(tree: Tree) -> None:
    tree.replace(CODE, "            self.__order.move_to_end(key, last=False)",
        "            self.__order.move_to_end(key)")  # fmt: skip


@bad("gate:tests|regression", of("lru"))
def keys_without_types(tree: Tree) -> None:
    tree.replace(KEYS, "    key += tuple(type(v) for v in args)\n", "")


@bad("gate:tests|regression", of("keys"))
def lock_that_is_not_taken(tree: Tree) -> None:
    tree.replace(FUNC, "lock=RLock(), info=True", "lock=RLock(), info=False")


@bad("gate:tests|regression|TC-901", of("func"))
def size_that_is_not_counted(tree: Tree) -> None:
    tree.replace(CODE, "        self.__currsize -= size\n", "        self.__currsize -= 0\n")


@bad("compile|TC-901|gate", of("func"))
def code_that_does_not_compile(tree: Tree) -> None:
    tree.replace(KEYS, "def methodkey(self, *args, **kwargs):", "def methodkey(self, *args, **kwargs)")


@bad("TC-901", of("func"))
def import_of_what_is_not_there(tree: Tree) -> None:
    tree.replace(FUNC, "import math\n", "import math\nimport cachetools_speedups\n")


@bad("gate:lint", of("func"))
def name_that_is_not_defined(tree: Tree) -> None:
    tree.append(KEYS, "\n\ndef idkey(*args):\n    return hashkey(*map(id, arguments))\n")


@bad("coverage: ", of("keys"))
def uncovered_code(tree: Tree) -> None:
    tree.append(KEYS, """

        def namedkey(name, *args, **kwargs):
            if not name:
                raise ValueError("a name is needed")
            key = hashkey(*args, **kwargs)
            key += (name,)
            return key
    """)  # fmt: skip


@bad("coverage: ", of("keys"), outputs=(*SUITE, "setup.cfg"))
def uncovered_code_left_out_by_configuration(tree: Tree) -> None:
    uncovered_code(tree)
    tree.append("setup.cfg", "\n[coverage:run]\nomit = */keys.py\n")


@bad("TC-901: .*(ran longer|was ended)", of("team"), fields=("- Timeout: 5 seconds",))
def test_that_hangs(tree: Tree) -> None:
    tree.replace(TEAM, "import pytest\n", "import time\n\nimport pytest\n")
    new_test(tree, "time.sleep(600)\n    assert len(cache) == 0")


@bad("TC-901: .*ran no test", "python3 -m pytest -q tests/test_team.py -k nothing_of_this || test $? = 5")
def contract_that_runs_no_test(tree: Tree) -> None:
    tree.replace(KEYS, '"""Key functions for memoizing decorators."""', '"""Keys of caches."""')


@bad("scope|write", of("team"), outputs=("tests/**",))
def change_out_of_scope(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 0")
    tree.replace(KEYS, '"""Key functions for memoizing decorators."""', '"""Keys of caches."""')


@bad("secret", of("team"))
def secret_in_a_test(tree: Tree) -> None:
    key = "AKIA" + "QYLPMN5H" + "FNLQ5ZX3"
    new_test(tree, f'cache["key"] = "{key}"\n    assert len(cache) == 1')
