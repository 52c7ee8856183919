"""The library from PyPI: its paths, and the cases over one release of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cases import Catalogue
from grounds import BASE, TIDY

if TYPE_CHECKING:
    from cases import Tree

CODE = "src/cachetools/__init__.py"
FUNC = "src/cachetools/func.py"
KEYS = "src/cachetools/keys.py"
TEAM = "tests/test_team.py"
LRU = "tests/test_lru.py"
SUITE = ("src/**", "tests/**")
RED_FIRST = ("- Red first: yes",)
LIBRARY = Catalogue(f"{TIDY}-{BASE}", bad_outputs=SUITE, good_outputs=SUITE, prefix="library-")
bad, good = LIBRARY.bad, LIBRARY.good
NEW_TESTS = """

def test_a_cache_is_empty_at_first():
    cache = LRUCache(maxsize=2)
    {claim}
"""


def of(name: str) -> str:
    """The command of one test file."""
    return f"python3 -m pytest -q tests/test_{name}.py"


def new_test(tree: Tree, claim: str) -> None:
    """A test more in the team's file."""
    tree.files[TEAM] += NEW_TESTS.format(claim=claim)
