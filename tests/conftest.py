"""A person's home and repository for every test that asks, whatever machine it runs on."""

import os
import signal
import sys
import threading
import zlib
from collections import Counter
from itertools import count
from pathlib import Path

import long_tests
import pytest
from message_recorder import (  # noqa: F401 - hooks of pytest
    pytest_configure,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)
from plain_python import plain_python

# The person and their repository, their terminal, and what was built once for many tests.
for _room in ("stories", "commands", "app"):
    sys.path.insert(0, str(Path(__file__).parent / _room))

pytest.register_assert_rewrite("workplace")

# What a version manager puts on the PATH is a script of a shell, which takes three times as long as
# the Python that it begins; tests begin thousands.
_FIRST = (plain_python(), Path(sys.base_prefix, "bin"), os.environ["PATH"])
os.environ["PATH"] = os.pathsep.join(str(one) for one in _FIRST if one is not None)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell without job control starts what is in the background so, and every program that a
    # test starts would inherit it: none could be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    _keep_hypothesis_from_reading_all()
    _measure_a_share_of_many_cases(items)


def _keep_hypothesis_from_reading_all():
    """Keep hypothesis from reading every module of ours for constants to try, in each worker anew.

    In a clean clone that takes most of a minute before the first test begins. The name is its
    own and not promised: where it is gone, it reads them.
    """
    providers = sys.modules.get("hypothesis.internal.conjecture.providers")
    if hasattr(providers, "_get_local_constants") and hasattr(providers, "_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


_FEW = 32
"""Cases of one test that are all measured."""
_BEHIND = 8
"""Of those behind them, one in so many is."""


def _measure_a_share_of_many_cases(items):
    """Measure of a test with very many cases the first ones, and a share of the others.

    They run the same lines, which take two to three times as long while they are measured. What is
    told as covered is so; of the lines that are, one in about two thousand is not told.
    """
    cases = Counter()
    for item in items:
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if cases[test] > _FEW and cases[test] % _BEHIND:
            item.add_marker(pytest.mark.no_cover)


def _stop_measuring():
    sys.settrace(None)
    threading.settrace(None)


# A forked child of a test ends by os._exit: what was measured in it is told nowhere.
os.register_at_fork(after_in_child=_stop_measuring)


_STARTS = "COVERAGE_PROCESS_CONFIG"
"""By which coverage measures what a test starts."""
_SHARE = 16


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """See what the test takes of a processor, where that is asked, and measure what it starts."""
    folder = os.environ.get(long_tests.MEASURED)
    began = long_tests.processor_seconds()
    try:
        return (yield from _measure_started(item))
    finally:
        if folder is not None:
            taken = long_tests.processor_seconds() - began
            with Path(folder, str(os.getpid())).open("a", encoding="utf-8") as file:
                file.write(f"{taken:.3f}\t{item.nodeid}\n")


def _measure_started(item):
    """Measure what one test in sixteen starts, always the same ones; each test itself is measured.

    A command that is measured costs twice its time, and commands are more than half of all.
    """
    said = os.environ.get(_STARTS)
    if said is None or zlib.crc32(item.nodeid.encode()) % _SHARE == 0:
        return (yield)
    del os.environ[_STARTS]
    try:
        return (yield)
    finally:
        os.environ[_STARTS] = said


_HOMES = count()


@pytest.fixture
def alone(monkeypatch, tmp_path_factory):
    """A home folder that only this test has: nothing of this machine's settings comes in."""
    # A folder of many thousands would be read anew for each test's own, which takes 10 ms then.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    for name in tuple(os.environ):
        if name.startswith(("GIT_", "RUNNER_", "XDG_", "GITHUB_")) or name in ("CI", "EMAIL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    return home


@pytest.fixture
def workplace(tmp_path, alone):
    """A git repository of somebody called Ada, with nothing in it yet."""
    from workplace import Workplace

    return Workplace.begin(tmp_path / "shop", alone)
