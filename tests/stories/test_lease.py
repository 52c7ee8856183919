"""Two clones, one remote: one builds, by a lease in the remote that only compare-and-swap moves.

Real bare repositories, real processes, a ttl of seconds.
"""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from clone_team import LEASE, Team, ended, tasks, until

FALLBACK = "refs/heads/runner-lease/main"


@pytest.fixture
def team(tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    return Team(tmp_path)


@pytest.fixture
def gate(tmp_path):
    return tmp_path / "gate"


# --- one builds -----------------------------------------------------------------------


def test_of_two_clones_at_once_one_builds_and_the_other_says_who(team, gate):
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = team.start(first)
    until(lambda: team.said().get("doing") == "TASK-001 of 2", "a renewal says what is done")
    code, said = team.run(second)
    assert code == 6, said
    assert "main is being built by first@" in said
    assert ", TASK-001 of 2 (origin refs/runner/lease/main)" in said
    assert second.landings == []
    gate.touch()
    assert ended(building)[0] == 0
    assert team.landings == ["TASK-001", "TASK-002"]
    assert team.at("main") == first.head
    assert not team.at(LEASE)
    second.git("pull", "-q", "--ff-only")
    code, said = team.run(second)
    assert code == 0, said
    assert "2 tasks: 2 DONE; 0 commits" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_a_run_gives_the_lease_back(team, gate, number):
    first = team.begin(*tasks(gate=gate))
    building = team.start(first)
    until(lambda: team.at(LEASE), "a lease")
    until(Path(f"{gate}.met").exists, "an attempt")
    building.send_signal(number)
    assert ended(building)[0] == 130
    assert not team.at(LEASE)


def tasks_that_wait(gate):
    """Two tasks, of which the second waits for a file."""
    one, two = tasks()
    wait = f"touch {gate}.met; while ! test -e {gate}; do sleep 0.05; done; echo 2"
    return one, two.replace("echo 2", wait)


def test_a_killed_run_goes_on_elsewhere_after_a_ttl_and_here_once_pulled(team, gate):
    first = team.begin(*tasks_that_wait(gate))
    second, third = team.clone("second"), team.clone("third")
    building = team.start(first, seconds=3)
    until(Path(f"{gate}.met").exists, "an attempt at the second task")
    until(lambda: "Status: DONE" in first.read("TASK-GRAPH.md"), "a status in the plan")
    team.kill(building)
    gate.touch()
    value = team.at(LEASE)
    for each in (second, third):
        each.git("pull", "-q", "--ff-only")
    assert team.run(second, seconds=3)[0] == 6
    assert team.at(LEASE) == value
    time.sleep(3.1)
    assert team.run(third, seconds=3)[0] == 6  # it has seen that value for no time at all
    code, said = team.run(second, seconds=3)
    assert code == 0, said
    assert "lease.moved" in team.run(second, "log")[1]
    plan = first.root / "TASK-GRAPH.md"
    written = plan.read_text()
    plan.write_text(f"{written}\nA line of mine.\n")
    pull = "git pull --rebase origin main"
    code, said = team.run(first, seconds=3)
    assert (code, f"hint: {pull}, then run again" in said) == (6, True), said
    assert plan.read_text() == f"{written}\nA line of mine.\n"
    plan.write_text(written)
    assert team.run(first, seconds=3)[0] == 6
    first.git(*pull.split()[1:])
    code, said = team.run(first, seconds=3)
    assert code == 0, said
    assert first.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}
    assert team.landings == ["TASK-001", "TASK-002"]


def test_the_clone_that_was_killed_waits_for_no_ttl(team, gate):
    first = team.begin(*tasks(gate=gate))
    building = team.start(first, seconds=300)
    until(lambda: team.at(LEASE), "a lease")
    team.kill(building)
    gate.touch()
    code, said = team.run(first, seconds=300)
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]


def test_a_holder_that_sleeps_for_three_ttl_lands_nothing_once_another_has_it(team, gate):
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = team.start(first, seconds=1)
    until(Path(f"{gate}.met").exists, "an attempt")
    building.send_signal(signal.SIGSTOP)
    assert team.run(second, seconds=1)[0] == 6
    time.sleep(3)
    gate.touch()
    assert team.run(second, seconds=1)[0] == 0
    built = team.at("main")
    building.send_signal(signal.SIGCONT)
    code, said = ended(building)
    assert code == 6, said
    assert "nothing more lands here; proven work is saved" in said
    assert team.at("main") == built
    assert team.landings == ["TASK-001", "TASK-002"]
    assert first.landings == []


