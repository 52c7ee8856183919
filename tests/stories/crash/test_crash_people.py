"""Between a crash and the next run a person does something: theirs stays theirs."""

import invariants
import pytest
from crash_ways import stop_at


@pytest.fixture
def landed_halfway(small):
    """TASK-001 is on the branch; its file and everything said of it is not written yet."""
    moves = small.moving("refs/heads/main")
    house = small.begin()
    house.run(watch=stop_at(moves[0] + 1))
    assert [one.task for one in house.landings()] == ["TASK-001"]
    assert not (house.repo / "one.txt").exists()
    return house


def test_a_file_that_a_person_put_there_meanwhile_is_kept_and_ours_is_staged(landed_halfway):
    house = landed_halfway
    (house.repo / "one.txt").write_text("a person's\n")
    ended = house.run("--allow-dirty", "TASK-001")
    assert ended.code == 0, ended.said
    assert house.read("one.txt") == b"a person's\n"
    assert house.git("show", "HEAD~1:one.txt") == "one\n"
    assert "kept your own one.txt" in house.read("artifacts/build/CHECKPOINT.md").decode()
    staged = list((house.repo / "artifacts/build/staged/TASK-001").rglob("*"))
    assert b"one\n" in [file.read_bytes() for file in staged if file.is_file()]
    invariants.nothing_staged_is_lost(house.repo)


def test_what_a_person_staged_meanwhile_stays_staged(landed_halfway):
    house = landed_halfway
    assert house.runner("status").code == 0
    (house.repo / "mine.txt").write_text("mine, changed\n")
    house.git("add", "mine.txt")
    ended = house.run("--allow-dirty", "TASK-001")
    assert ended.code == 0, ended.said
    assert house.git("status", "--porcelain") == "M  mine.txt\n"


def test_on_another_branch_nothing_of_a_cut_off_landing_is_finished(small):
    told = small.before_moving("refs/heads/main")
    house = small.begin()
    house.run(watch=stop_at(told[0]))  # the commit is made and told; the branch has not moved
    main = house.git("rev-parse", "main")
    house.git("switch", "-q", "-c", "other")
    ended = house.run()
    assert ended.code == 0, ended.said
    assert house.git("rev-parse", "main") == main
    assert "TASK-001 had not landed" in ended.said
    assert [one.task for one in house.landings()] == ["TASK-002", "TASK-001"]
    invariants.nothing_landed_twice(house.repo)


def test_an_old_text_of_the_plan_that_an_editor_saves_again_undoes_no_work(small):
    # PENDING is what a person writes to have a task run again, so a text without it is looked for
    published = [n for n, (_, path) in enumerate(small.ended.effects, 1) if "TASK-GRAPH" in path]
    for effect in published[5:]:
        house = small.begin()
        house.run(watch=stop_at(effect + 2))
        plan = house.read("TASK-GRAPH.md")
        if b"Status: IN-PROGRESS" in plan and b"Status: PENDING" not in plan:
            break
    else:
        pytest.fail("at no moment was a task in progress and none pending")
    assert house.run().code == 0
    (house.repo / "TASK-GRAPH.md").write_bytes(plan)
    ended = house.run()
    assert ended.code == 0, ended.said
    small.same_end(house, "an old plan was saved again")
    assert invariants.plan_statuses(house.repo)["TASK-001"] == "DONE"


@pytest.mark.parametrize("what", ["refs/heads/main", "index"])
def test_a_lock_that_a_killed_git_left_is_named_and_without_it_the_run_goes_on(small, what):
    house = small.begin()
    house.run(watch=stop_at(small.before_moving(what)[0]))
    file = house.repo / f".git/{what}.lock"
    file.touch()
    ended = house.run()
    assert ended.code == 6, ended.said
    assert (
        f"another git process holds a lock of this repository, so nothing can land ({file})"
        in ended.said
    )
    assert "hint: if no git is running here, remove that file; then run again" in ended.said
    file.unlink()
    small.goes_on(house, f"after {what}.lock")


def test_a_secret_that_a_command_prints_reaches_no_file_through_a_crash(small):
    made = ("sk", "proj", "Ab1" * 16 + "T3Blbk" + "FJ" + "Cd2" * 16)
    secret = "-".join(made)
    house = small.begin()
    plan = house.read("TASK-GRAPH.md").replace(b"echo two", f"echo {secret[:20]}".encode())
    plan = plan.replace(
        b"; printf", f"; printf %s%s '{secret[:20]}' '{secret[20:]}'; printf".encode()
    )
    (house.repo / "TASK-GRAPH.md").write_bytes(plan)
    house.git("commit", "-qam", "a plan whose command prints a key")
    spawns = [n for n, (kind, _) in enumerate(small.ended.effects, 1) if kind == "spawn"]
    for k in (spawns[-1] + 1, spawns[-1] + 4, small.count - 20):
        again = house.copied(small.place.with_name("secret"))
        again.run(watch=stop_at(k))
        invariants.no_secret_was_written(again.repo, again.home, [secret])
        again.run()
        invariants.no_secret_was_written(again.repo, again.home, [secret])
