"""`commit-by-task` over landings that wait, stopped before any of its effects: once, or not."""

import os

import invariants
from history_build import THREE, copied
from history_crash import effects_of, stopped_at

EVERY = int(os.environ.get("HISTORY_CRASH_EVERY", "19"))
WORDS = ("commit-by-task",)


def test_it_goes_on_to_one_commit_a_task(workplace, tmp_path):
    workplace.write({"runner.toml": 'git.commit = "manual"\n'})
    workplace.plan(*THREE)
    assert workplace.run().code == 0
    effects = effects_of(copied(workplace, tmp_path / "place"), WORDS)
    for k in range(1, len(effects) + 1, EVERY):
        place = copied(workplace, tmp_path / "place")
        stopped_at(place, WORDS, k)
        where = f"effect {k}: {effects[k - 1]}"
        said = place.runner(*WORDS)
        assert said.code == 0, f"{where}\n{said.said}"
        assert place.landings == ["TASK-001", "TASK-002", "TASK-003"], where
        left = [line for line in place.dirt if not invariants.is_document(line[3:])]
        assert [line for line in left if "artifacts" not in line] == [], where
        refs = place.git("for-each-ref", "--format=%(objectname)", "refs/worktree", "refs/runner")
        assert set(refs.split()) <= {place.head}, where  # nothing waits above it
        again = place.run()
        assert again.code == 0, f"{where}\n{again.said}"
        assert set(place.statuses.values()) == {"DONE"}, where
        assert not place.happened("attempt.started")[3:], where
