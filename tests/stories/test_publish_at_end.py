"""`publish_at = "end"`: a build stays here until all of it is done, and goes out by one push."""

import signal
import stat
from pathlib import Path

import pytest
from clone_team import LEASE, Team, ended, tasks, until
from workplace import a_task

APART = "unpublished/main"
END = {"RUNNER_GIT_PUBLISH_AT": "end"}


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    return Team(tmp_path)


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


def branch_of(clone):
    return clone.git("symbolic-ref", "--short", "HEAD")


def run(team, clone, *words, **more):
    return team.run(clone, *words, **END, **more)


def start(team, clone, **more):
    return team.start(clone, **END, **more)


def pushes(team):
    """How often the remote's main was moved, by its own log of it."""
    return len(team.git("reflog", "show", "main").splitlines())


def push(clone, files, branch="main"):
    commit = clone.commit(files)
    clone.git("push", "-q", "origin", branch)
    return commit


def test_all_of_it_is_published_by_one_push_and_the_persons_branch_follows(team, gate):
    team.git("config", "core.logAllRefUpdates", "always")
    first = team.begin(*tasks(gate=gate))
    second, before = team.clone("second"), team.at("main")
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    assert team.at(LEASE)
    assert branch_of(first) == APART
    assert run(team, second)[0] == 6
    code, said = run(team, first, "lease")  # shown by the branch that it is of
    assert code == 0, said
    assert "main" in said
    assert APART not in said
    gate.touch()
    code, said = ended(building)
    assert code == 0, said
    assert "on branch unpublished/main; main is updated once everything is published" in said
    assert f"published: main of origin is at {first.head[:12]}" in said
    assert team.landings == ["TASK-001", "TASK-002"]
    assert branch_of(first) == "main"
    assert first.head == team.at("main")
    assert pushes(team) == 2  # the person's first one, and this
    assert team.git("merge-base", "main", before) == before
    assert not first.git("for-each-ref", "refs/heads/unpublished")
    assert not first.git("status", "--porcelain")
    assert not team.at(LEASE)
    code, said = run(team, first)
    assert (code, "DONE; nothing to do" in said) == (0, True), said
    assert branch_of(first) == "main"


def test_what_moved_meanwhile_is_merged_and_proven_with_it_before_the_push(team, gate):
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    theirs = push(second, {"theirs.txt": "theirs"})
    gate.touch()
    code, said = ended(building)
    assert code == 0, said
    assert f"origin has new commits, merged up to {theirs[:12]}; everything is re-tested" in said
    assert team.git("merge-base", "main", theirs) == theirs
    assert team.landings == ["TASK-001", "TASK-002"]
    assert first.head == team.at("main")
    assert (first.root / "theirs.txt").read_text() == "theirs"
    whole = first.happened("tree.verified")[-1]
    assert whole["passed"]
    assert team.git("merge-base", whole["head"], theirs) == theirs


def test_what_fails_together_with_what_moved_is_not_published(team, gate):
    both = a_task(
        "TASK-001",
        outputs=["one.txt"],
        command=f"touch {gate}.met; while ! test -e {gate}; do sleep 0.05; done; echo 1 > one.txt",
        tests=["test -e one.txt && ! test -e theirs.txt"],
    )
    first = team.begin(both)
    second = team.clone("second")
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    theirs = push(second, {"theirs.txt": "theirs"})
    gate.touch()
    code, said = ended(building)
    assert code == 4, said
    assert "nothing was published: finished work stays on unpublished/main" in said
    assert team.at("main") == theirs
    assert branch_of(first) == APART
    second.git("rm", "-q", "theirs.txt")
    push(second, {"else.txt": "else"})
    code, said = run(team, first, "run", "--trust", "--yes", "--rebuild", CI="true")
    assert code == 0, said
    assert "TASK-001" in team.landings
    assert branch_of(first) == "main"


def test_a_build_that_is_not_whole_stays_here_and_goes_on_later(team):
    good, bad = tasks()
    file = team.folder / "let"
    first = team.begin(good, bad.replace("echo 2", f"test -e {file} && echo 2"))
    before, own = team.at("main"), first.head
    code, said = run(team, first, RUNNER_BUILD_ATTEMPTS="1")
    assert code != 0, said
    assert "nothing was published: finished work stays on unpublished/main" in said
    assert team.at("main") == before
    assert first.git("rev-parse", "main") == own
    assert first.landings == ["TASK-001"]
    file.touch()
    code, said = run(team, first, "run", "--trust", "--yes", "TASK-002")
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]
    assert branch_of(first) == "main"


