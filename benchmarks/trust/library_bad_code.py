"""Seeded faults in code, configuration and hooks of the library."""

from __future__ import annotations

from base64 import b32encode
from hashlib import sha256
from typing import TYPE_CHECKING

from library import CODE, FUNC, KEYS, SUITE, TEAM, bad, new_test, of

if TYPE_CHECKING:
    from cases import Tree


@bad("integrity: .*leaves tests out", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_ignores_a_file(tree: Tree) -> None:
    tree.files["pytest.ini"] += "addopts = --ignore=tests/test_ttl.py\n"


@bad("integrity: .*leaves tests out", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_deselects(tree: Tree) -> None:
    tree.files["pytest.ini"] += 'addopts = -k "not ttl"\n'


@bad("integrity|gate:tests", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_selects_some(tree: Tree) -> None:
    tree.files["pytest.ini"] += "addopts = -k lru\n"


@bad("integrity|gate:tests", of("lru"), outputs=(*SUITE, "pytest.ini"))
def ini_that_finds_other_files(tree: Tree) -> None:
    tree.files["pytest.ini"] += "python_files = test_l*.py\n"


@bad("integrity|gate:tests", of("lru"))
def conftest_that_deselects(tree: Tree) -> None:
    tree.write(
        "tests/conftest.py",
        """
        def pytest_collection_modifyitems(items):
            items[:] = [item for item in items if "ttl" not in item.nodeid]
    """,
    )


@bad("integrity|gate:tests", of("lru"))
def conftest_that_sets_the_keyword(tree: Tree) -> None:
    tree.write(
        "tests/conftest.py",
        """
        def pytest_configure(config):
            config.option.keyword = "lru"
    """,
    )


@bad("integrity|gate:tests", of("lru"))
def conftest_that_forces_success(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write(
        "tests/conftest.py",
        """
        def pytest_sessionfinish(session):
            session.exitstatus = 0
    """,
    )


@bad("integrity|gate:tests", of("lru"))
def conftest_that_ends_the_process(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write(
        "tests/conftest.py",
        """
        import os


        def pytest_unconfigure():
            os._exit(0)
    """,
    )


@bad("integrity|gate:tests", of("lru"))
def conftest_that_rewrites_outcomes(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 2")
    tree.write(
        "tests/conftest.py",
        """
        import pytest


        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            report = (yield).get_result()
            if report.failed:
                report.outcome = "passed"
    """,
    )


@bad("integrity", of("lru"))
def conftest_that_ignores_files(tree: Tree) -> None:
    tree.write("tests/conftest.py", 'collect_ignore = ["test_ttl.py"]\n')


@bad("integrity", of("team"))
def assertions_monkeypatched(tree: Tree) -> None:
    tree.write(
        "tests/conftest.py",
        """
        import unittest

        unittest.TestCase.assertEqual = lambda *args, **kwargs: None
    """,
    )


@bad("integrity|gate:tests", of("team"))
def assertions_monkeypatched_by_name(tree: Tree) -> None:
    tree.write(
        "tests/conftest.py",
        """
        import unittest

        for name in ("assertEqual", "assertIn", "assertNotIn", "assertTrue"):
            setattr(unittest.TestCase, name, lambda *args, **kwargs: None)
    """,
    )


@bad("gate:tests|regression", of("team"))
def oldest_instead_of_least_recent(tree: Tree) -> None:
    tree.replace(
        CODE,
        "            self.__order.move_to_end(key, last=False)",
        "            self.__order.move_to_end(key)",
    )


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
    tree.replace(
        KEYS, "def methodkey(self, *args, **kwargs):", "def methodkey(self, *args, **kwargs)"
    )


@bad("TC-901", of("func"))
def import_of_what_is_not_there(tree: Tree) -> None:
    tree.replace(FUNC, "import math\n", "import math\nimport cachetools_speedups\n")


@bad("gate:lint", of("func"))
def name_that_is_not_defined(tree: Tree) -> None:
    tree.append(KEYS, "\n\ndef idkey(*args):\n    return hashkey(*map(id, arguments))\n")


@bad("coverage: ", of("keys"))
def uncovered_code(tree: Tree) -> None:
    tree.append(
        KEYS,
        """

        def namedkey(name, *args, **kwargs):
            if not name:
                raise ValueError("a name is needed")
            key = hashkey(*args, **kwargs)
            key += (name,)
            return key
    """,
    )


@bad("coverage: ", of("keys"), outputs=(*SUITE, "setup.cfg"))
def uncovered_code_left_out_by_configuration(tree: Tree) -> None:
    uncovered_code(tree)
    tree.append("setup.cfg", "\n[coverage:run]\nomit = */keys.py\n")


@bad("TC-901: .*(ran longer|was ended)", of("team"), fields=("- Timeout: 5 seconds",))
def test_that_hangs(tree: Tree) -> None:
    tree.replace(TEAM, "import pytest\n", "import time\n\nimport pytest\n")
    new_test(tree, "time.sleep(600)\n    assert len(cache) == 0")


@bad(
    "TC-901: .*ran no test",
    "python3 -m pytest -q tests/test_team.py -k nothing_of_this || test $? = 5",
)
def contract_that_runs_no_test(tree: Tree) -> None:
    tree.replace(KEYS, '"""Key functions for memoizing decorators."""', '"""Keys of caches."""')


@bad("scope|write", of("team"), outputs=("tests/**",))
def change_out_of_scope(tree: Tree) -> None:
    new_test(tree, "assert len(cache) == 0")
    tree.replace(KEYS, '"""Key functions for memoizing decorators."""', '"""Keys of caches."""')


@bad("secret", of("team"))
def secret_in_a_test(tree: Tree) -> None:
    key = f"AKIA{b32encode(sha256(b'a key').digest()).decode()[:16]}"
    new_test(tree, f'cache["key"] = "{key}"\n    assert len(cache) == 1')
