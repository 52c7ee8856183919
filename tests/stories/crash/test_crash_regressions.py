"""What a person says to a change that breaks others survives a crash before any effect of it."""

import os

import invariants
import pytest
from crash_house import House
from crash_ways import STOPPED, stop_at

EVERY = int(os.environ.get("CRASH_EVERY", "34"))
"""The suite takes one effect in so many, the last ones too; a campaign sets it to 1."""
DONE = """\
# Bookings

## TASK-001: Rule

- Status: DONE
- Output files: `rules.txt`

```text file=rules.txt
apart
```

## TASK-002: API

- Status: DONE
- Depends on: TASK-001
- Output files: `api.txt`
- Test contracts:
  - TC-002 (unit): `grep -qx apart rules.txt`

```text file=api.txt
api
```

## TASK-003: A check of the rule

- Status: DONE
- Depends on: TASK-001
- Test contracts:
  - TC-003 (unit): `grep -qx apart rules.txt`
"""
LATER = """
## TASK-004: Bookings may touch

- Status: PENDING
- Depends on: TASK-001
- Output files: `rules.txt`, `more.txt`

```text file=rules.txt
touching
```

```text file=more.txt
more
```
"""


class Bookings:
    """Houses in which a change waits: the start of every story here."""

    def __init__(self, folder):
        self.place = folder / "place"
        house = House.built(folder / "begun", DONE.replace("DONE", "PENDING"))
        assert house.run().code == 0
        self.plan(house, DONE + LATER)
        assert house.run().code == 4
        self.held = house
        self.approved = house.copied(folder / "approved")
        text = (house.repo / "TASK-GRAPH.md").read_text()
        text = text.replace("grep -qx apart rules.txt", "test -s rules.txt", 1)
        text = text.replace("grep -qx apart rules.txt", "test -r rules.txt")
        text = text.replace("\napi\n", "\napi, anew\n")
        self.plan(self.approved, text)
        assert self.approved.runner("approve", "--all").code == 0

    @staticmethod
    def plan(house, text):
        (house.repo / "TASK-GRAPH.md").write_text(text)
        house.git("commit", "-qam", "plan")

    def begin(self, start):
        return start.copied(self.place)


@pytest.fixture(scope="module")
def bookings(ground):
    return Bookings(ground / "bookings")


def told(ended, k):
    kind, target = ended.effects[k - 1]
    return f"effect {k}: {kind} {target}"


def sample(count):
    return sorted({*range(1, count + 1, EVERY), *range(max(1, count - 2), count + 1)})


def holds(house, where):
    plan = house.git("show", "HEAD:TASK-GRAPH.md").encode()
    invariants.hold(house.repo, plan, house.home)
    assert house.git("show", "HEAD:rules.txt") in ("apart\n", "touching\n"), where


def statuses(house):
    state = invariants.state_of(house.repo)
    return {id_: str(state.task(id_).status) for id_ in sorted(state.tasks)}


BACK = {"TASK-001": "DONE", "TASK-002": "DONE", "TASK-003": "DONE"}
NO = ("reject", "TASK-004", "--reason", "keep them apart")


def test_a_no_that_is_stopped_anywhere_is_carried_out_once_it_was_heard(bookings):
    house = bookings.begin(bookings.held)
    whole = house.runner(*NO)
    assert whole.code == 0, whole.said
    assert statuses(house) == {**BACK, "TASK-004": "PENDING"}
    evidence = {id_: invariants.state_of(house.repo).task(id_) for id_ in BACK}
    for k in sample(len(whole.effects)):
        house, where = bookings.begin(bookings.held), told(whole, k)
        assert house.runner(*NO, watch=stop_at(k)).code == STOPPED
        holds(house, where)
        heard = any("keep them apart" in line for line in house.journal.open())
        if not heard:
            assert house.runner(*NO).code == 0, where
        ended = house.run()
        assert ended.code == 3, f"{where}\n{ended.said}"  # the same bytes: a person said no
        assert statuses(house) == {**BACK, "TASK-004": "BLOCKED"}, where
        assert house.read("rules.txt") == b"apart\n", where
        assert not house.git("for-each-ref", "refs/runner/held"), where
        assert house.git("for-each-ref", "refs/heads/draft"), where
        for id_, known in evidence.items():
            now = invariants.state_of(house.repo).task(id_)
            assert (now.tree, now.proofs, now.coverage) == (
                known.tree,
                known.proofs,
                known.coverage,
            ), where
        holds(house, where)


def test_an_approval_that_is_stopped_anywhere_is_given_once_more_or_not_at_all(bookings):
    begun = bookings.begin(bookings.approved)
    assert begun.run().code == 0
    tree = begun.tree()
    house = bookings.begin(bookings.held)
    text = bookings.approved.git("show", "HEAD:TASK-GRAPH.md")
    whole = house.runner("approve", "--all")
    for k in sample(len(whole.effects)):
        house, where = bookings.begin(bookings.held), told(whole, k)
        bookings.plan(house, text)
        assert house.runner("approve", "--all", watch=stop_at(k)).code == STOPPED
        holds(house, where)
        assert house.runner("approve", "--all").code == 0, where
        assert house.run().code == 0, where
        assert house.tree() == tree, where


@pytest.mark.nightly(
    sibling="tests/run/test_run_record_commit.py::test_a_crash_before_the_index_is_brought_after_it_is_put_right"
)
@pytest.mark.parametrize("shard", range(3))
def test_a_joint_landing_that_is_stopped_anywhere_lands_once_and_whole(bookings, shard):
    house = bookings.begin(bookings.approved)
    whole = house.run()
    assert whole.code == 0, whole.said
    tree, landed = house.tree(), sorted(one.task for one in house.landings())
    assert landed == ["TASK-001", "TASK-002", "TASK-002", "TASK-004"]
    for k in sample(len(whole.effects))[shard::3]:
        house, where = bookings.begin(bookings.approved), told(whole, k)
        stopped = house.run(watch=stop_at(k))
        if stopped.code == 0:  # what another run has in hand decides how many writes it gathers
            assert len(stopped.effects) < k, where
        else:
            assert stopped.code == STOPPED
        holds(house, where)
        ended = house.run()
        assert ended.code == 0, f"{where}\n{ended.said}"
        assert house.tree() == tree, where
        assert sorted(one.task for one in house.landings()) == landed, where
        assert set(statuses(house).values()) == {"DONE"}, where
        holds(house, where)
        invariants.every_task_is_done(house.repo)
        invariants.every_write_has_one_fate(house.repo)
        invariants.the_repository_is_clean(house.repo)
        invariants.recovering_twice_is_recovering_once(house.run, house.repo)
