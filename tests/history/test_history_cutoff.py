"""A run in which an early cut-off happens, stopped before some of its effects."""

import pytest
from cutoff_build import COMMENTED, FILES, PROVEN, changed, modes, tasks
from history_build import copied
from history_crash import effects_of, stopped_at

WORDS = ("run", "--trust", "--no-sandbox", "--no-verify-at-end")


@pytest.fixture
def approved(workplace):
    workplace.write(FILES)
    workplace.plan(*tasks())
    assert workplace.run("--no-sandbox").code == 0
    changed(workplace, COMMENTED)
    return workplace


@pytest.mark.nightly(
    sibling="tests/run/test_run_early_cutoff.py::test_a_release_is_kept_until_it_is_done"
)
def test_stopped_anywhere_it_goes_on_and_nobody_implements_what_is_only_proven(approved, tmp_path):
    count, since = len(approved.events), len(approved.events)
    many = len(effects_of(copied(approved, tmp_path / "whole"), WORDS))
    for share in (0.35, 0.5, 0.6, 0.7, 0.8):
        # By another path: what was laid out in the cache for the last one would be spared.
        place = copied(approved, tmp_path / f"stopped at {share}")
        assert len(place.events) == count
        assert stopped_at(place, WORDS, int(many * share)), share
        ended = place.run("--no-sandbox")
        assert ended.code == 0, ended.said
        assert set(place.statuses.values()) == {"DONE"}
        assert {one for one in modes(place, since) if one[1] == "build"} == {PROVEN[0]}