def test_lines_that_both_changed_are_a_persons_to_merge(team, gate):
    first = team.begin(*tasks(gate=gate, count=1))
    second = team.clone("second")
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    theirs = push(second, {"1.txt": "theirs"})
    gate.touch()
    code, said = ended(building)
    assert code == 6, said
    assert "conflict with what was built here: 1.txt" in said
    assert team.at("main") == theirs
    code, said = run(team, first)
    assert code == 6, said
    assert "conflict with" in said
    first.git("pull", "-q", "--no-rebase", "-X", "ours", "origin", "main")
    code, said = run(team, first)
    assert code == 0, said
    assert team.git("merge-base", "main", theirs) == theirs
    assert (branch_of(first), first.head) == ("main", team.at("main"))


def test_a_plan_that_others_changed_meanwhile_is_built_before_it_is_published(team, gate):
    first = team.begin(*tasks(gate=gate, count=1))
    second = team.clone("second")
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    plan = second.root / "TASK-GRAPH.md"
    more = a_task(
        "TASK-009", outputs=["9.txt"], command="echo 9 > 9.txt", tests=["grep -q 9 9.txt"]
    )
    push(second, {"TASK-GRAPH.md": plan.read_text() + "\n" + more})
    gate.touch()
    code, said = ended(building)
    assert code == 6, said
    assert team.landings == []
    code, said = run(team, first)
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-009"]


def test_commits_of_a_person_are_not_pushed_along_unasked(team):
    first = team.begin(*tasks())
    first.commit({"mine.txt": "mine"})
    before = team.at("main")
    code, said = run(team, first)
    assert code == 3, said
    assert "main has commits that origin does not have: publishing would push them as well" in said
    assert (branch_of(first), team.at("main")) == ("main", before)
    first.git("push", "-q", "origin", "main")

    # A saved plan is refused, and without `publish` the setting says nothing.
    file = team.folder / "saved"
    assert run(team, first, "run", "--plan-out", str(file), "--trust")[0] == 0
    code, said = run(team, first, "run", "--apply", str(file), "--trust", "--yes")
    assert code == 2, said
    assert 'a saved plan cannot run with git.publish_at = "end"' in said
    code, said = run(team, first, RUNNER_GIT_PUBLISH="none")
    assert code == 0, said
    assert branch_of(first) == "main"
    assert team.landings == []


def test_a_persons_branch_with_commits_of_its_own_is_left_to_them(team, gate):
    first = team.begin(*tasks(gate=gate))
    building = start(team, first)
    until(Path(f"{gate}.met").exists, "an attempt")
    tree = first.git("rev-parse", "HEAD^{tree}")
    own = first.git("commit-tree", "-p", "main", "-m", "own", tree)
    first.git("update-ref", "refs/heads/main", own)
    gate.touch()
    code, said = ended(building)
    assert code == 0, said
    assert "note: main here has unpublished commits" in said
    assert team.landings == ["TASK-001", "TASK-002"]
    assert (branch_of(first), first.git("rev-parse", "main")) == (APART, own)


def test_killed_at_any_push_it_is_published_once_by_the_next_run(team, gate):
    first = team.begin(*tasks(count=1))
    mark = team.folder / "pushed"
    hook = team.bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nwhile read o n r; do test $r = refs/heads/main && "
        f"touch {mark} && sleep 2; done\nexit 0\n"
    )
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    building = start(team, first, seconds=300)
    until(mark.exists, "the push")
    building.send_signal(signal.SIGKILL)
    ended(building)
    assert branch_of(first) == APART
    published = team.at("main")
    assert published == first.head
    code, said = run(team, first, seconds=300)
    assert code == 0, said
    assert team.landings == ["TASK-001"]
    assert (branch_of(first), first.head) == ("main", team.at("main"))


def test_one_that_lost_the_lease_publishes_nothing(team, gate):
    first = team.begin(*tasks(gate=gate))
    second, before = team.clone("second"), team.at("main")
    building = start(team, first, seconds=300)
    until(Path(f"{gate}.met").exists, "an attempt")
    assert team.run(second, "lease", "--take", "--reason", "why", seconds=300)[0] == 0
    gate.touch()
    code, said = ended(building)
    assert code == 6, said
    assert team.at("main") == before
    assert branch_of(first) == APART
