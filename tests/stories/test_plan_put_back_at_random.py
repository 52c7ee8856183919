"""Whatever order a person tidies, commits and is interrupted in: what landed is built once.

A model beside the real thing counts for each task how often a person truly asked for it again.
"""

import os
import random
import time

import pytest
from workplace import Workplace, a_task

from runner.run import engine

SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("CAMPAIGN_SEED", str(random.SystemRandom().randrange(10**6))))
COUNT = 3
IDS = [f"TASK-{n:03d}" for n in range(1, COUNT + 1)]
STEPS = 9


class Killed(BaseException):
    """A run that is gone at this moment."""


class Person:
    """Does one thing after the other, and remembers for which tasks it asked again."""

    def __init__(self, place, chance):
        self.place, self.chance = place, chance
        self.asked = dict.fromkeys(IDS, 0)
        self.did = []

    def act(self):
        tidying = (self.stash, self.pop, self.reset, self.checkout, self.rebase)
        on_the_plan = (self.drop_the_record, self.commit, self.ask, self.ask_and_commit)
        running = (self.run, self.run_and_kill, self.run_and_kill)
        does = self.chance.choice((*tidying, *on_the_plan, *running))
        self.did.append(does.__name__)
        does()

    # --- the runner ---

    def run(self):
        ended = self.place.run("-j", "1")
        assert ended.code == 0, (self.did, ended.said)

    def run_and_kill(self):
        left = self.chance.randint(1, 2)
        honest = engine.Engine._end

        def end(itself, task):
            nonlocal left
            honest(itself, task)
            left -= 1
            if not left:
                itself._publish(now=self.chance.random() < 0.7)
                raise Killed

        engine.Engine._end = end
        try:
            self.place.run("-j", "1")
        except Killed:
            pass
        finally:
            engine.Engine._end = honest

    # --- tidying ---

    def stash(self):
        self.place.git("stash")

    def pop(self):
        self.place.git("stash", "pop", check=False)
        self._no_conflict()

    def reset(self):
        self.place.git("reset", "-q", "--hard")

    def checkout(self):
        self.place.git("checkout", "--", "TASK-GRAPH.md")

    def drop_the_record(self):
        if self.place.subjects[-1] == "chore(runner): record":
            self.place.git("reset", "-q", "--hard", "HEAD~1")

    def rebase(self):
        """The whole branch once more, on a commit beside its beginning: every id is another."""
        first = self.place.git("rev-list", "--max-parents=0", "HEAD")
        if self.place.git("status", "--porcelain"):
            return
        made = self.place.git("commit-tree", f"{first}^{{tree}}", "-p", first, "-m", "beside")
        self.place.git("rebase", "-q", "--onto", made, first)

    # --- work on the plan ---

    def commit(self):
        self.place.git("commit", "-q", "--allow-empty", "-am", "as it is")

    def ask(self):
        """A status made PENDING that is DONE in the file and in HEAD."""
        done = [id_ for id_ in IDS if self._is_done(id_)]
        if done:
            id_ = self.chance.choice(done)
            self.asked[id_] += 1
            head, section, rest = self.place.read("TASK-GRAPH.md").partition(f"## {id_}")
            text = head + section + rest.replace("- Status: DONE", "- Status: PENDING", 1)
            self.place.write({"TASK-GRAPH.md": text})

    def ask_and_commit(self):
        self.ask()
        self.commit()

    def _is_done(self, id_):
        texts = (self.place.read("TASK-GRAPH.md"), self.place.git("show", "HEAD:TASK-GRAPH.md"))
        return all("- Status: DONE" in text.split(f"## {id_}")[1][:60] for text in texts)

    def _no_conflict(self):
        if "UU" in self.place.git("status", "--porcelain"):
            self.place.git("checkout", "-q", "HEAD", "--", "TASK-GRAPH.md")


def a_week(root, home, seed):
    place = Workplace.begin(root / f"shop{seed}", home)
    place.plan(
        *(
            a_task(id_, needs=IDS[:n][-1:], blocks={f"f{n}.txt": f"{n}\n"})
            for n, id_ in enumerate(IDS)
        )
    )
    person = Person(place, random.Random(seed))
    for _ in range(STEPS):
        person.act()
    said = f"seed {seed}: {person.did}"
    place.git("reset", "-q", "--hard")
    ended = place.run("-j", "1")
    assert ended.code == 0, (said, ended.said)
    assert place.read("TASK-GRAPH.md").count("- Status: DONE") == COUNT, said
    for id_ in IDS:
        built = [one for one in place.happened("attempt.started", id_) if one["mode"] == "build"]
        assert len(built) <= 1 + person.asked[id_], (said, id_)
        assert place.landings.count(id_) >= 1, (said, id_)
        assert place.landings.count(id_) <= 1 + person.asked[id_], (said, id_)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_landed_task_is_built_again_only_where_a_person_asked(tmp_path, alone, seed):
    a_week(tmp_path, alone, seed)


def test_what_was_built_again_without_a_change_is_not_built_a_third_time(tmp_path, alone):
    """Its commit is under another name since a rebase, and the record of its last word is gone."""
    place = Workplace.begin(tmp_path / "shop", alone)
    place.plan(*(a_task(id_, blocks={f"{id_}.txt": "1\n"}) for id_ in IDS))
    person = Person(place, random.Random(1))
    person.run()
    person.rebase()
    person.chance.choice = lambda _: "TASK-001"
    person.ask_and_commit()
    person.run()
    person.drop_the_record()
    ended = place.run("-j", "1")
    assert ended.code == 0, ended.said
    built = [one for one in place.happened("attempt.started", "TASK-001") if one["mode"] == "build"]
    assert len(built) == 2, ended.said
    assert set(place.statuses.values()) == {"DONE"}


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_of_weeks(tmp_path, alone, record_property):
    ends, seed = time.monotonic() + SECONDS / 10, SEED
    while time.monotonic() < ends:
        seed += 1
        a_week(tmp_path, alone, seed)
    record_property("tried", seed - SEED)
