"""A served project for every test that asks; its processes end with the test."""

import pytest
from site_plans import GREET, NOTE

pytest.register_assert_rewrite("site_process")


@pytest.fixture
def serve(workplace):
    from site_process import Site

    started = []

    def start(*words, folder=None, enter=True):
        one = Site(folder or workplace.root, *words)
        started.append(one)
        if enter:
            assert one.enter() == 200
        return one

    yield start
    for one in started:
        one.close()


@pytest.fixture
def site(workplace, serve):
    """A small plan that nobody has built yet."""
    workplace.plan(GREET, NOTE)
    return serve()
