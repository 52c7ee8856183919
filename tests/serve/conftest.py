"""A served project for every test that asks; its processes end with the test."""

import fcntl
import os

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


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """The one Chromium of the whole run: the first process that needs it starts it for all."""
    from browser import CHROMIUM, MISSING, Browser

    if CHROMIUM is None:
        pytest.skip(MISSING)
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with (shared / "chromium.port").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        known, mine = file.read(), None
        if not known:
            mine = Browser()
            file.write(str(mine.port))
            file.flush()
        fcntl.flock(file, fcntl.LOCK_SH)  # as long as we use it
        yield int(known) if mine is None else mine.port
        if mine is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # the others have gone
            mine.close()


@pytest.fixture
def person(chromium):
    """Somebody at a browser; asked again, somebody else."""
    from browser import Person

    made = []

    def begin():
        made.append(Person(chromium))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture
def held(workplace, serve):
    """TASK-001 is proven, and waits for a person."""
    workplace.plan(GREET, NOTE)
    assert workplace.run("--review", "prompt").code == 3
    return serve()
