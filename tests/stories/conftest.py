"""Every story has a home folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def at_home(alone):
    """Every test of this room has a home folder of its own."""
