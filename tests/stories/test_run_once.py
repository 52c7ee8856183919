"""The same command on the same tree runs once a run, whoever asks, and the evidence says so."""

import pytest
from workplace import a_task


def counting(outside, *, task=""):
    """A command that can be counted from outside, and the count."""
    return f"echo {task}ran >> {outside}", lambda: outside.read_text().count("ran")


@pytest.fixture
def outside(tmp_path_factory):
    return tmp_path_factory.mktemp("outside") / "counted"


def notes(workplace, task):
    (done,) = workplace.happened("task.done", task)
    return [proof.get("note", "") for proof in done["proofs"]]


def in_row(*tests, **each):
    """Tasks one after the other, each with a test contract."""
    return [
        a_task(f"TASK-{n:03d}", tests=[line], needs=[f"TASK-{n - 1:03d}"] if n > 1 else [], **each)
        for n, line in enumerate(tests, 1)
    ]


def test_one_command_runs_once_unless_it_reaches_outside_or_asks_for_its_task(workplace, outside):
    same, count = counting(outside)
    network, network_count = counting(outside.with_name("network"))
    port, port_count = counting(outside.with_name("port"))
    own, own_count = counting(outside.with_name("own"), task="$RUNNER_TASK ")
    rows = [(same, ())] * 3
    rows += [(network, ["Network: yes"])] * 2 + [(port, ["Uses: port 8080"])] * 2
    rows += [(own, ())] * 2
    workplace.plan(
        *(
            a_task(
                f"TASK-{n:03d}", tests=[line], needs=[f"TASK-{n - 1:03d}"][: n - 1], fields=fields
            )
            for n, (line, fields) in enumerate(rows, 1)
        )
    )
    assert workplace.run("--no-sandbox").code == 0
    assert [count(), network_count(), port_count(), own_count()] == [1, 2, 2, 2]
    assert notes(workplace, "TASK-001") == [""]
    assert notes(workplace, "TASK-003") == ["stands from TASK-001's proof"]
    assert "reused from TASK-001's proof" in workplace.runner("evidence", "TASK-002").out
    assert set(workplace.statuses.values()) == {"DONE"}


def test_what_passed_is_not_kept_for_the_next_run(workplace, outside):
    command, count = counting(outside)
    workplace.plan(*in_row(command))
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*in_row(command, command))
    assert workplace.run("--no-sandbox").code == 0
    assert count() == 2


def test_a_gate_stands_from_the_tests_of_the_same_task(workplace, outside):
    command, count = counting(outside)
    fields = [f"Gates:\n  - whole: `sh: {command}`"]
    workplace.plan(a_task("TASK-001", blocks={"a.txt": "a"}, tests=[command], fields=fields))
    assert workplace.run("--no-sandbox", "--no-verify-at-end").code == 0
    assert count() == 2  # on the proposal, and on the base
    assert "stands from TASK-001's proof" in " ".join(notes(workplace, "TASK-001"))


def test_what_passed_beside_another_tests_leftovers_proves_nothing_for_others(workplace):
    workplace.write({".gitignore": "made\n"})
    first = a_task("TASK-001", tests=["touch made", "test -f made"])
    workplace.plan(first, a_task("TASK-002", tests=["test -f made"], needs=["TASK-001"]))
    assert workplace.run("--no-sandbox").code == 1
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "BLOCKED"}


def test_what_was_saved_is_said_at_the_end_and_by_status(workplace):
    workplace.plan(*in_row("true", "true", "true"))
    ended = workplace.run("--no-sandbox")
    assert "proofs: 1 command, " in ended.out
    assert "; 2 cached, " in ended.out
    said = workplace.runner("status", "--costs", "--json").document
    assert said["proofs"]["test"]["commands"] == 1
    assert said["proofs"]["test"]["stood"] == 2
    assert "test" in workplace.runner("status", "--costs").out
