"""`runner run --branch NAME`: another branch is built, made where it is new; nobody's is pushed."""

import pytest
from test_lease import Team, ended, tasks, until
from workplace import a_task

ONE = a_task("TASK-001", outputs=["1.txt"], command="echo 1 > 1.txt", tests=["grep -q 1 1.txt"])


def branch_of(place):
    return place.git("symbolic-ref", "--short", "HEAD").strip()


def test_a_new_branch_begins_at_head_beside_what_is_not_committed(workplace):
    workplace.plan(ONE)
    before = workplace.head
    (workplace.root / "notes.txt").write_text("mine\n")
    ended_ = workplace.runner("run", "--trust", "--branch", "topic/one")
    assert ended_.code == 0, ended_.err
    assert "switched to branch topic/one" in ended_.err
    assert branch_of(workplace) == "topic/one"
    assert workplace.git("rev-parse", "main").strip() == before
    assert workplace.landings == ["TASK-001"]
    assert (workplace.root / "notes.txt").read_text() == "mine\n"
    ended_ = workplace.runner("run", "--branch", "topic/one")
    assert (ended_.code, "switched to" in ended_.err) == (0, False)


def test_what_cannot_be_a_branch_is_told_and_nothing_runs(workplace):
    workplace.plan(ONE)
    for name in ("a..b", "-x", "a b", "@{-1}", "x.lock"):
        ended_ = workplace.runner("run", "--trust", f"--branch={name}")
        assert (ended_.code, "invalid branch name" in ended_.err) == (2, True), ended_.err
        assert workplace.landings == []
    ended_ = workplace.runner("run", "--trust", "--branch=")
    assert ended_.code == 0, "none was named"
    assert branch_of(workplace) == "main"


def test_beside_a_dry_run_and_what_is_in_its_way_it_is_told(workplace):
    workplace.plan(ONE)
    workplace.git("branch", "other")
    workplace.commit({"page.txt": "main\n"})
    workplace.git("checkout", "-q", "other")
    workplace.commit({"page.txt": "other\n"})
    (workplace.root / "page.txt").write_text("mine\n")
    ended_ = workplace.runner("run", "--trust", "--branch", "main")
    assert ended_.code == 6, ended_.err
    assert "git cannot switch to main" in ended_.err
    assert "page.txt" in ended_.err
    assert (workplace.root / "page.txt").read_text() == "mine\n"
    ended_ = workplace.runner("run", "-n", "--branch", "main")
    assert (ended_.code, "work only on the checked-out branch" in ended_.err) == (2, True)


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    return Team(tmp_path)


def test_while_one_clone_builds_main_another_builds_a_branch_of_its_own(team, tmp_path):
    gate = tmp_path / "gate"
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = team.start(first)
    until(lambda: team.said().get("doing") == "TASK-001 of 2", "a renewal says what is done")
    code, said = team.run(second)
    assert code == 6
    assert "runner run --branch NAME" in said
    gate.touch()
    code, said = team.run(second, "run", "--trust", "--yes", "--branch", "mine")
    assert code == 0, said
    assert ended(building)[0] == 0
    assert team.at("mine") == second.head
    assert team.at("main") == first.head
    assert team.at("mine") != team.at("main")


def test_commits_that_the_remote_lacks_are_not_taken_along(team):
    first = team.begin(*tasks())
    first.commit({"mine.txt": "not pushed\n"})
    code, said = team.run(first, "run", "--trust", "--yes", "--branch", "mine")
    assert code == 3, said
    assert "HEAD has commits that are not on origin" in said
    assert (team.at("mine"), branch_of(first)) == ("", "main")
    first.git("push", "-q", "origin", "main")
    first.git("push", "-q", "origin", "main:mine")
    team.git("update-ref", "refs/heads/mine", "main~1")
    code, said = team.run(first, "run", "--trust", "--yes", "--branch", "mine")
    assert code == 6, said
    assert "branch mine exists on origin but not in this clone" in said
    team.hook("pre-receive", "grep -q heads/topic && echo no topics here && exit 1; exit 0")
    code, said = team.run(first, "run", "--trust", "--yes", "--branch", "topic")
    assert code == 6, said
    assert "origin rejected the branch topic" in said
    assert branch_of(first) == "main"