def test_a_holder_that_sleeps_and_finds_its_own_value_goes_on(team, gate):
    first = team.begin(*tasks(gate=gate))
    building = team.start(first, seconds=1)
    until(Path(f"{gate}.met").exists, "an attempt")
    building.send_signal(signal.SIGSTOP)
    time.sleep(3)
    building.send_signal(signal.SIGCONT)
    gate.touch()
    assert ended(building)[0] == 0
    assert team.landings == ["TASK-001", "TASK-002"]


# --- taken ----------------------------------------------------------------------------


def test_a_run_whose_lease_was_taken_stops_and_keeps_its_work(team, gate):
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = team.start(first, seconds=300)
    until(Path(f"{gate}.met").exists, "an attempt")
    code, said = team.run(second, "lease", "--take", "--reason", "it sleeps\x1b[31m")
    assert (code, "taken from first@" in said) == (0, True), said
    assert team.said()["reason"].startswith("it sleeps")
    assert "it sleeps" in team.run(second, "log")[1]
    gate.touch()
    code, said = ended(building)
    assert code == 6, said
    assert "main is being built by second@" in said
    assert "(it sleeps\\x1b[31m)" in said
    assert "\x1b" not in said
    assert team.landings == first.landings == []
    shown = team.run(first, "list", "--json")[1]
    assert {one["id"]: one["status"] for one in json.loads(shown)["tasks"]} == {
        "TASK-001": "BLOCKED",
        "TASK-002": "PENDING",
    }
    assert first.git("for-each-ref", "refs/runner/held")
    code, said = team.run(second, seconds=300)  # the taken lease is its own: no waiting
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]


def test_a_lease_that_was_taken_needs_one_run_and_says_what_to_pull_before_it(team):
    first = team.begin(*tasks())
    second = team.clone("second")
    assert team.run(second, "lease", "--take", "--reason", "mine")[0] == 0
    assert team.run(second)[0] == 0
    assert len(team.landings) == 2
    code, said = team.run(first, "lease", "--take", "--reason", "mine")
    assert code == 0, said
    pull = "git pull --rebase origin main"
    assert f"origin has commits of main that are not here; {pull}, then run again" in said
    first.git(*pull.split()[1:])
    assert team.run(first)[0] == 0


def test_what_was_kept_lands_later_without_being_made_again(team, gate, tmp_path):
    made = tmp_path / "made"
    (one,) = tasks(gate=gate, count=1)
    first = team.begin(one.replace("echo 1", f"echo x >> {made}; echo 1"))
    second = team.clone("second")
    building = team.start(first, seconds=300)
    until(Path(f"{gate}.met").exists, "an attempt")
    assert team.run(second, "lease", "--take", "--reason", "why", seconds=300)[0] == 0
    gate.touch()
    assert ended(building)[0] == 6
    assert team.run(first, "lease", "--take", "--reason", "mine again")[0] == 0
    code, said = team.run(first)
    assert code == 0, said
    assert team.landings == ["TASK-001"]
    assert made.read_text() == "x\n"


def test_the_command_says_what_it_needs_and_gives_an_agent_no_lease(team):
    first = team.begin(*tasks())
    take = ("lease", "--take")
    for words, code, said, more in (
        (take, 2, "--take needs --reason", {}),
        (("lease", "--reason", "x"), 2, "--reason works only with --take", {}),
        (("lease",), 0, "no run is building main of origin", {}),
        ((*take, "--reason", "x"), 3, "", {"CLAUDECODE": "1"}),
    ):
        found = team.run(first, *words, **more)
        assert (found[0], said in found[1]) == (code, True), found
    assert not team.at(LEASE)


# --- what a remote is like ------------------------------------------------------------


