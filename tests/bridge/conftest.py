"""The small forge, and workplaces of the stories."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
for folder in (TESTS / "forge", TESTS / "stories"):
    sys.path.insert(0, str(folder))

import pytest  # noqa: E402 - the folders come first


@pytest.fixture
def shop(tmp_path, alone):
    from shop import Shop, open_shop

    workplace, forge = open_shop(tmp_path, alone)
    with forge:
        yield Shop(workplace, tmp_path, forge)
    assert forge.mismatches == []
