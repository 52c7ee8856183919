"""Which tests are measured for coverage, by what those before them told."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from measured_share import ONE_IN, QUIET

SHOP = "".join(f"def f{n}():\n    return {n}\n" for n in range(5))
RUN = """import json, sys
from types import SimpleNamespace
from coverage import Coverage
from measured_share import MeasuredShare

files, mark = json.loads(sys.argv[1]), sys.argv[2]
coverage = Coverage(data_file=None, include=["*/shop.py"])
coverage.start()
import shop
share = MeasuredShare()
for number, (file, which) in enumerate(files):
    marker = lambda name: name == mark
    with share.of(SimpleNamespace(nodeid=f"{file}::test_{number}", get_closest_marker=marker)):
        getattr(shop, f"f{which}")()
coverage.stop()
data = coverage.get_data()
print(json.dumps([n for n in range(5) if 2 * n + 2 in data.lines(shop.__file__)]))
"""


@pytest.fixture
def told(tmp_path):
    """Runs tests, each `(file, function that it calls)`: the functions that are told."""
    (tmp_path / "shop.py").write_text(SHOP)

    def run(*tests, mark=""):
        done = subprocess.run(
            [sys.executable, "-c", RUN, json.dumps(tests), mark],
            cwd=tmp_path,
            env={"PYTHONPATH": f"{tmp_path}:{Path(__file__).parent}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def silent(file, times):
    return [(file, 0)] * times


def test_each_test_is_measured_that_tells_something_new(told):
    assert told(*[("a", n) for n in range(5)]) == [0, 1, 2, 3, 4]


def test_a_file_that_tells_nothing_new_is_measured_now_and_then(told):
    quiet = [("a", 0), *silent("a", QUIET)]
    assert told(*quiet, ("a", 1)) == [0]
    # The one behind them is measured again; what it tells is new, so the next one is, too.
    asked = [*quiet, *silent("a", ONE_IN - QUIET), ("a", 2), ("a", 3)]
    assert told(*asked) == [0, 2, 3]


def test_files_are_silent_each_for_itself(told):
    assert told(("a", 0), *silent("a", QUIET), ("b", 4), ("a", 3)) == [0, 4]


def test_what_says_itself_that_it_is_not_measured_is_left_to_that(told):
    assert told(("a", 0), *silent("a", QUIET), ("a", 1), mark="no_cover") == [0, 1]