def test_where_the_name_is_refused_the_lease_is_a_branch(team, gate):
    team.git("config", "receive.hideRefs", "refs/runner")
    first = team.begin(*tasks(gate=gate))
    second = team.clone("second")
    building = team.start(first)
    until(lambda: team.at(FALLBACK), "a lease on a branch")
    assert "[skip ci]" in team.git("log", "-1", "--format=%s", FALLBACK)
    code, said = team.run(second)
    assert code == 6
    assert "(origin refs/heads/runner-lease/main)" in said
    gate.touch()
    assert ended(building)[0] == 0
    assert team.landings == ["TASK-001", "TASK-002"]
    assert not team.at(FALLBACK)


def test_without_atomic_pushes_nothing_begins(team):
    team.git("config", "receive.advertiseAtomic", "false")
    first = team.begin(*tasks())
    code, said = team.run(first)
    assert code == 2
    assert "rejected the lease of main" in said
    assert "does not support --atomic push" in said
    assert first.landings == []
    code, said = team.run(first, "doctor", "--remote")
    assert code == 3
    assert "the remote does not support leases" in said


PROTECTED = 'case "$1" in refs/heads/main) echo protected >&2; exit 1;; esac'
EACH = "while read o n ref; do set -- $ref; " + PROTECTED + " done"


def test_a_protected_branch_is_told_before_anything_runs(team):
    first = team.begin(*tasks())
    tip = team.at("main")
    for hook, text in (("pre-receive", EACH), ("update", PROTECTED)):
        shutil.rmtree(team.bare / "hooks")
        team.hook(hook, text)
        code, said = team.run(first)
        assert code == 2, said
        assert "origin does not accept pushes to main: " in said
        assert "declined" in said
        assert "runner run --branch NAME" in said
        assert not team.at(LEASE)
    code, said = team.run(first, "doctor", "--remote")
    assert code == 3
    assert "main rejects pushes: " in said
    assert team.at("main") == tip
    code, said = team.run(first, "run", "--trust", "--yes", "--branch", "mine")
    assert code == 0, said
    assert team.at("mine") == first.head


def test_a_remote_that_declines_names_is_no_protected_branch(team):
    first = team.begin(*tasks())
    team.hook("pre-receive", "while read o n r; do case $r in */probe-*) exit 1;; esac; done")
    code, said = team.run(first, "doctor", "--remote")
    assert code == 3, "its leases are probed by such names, too"
    code, said = team.run(first)
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]


def test_a_branch_that_is_protected_meanwhile_keeps_the_work_and_stops_the_run(team, gate):
    first = team.begin(*tasks(gate=gate))
    building = team.start(first)
    until(Path(f"{gate}.met").exists, "an attempt")
    team.hook("update", PROTECTED)
    hooks = team.bare / "hooks" / "update"
    gate.touch()
    code, said = ended(building)
    assert code == 6
    assert "origin rejected the push to main" in said
    assert "protected" in said
    assert first.landings == []
    assert first.git("for-each-ref", "refs/runner/held")
    assert not team.at(LEASE)
    hooks.unlink()
    assert team.run(first)[0] == 0
    assert team.landings == ["TASK-001", "TASK-002"]


def test_a_remote_that_is_away_at_the_start_is_exit_2(team):
    first = team.begin(*tasks())
    team.bare.rename(team.folder / "elsewhere.git")
    code, said = team.run(first)
    assert code == 2
    assert "origin does not answer" in said
    assert first.landings == []


@pytest.mark.parametrize("back", [True, False], ids=["comes-back", "stays-away"])
def test_a_remote_that_vanishes_in_the_middle_is_waited_for(team, gate, back):
    first = team.begin(*tasks(gate=gate))
    building = team.start(first, seconds=3)
    until(Path(f"{gate}.met").exists, "an attempt")
    away = team.folder / "elsewhere.git"
    team.bare.rename(away)
    gate.touch()
    if back:
        time.sleep(1)
        away.rename(team.bare)
        code, said = ended(building)
        assert code == 0, said
    else:
        code, said = ended(building)
        assert code == 6
        assert "it is unknown whether the last landing arrived there" in said
        assert first.landings == []
        away.rename(team.bare)
        code, said = team.run(first)
        assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]
    assert first.head == team.at("main")


