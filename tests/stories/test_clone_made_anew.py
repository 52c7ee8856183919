"""A clone that is deleted and made anew at the same path has nothing of the one before."""

import os
import random
import shutil
import subprocess
import time

import pytest
from workplace import Workplace, a_task

from runner.repo.read import Repository

SECONDS = float(os.environ.get("CAMPAIGN_SECONDS", "0"))
SEED = int(os.environ.get("CAMPAIGN_SEED", str(random.SystemRandom().randrange(10**6))))


def an_origin(folder, home, chance):
    place = Workplace.begin(folder, home)
    place.write({f"pkg/{n}.txt": f"{chance.random()}\n" for n in range(chance.randint(1, 5))})
    place.plan(
        a_task(
            "TASK-001",
            outputs=["a.txt", "d/e.txt"],
            command=f"mkdir -p d; echo {chance.random()} > a.txt; echo e > d/e.txt",
            tests=["test -s a.txt"],
        ),
        a_task(
            "TASK-002", needs=["TASK-001"], blocks={"d/b.txt": "b\n"}, tests=["test -s d/e.txt"]
        ),
    )
    return place


def made_anew(root, origin, home):
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(origin.root), str(root)], check=True)
    place = Workplace(root, home)
    place.git("config", "user.name", "Ada")
    place.git("config", "user.email", "ada@example.org")
    return place


def a_round(number, tmp_path, home, chance):
    origin = an_origin(tmp_path / f"origin{number}", home, chance)
    place = made_anew(tmp_path / "shop", origin, home)
    if chance.random() < 0.5:  # the slots are left in the middle of their work
        process = place.start("run", "--trust", "--no-sandbox", "-j", "2")
        time.sleep(chance.uniform(0.2, 1.5))
        process.kill()
        process.communicate()
        place = made_anew(tmp_path / "shop", origin, home)
    ended = place.run("--no-sandbox", "-j", "2")
    assert ended.code == 0, ended.said
    assert set(place.landings) == {"TASK-001", "TASK-002"}
    assert place.git("fsck", "--no-dangling") == ""


def test_it_is_built_as_any_other(tmp_path, alone):
    chance = random.Random(3)
    for number in range(4):
        a_round(number, tmp_path, alone, chance)


@pytest.mark.skipif(not SECONDS, reason="set CAMPAIGN_SECONDS to run a campaign")
def test_campaign_of_clones(tmp_path, alone, record_property):
    ends, chance, number = time.monotonic() + SECONDS / 10, random.Random(SEED), 0
    while time.monotonic() < ends:
        number += 1
        a_round(number, tmp_path, alone, chance)
    record_property("tried", number)


def test_what_is_open_while_it_is_made_anew_reads_the_new_one(tmp_path, alone):
    """In one process, too: what reads objects may have known the packs of the old one."""
    chance = random.Random(5)
    first = an_origin(tmp_path / "first", alone, chance)
    second = an_origin(tmp_path / "second", alone, chance)
    for one in (first, second):
        one.git("gc", "-q")
    place = made_anew(tmp_path / "shop", first, alone)
    with Repository.open(place.root) as repository:
        assert repository.objects().entries(first.head)
        made_anew(place.root, second, alone)
        assert b"TASK-GRAPH.md" in repository.objects().entries(second.head)


def test_an_interrupted_question_is_not_answered_by_the_next_one(workplace):
    workplace.commit({"a.txt": "a\n"})
    blob = workplace.git("rev-parse", "HEAD:a.txt")
    with Repository.open(workplace.root) as repository:
        assert repository.content(blob) == b"a\n"
        reader = repository._objects._helper
        honest = reader._process.stdout

        class Interrupted:
            def __getattr__(self, name):
                return getattr(honest, name)

            def readline(self):
                raise KeyboardInterrupt

        reader._process.stdout = Interrupted()
        with pytest.raises(KeyboardInterrupt):
            repository.content(blob)
        assert b"a.txt" in repository.objects().entries(workplace.head)
        assert repository.content(blob) == b"a\n"
