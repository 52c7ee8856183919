"""A module that is loaded when something of it is first used."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from runner.lazy_module import lazy_module, name_package, put_off

SLOW = """
import time
BEFORE = 1
time.sleep(0.2)
AFTER = 2
"""


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """A module that takes its time, and is not loaded yet."""
    (tmp_path / "slow_to_load.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "slow_to_load"
    sys.modules.pop("slow_to_load", None)


def test_it_is_loaded_by_its_first_use_and_not_before(slow):
    late = lazy_module(slow)
    assert slow not in sys.modules
    assert repr(late) == "<lazy module slow_to_load>"
    assert slow not in sys.modules
    assert (late.BEFORE, late.AFTER) == (1, 2)
    assert slow in sys.modules


def test_threads_that_ask_at_once_all_see_the_whole_module(slow):
    late, together = lazy_module(slow), Barrier(8)

    def ask(_):
        together.wait()
        return late.AFTER

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [2] * 8


def test_what_is_put_into_the_module_is_what_is_used(slow, monkeypatch):
    late = lazy_module(slow)
    assert late.AFTER == 2
    monkeypatch.setattr(f"{slow}.AFTER", 3)
    assert late.AFTER == 3


def test_what_is_put_through_it_is_put_into_the_module(slow, monkeypatch):
    late = lazy_module(slow)
    with monkeypatch.context() as patched:
        patched.setattr(late, "AFTER", 3)
        assert sys.modules[slow].AFTER == 3
    assert sys.modules[slow].AFTER == 2
    del late.AFTER
    assert not hasattr(sys.modules[slow], "AFTER")


def test_what_is_not_there_is_said_as_by_an_import(slow):
    late = lazy_module(slow)
    with pytest.raises(AttributeError, match="module 'slow_to_load' has no attribute 'nothing'"):
        _ = late.nothing
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        _ = lazy_module("no_such_module").anything


def test_a_module_that_could_not_be_loaded_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    late = lazy_module("comes_later")
    with pytest.raises(ModuleNotFoundError):
        _ = late.VALUE
    (tmp_path / "comes_later.py").write_text("VALUE = 1\n")
    import importlib

    importlib.invalidate_caches()
    assert late.VALUE == 1


def test_commands_say_at_their_top_what_they_load_later():
    code = (
        "import sys; import runner.commands.inspection as graph;"
        "print('runner.report.graph_drawing' in sys.modules, graph.graph_drawing.svg.__name__,"
        " 'runner.report.graph_drawing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False svg True\n"


def test_a_module_that_is_put_off_is_there_for_who_imports_it_and_loads_at_its_first_use(slow):
    with put_off(slow):
        import slow_to_load as early

        with pytest.raises(AttributeError):
            _ = early.__version__
        assert not hasattr(sys.modules[slow], "__file__")
        from slow_to_load import BEFORE

        assert (BEFORE, early.AFTER) == (1, 2)
        assert sys.modules[slow] is not early
    assert sys.modules[slow].AFTER == early.AFTER == 2


def test_what_nobody_used_is_gone_after_it_was_put_off(slow):
    with put_off(slow):
        import slow_to_load as late
    assert slow not in sys.modules
    assert late.AFTER == 2
    loaded = sys.modules[slow]
    with put_off(slow):
        assert sys.modules[slow] is loaded


def test_a_package_that_is_named_starts_when_something_of_it_is_asked_for(tmp_path, monkeypatch):
    package = tmp_path / "heavy_package"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '3'\nALL = 'started'\n")
    (package / "words.py").write_text("WORD = 'word'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    name_package("heavy_package", "words")
    import heavy_package
    from heavy_package.words import WORD

    assert heavy_package.WORD == WORD == "word"
    assert "ALL" not in vars(heavy_package)
    assert heavy_package.__version__ == "3"
    assert heavy_package.ALL == "started"
    with pytest.raises(AttributeError):
        _ = heavy_package.nothing
    with pytest.raises(ImportError, match="no_such_package"):
        name_package("no_such_package")