def test_another_persons_push_is_never_overwritten_and_the_hint_to_pull_works(team, gate):
    first = team.begin(*tasks_that_wait(gate))
    second = team.clone("second")
    building = team.start(first)
    until(Path(f"{gate}.met").exists, "an attempt at the second task")
    second.git("pull", "-q", "--ff-only")
    theirs = second.commit({"theirs.txt": "theirs"})
    second.git("push", "-q", "origin", "main")
    gate.touch()
    pull = "git pull --rebase origin main"
    code, said = ended(building)
    assert (code, f"{pull}, then run again" in said) == (6, True), said
    assert "somebody pushed to main of origin during" in said
    assert team.at("main") == theirs
    assert team.run(first)[0] == 6
    first.git(*pull.split()[1:])
    code, said = team.run(first)
    assert code == 0, said
    assert team.landings == ["TASK-001", "TASK-002"]
    assert team.git("merge-base", "main", theirs) == theirs
    assert first.dirt == []
    assert all(f"`{name}.txt`" in first.read("FILE_OWNERSHIP_MAP.md") for name in (1, 2))


def test_a_persons_own_commit_is_not_pushed_unasked(team, gate):
    first = team.begin(*tasks(gate=gate))
    first.commit({"mine.txt": "mine"})
    code, said = team.run(first)
    assert code == 3
    assert "main has commits that origin does not have" in said
    first.git("push", "-q", "origin", "main")
    building = team.start(first)
    until(Path(f"{gate}.met").exists, "an attempt")
    pushed = team.at("main")
    first.commit({"more.txt": "more"})
    gate.touch()
    code, said = ended(building)
    assert code == 6
    assert "have diverged" in said
    assert team.at("main") == pushed


FOREIGN = [
    "no lease at all",
    "x\n\n" + "[" * 4000,
    "x\n\n" + json.dumps({"holder": "\x1b]0;pwned\x07" * 9, "host": "\u202eevil", "since": "9"}),
    "x\n\n" + json.dumps({"holder": ["a"], "seconds": 1e300, "beat": -1, "token": {}}),
    "x\n\n" + json.dumps({"holder": "a" * 100_000}),
    "x\n\n" + json.dumps({"since": "2999-01-01T00:00:00Z", "renewed": "2999-01-01T00:00:00Z"}),
]


def test_what_a_lease_says_is_foreign_text(team):
    first = team.begin(*tasks())
    second = team.clone("second")
    blob = first.git("hash-object", "-w", "TASK-GRAPH.md")
    first.git("push", "-q", "origin", f"{blob}:{LEASE}")
    code, said = team.run(first)
    assert (code, "main is being built by somebody@some host" in said) == (6, True), said
    tree = second.git("hash-object", "-t", "tree", "-w", os.devnull)
    file = Path(team.folder / "message")
    for message in FOREIGN:
        file.write_text(message)
        value = second.git("commit-tree", "-F", str(file), tree)
        second.git("push", "-q", "--force", "origin", f"{value}:{LEASE}")
        code, said = team.run(first, "lease")
        assert (code, "main of origin is being built by " in said) == (0, True), (message, said)
        if message in FOREIGN[2::3]:
            code, refused = team.run(first, seconds=300)
            assert (code, "main is being built by " in refused) == (6, True), (message, refused)
            said += refused
        assert len(said) < 6000
        assert not {"\x1b", "\x07", "\u202e"} & set(said)
    time.sleep(1.1)
    code, said = team.run(first, seconds=1)
    assert code == 0, said


def test_without_a_branch_or_with_manual_commits_nothing_begins(team):
    first = team.begin(*tasks())
    code, said = team.run(first, RUNNER_GIT_COMMIT="manual")
    assert code == 2
    assert 'publish needs git.commit = "task"' in said
    first.git("checkout", "-q", "--detach")
    code, said = team.run(first)
    assert code == 2
    assert "publish needs a branch" in said


def test_a_repository_may_not_have_its_landings_pushed(team):
    first = team.begin(*tasks())
    first.commit({"runner.toml": 'git.publish = "origin"\n'})
    before = team.at("main")
    code, said = team.run(first, RUNNER_GIT_PUBLISH="none")
    assert code == 0, said
    assert "publish is ignored" in said
    assert team.at("main") == before


def test_a_change_asked_for_is_published_under_the_lease_too(team):
    first = team.begin(*tasks())
    assert team.run(first)[0] == 0
    code, said = team.run(first, "change", "TASK-002", "in words", "--yes")
    assert code == 0, said
    assert team.at("main") == first.head
    assert not team.at(LEASE)
