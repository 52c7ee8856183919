"""What becomes of an agent's attempts that do not pass: again, later, anew, or to a person."""

import json

from scripted_agent import A_CALL, ALONE, OVERLOADED, Script, writes
from workplace import a_task

GOOD = writes({"a.txt": "good\n"})
BAD = writes({"a.txt": "bad\n"}, summary="I would ask for the format first.")


def one_task(workplace, *tests, **fields):
    tests = tests or ("grep -q good a.txt",)
    workplace.plan(a_task("TASK-001", outputs=["a.txt"], tests=tests, **fields))


def test_an_overload_is_waited_out_while_others_go_on(workplace, monkeypatch):
    steps = {"TASK-001": [OVERLOADED, OVERLOADED, GOOD], "TASK-002": [writes({"b.txt": "b"})]}
    script = Script(steps).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0.2")
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "1")
    workplace.plan(
        a_task("TASK-001", outputs=["a.txt"], tests=["grep -q good a.txt"]),
        a_task("TASK-002", outputs=["b.txt"], tests=["test -f b.txt"]),
    )
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert [id_ for id_, _, _ in script.told] == ["TASK-001", "TASK-002", "TASK-001", "TASK-001"]
    assert "TASK-001 is retried in 0." in ended.err
    assert "the provider is overloaded" in ended.err
    assert workplace.landings == ["TASK-002", "TASK-001"]


def test_work_is_repaired_twice_and_then_kept_with_a_report(workplace, monkeypatch):
    script = Script(
        {
            "TASK-001": [
                writes({"a.txt": "bad\n"}),
                writes({"a.txt": "good\n"}),
                writes({"a.txt": "worse\n"}, summary="I would ask for the format.", usage=A_CALL),
            ]
        }
    ).installed(monkeypatch)
    one_task(workplace, "grep -q good a.txt", "grep -q fine a.txt", "test -f a.txt")
    ended = workplace.run()
    assert ended.code == 1, ended.said
    first, second, third = script.attempts()
    assert first[0].previous == ""
    assert "TC-001 " in second[0].text
    assert "TC-0011" in second[0].text
    assert "+bad" in second[0].previous
    assert "+good" in third[0].previous
    branch = workplace.status_line("TASK-001").rpartition("work kept on ")[2]
    assert branch == "draft/TASK-001-work"
    assert workplace.git("show", f"{branch}:a.txt") == "worse"
    report = workplace.read("artifacts/build/reports/TASK-001.md")
    assert f"- Work kept on `{branch}`" in report
    assert "- TC-0012 passes: `test -f a.txt`" in report
    assert "- TC-001 **fails**: `grep -q good a.txt`" in report
    assert "> I would ask for the format." in report
    assert "- Used: 600 tokens, $0.25, 4 tool calls" in report
    assert "runner adopt TASK-001" in report
    assert workplace.dirt == [" M TASK-GRAPH.md", "?? artifacts/"]  # no record: nothing was built
    (workplace.root / "artifacts/build/reports/TASK-001.md").unlink()  # as a crash would
    assert workplace.run().code == 1
    assert "I would ask" not in workplace.read("artifacts/build/reports/TASK-001.md")
    assert len(script.told) == 3


def test_who_repeats_itself_begins_anew_and_is_then_stuck(workplace, monkeypatch):
    script = Script({"TASK-001": [BAD]}).installed(monkeypatch)
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 5, ended.said
    first, second, third = (brief for brief, _ in script.attempts())
    assert "+bad" in second.previous
    assert third.previous == ""
    assert "attempts 1 and 2 produced identical files" in third.text
    assert "attempts 2 and 3 produced identical files" in workplace.status_line("TASK-001")
    assert workplace.happened("task.blocked")[-1]["reason"] == "stuck"
    assert "loop: attempts 1 and 2" in workplace.read("artifacts/build/reports/TASK-001.md")
    assert first.previous == ""


# --- budgets --------------------------------------------------------------------------


def test_a_budget_stops_a_task_until_it_is_raised(workplace, monkeypatch):
    costly = [writes({"a.txt": f"bad {n}\n"}, usage=A_CALL) for n in range(2)]
    script = Script({"TASK-001": [*costly, GOOD]}).installed(monkeypatch)
    one_task(workplace, fields=["Budget: 1000 tokens"])
    ended = workplace.run()
    assert ended.code == 5, ended.said
    assert "used 1,200 of 1,000 tokens" in workplace.status_line("TASK-001")
    assert [context.left.tokens for _, context in script.attempts()] == [1000, 400]
    assert "used: 1,200 tokens, $0.50, 8 tool calls" in ended.out
    assert (workplace.run().code, len(script.told)) == (5, 2)
    workplace.edit_plan("1000 tokens", "5000 tokens")
    ended = workplace.run("--allow-dirty")
    assert ended.code == 0, ended.said
    assert script.attempts()[2][1].left.tokens == 3800


def test_a_person_may_let_a_task_have_its_budget_again(workplace, monkeypatch):
    costly = writes({"a.txt": "bad\n"}, usage=A_CALL)
    Script({"TASK-001": [costly, GOOD]}).installed(monkeypatch)
    one_task(workplace, fields=["Budget: $0.20"])
    assert workplace.run().code == 5
    assert workplace.runner("approve", "TASK-001").code == 0
    assert workplace.run().code == 0


def test_a_run_with_a_budget_of_its_own_starts_nothing_more(workplace, monkeypatch):
    costly = {f"TASK-00{n}": [writes({f"{n}.txt": "x"}, usage=A_CALL)] for n in (1, 2)}
    script = Script(costly).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_RUN_DOLLARS", "0.25")
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "1")
    workplace.plan(*(a_task(f"TASK-00{n}", outputs=[f"{n}.txt"]) for n in (1, 2)))
    ended = workplace.run("--json")
    assert ended.code == 5, ended.said
    assert "the run has used at least 80% of a limit: $0.25 of $0.25" in ended.err
    assert "the run's budget is used up: $0.25 of $0.25" in ended.err
    assert ended.document["usage"]["dollars"] == 0.25
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "PENDING"}
    assert workplace.run().code == 0
    assert len(script.told) == 2


def test_an_attempt_that_takes_too_long_is_ended_from_outside(workplace, monkeypatch):
    def hangs(context):
        (context.place.tree / "a.txt").write_text("half\n")
        assert context.cancelled.wait(20)
        return BAD(context)

    script = Script({"TASK-001": [hangs, GOOD]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_ATTEMPT_MINUTES", "0.005")
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 0, ended.said
    assert ended.err.count("TASK-001 has used 80% of 0.005 minutes") == 1
    assert "the attempt was stopped at its limit of 0.005 minutes" in script.attempts()[1][0].text


def test_a_task_whose_minutes_are_over_is_blocked_with_its_work(workplace, monkeypatch):
    def hangs(context):
        (context.place.tree / "a.txt").write_text("half\n")
        assert context.cancelled.wait(20)
        return OVERLOADED

    Script({"TASK-001": [hangs]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_MINUTES", "0.005")
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 5, ended.said
    assert "the task has used its limit of 0.005 minutes" in workplace.status_line("TASK-001")
    assert workplace.git("show", "draft/TASK-001-work:a.txt") == "half"


def test_a_run_whose_minutes_are_over_ends_what_goes_on_and_may_be_run_again(
    workplace, monkeypatch
):
    def hangs(context):
        assert context.cancelled.wait(20)
        return OVERLOADED

    Script({"TASK-001": [hangs, GOOD]}).installed(monkeypatch)
    monkeypatch.setenv("RUNNER_BUDGET_RUN_MINUTES", "0.01")
    one_task(workplace)
    ended = workplace.run()
    assert ended.code == 5, ended.said
    assert workplace.statuses == {"TASK-001": "PENDING"}
    monkeypatch.delenv("RUNNER_BUDGET_RUN_MINUTES")
    assert workplace.run().code == 0


# --- what it cost ---------------------------------------------------------------------


def test_what_was_used_is_said_wherever_somebody_looks_and_in_the_manifest(workplace, monkeypatch):
    bad = writes({"a.txt": "bad\n"}, usage=A_CALL)
    good = writes({"a.txt": "good\n"}, usage=A_CALL)
    Script({"TASK-001": [bad, good]}).installed(monkeypatch)
    one_task(workplace)
    assert workplace.run().code == 0
    used = "1,200 tokens, $0.50, 8 tool calls"
    assert f"used so far: {used}" in workplace.runner("status").out
    status = workplace.runner("status", "--json").document
    assert status["usage"]["tokens"] == status["tasks"][0]["usage"]["tokens"] == 1200
    assert used in workplace.runner("evidence", "TASK-001").out
    evidence = workplace.runner("evidence", "TASK-001", "--json").document
    assert evidence["evidence"]["usage"]["dollars"] == 0.5
    assert f"Cost: {used}\n" in workplace.read("artifacts/build/CHECKPOINT.md")

    (file,) = (workplace.root / "artifacts/build/runs").glob("*.json")
    said = json.loads(file.read_text())
    assert (said["kind"], said["exit"]) == ("manifest", 0)
    assert said["usage"]["toolCalls"] == 8
    assert said["headAfter"] == workplace.head
    assert said["settings"]["review.mode"] == "off"
    (task,) = said["tasks"]
    assert (task["id"], task["status"]) == ("TASK-001", "DONE")
    assert [one["ending"] for one in task["attempts"]] == ["failed", "passed"]
    assert [one["usage"]["tokens"] for one in task["attempts"]] == [600, 600]
    assert workplace.dirt == []


def test_a_stronger_model_follows_a_failed_proof(workplace, monkeypatch, tmp_path):
    rows = {
        "TASK-001": ((), ["small", "middle", "strong"]),
        "TASK-002": (("Model: middle",), ["middle", "strong", "strong"]),
        "TASK-003": (("Model: `other-1`",), ["other-1"] * 3),
    }
    for name, value in {**ALONE, "IMPLEMENTER": "agent"}.items():
        monkeypatch.setenv(f"RUNNER_{name}", value)
    told = tmp_path / "told"
    told.mkdir()
    program = tmp_path / "my-agent"
    program.write_text(
        f'#!/bin/sh\ntold={told}/$RUNNER_TASK\necho "$RUNNER_MODEL" >> $told\n'
        "wc -l < $told > $RUNNER_TASK.txt\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("RUNNER_AGENT_COMMAND", str(program))
    monkeypatch.setenv("RUNNER_MODEL_ESCALATE", "small middle strong")
    monkeypatch.setenv(
        "RUNNER_BUILD_JOBS", "1"
    )  # so that nothing is proven again on a moved branch
    workplace.plan(
        *(
            a_task(
                id_,
                outputs=[f"{id_}.txt"],
                tests=[f"grep -q 3 {id_}.txt"],
                fields=[*fields, "Implementer: agent"],
            )
            for id_, (fields, _) in rows.items()
        )
    )
    shown = workplace.run(trust=False).err
    assert ["model middle" in shown, "model other-1" in shown, "model small" in shown] == [
        *(True, True, False)
    ], shown
    ended = workplace.run()
    assert ended.code == 0, ended.said
    for id_, (_, used) in rows.items():
        assert (told / id_).read_text().split() == used, id_
        assert f"{id_} started (attempt 3, agent, {used[-1]})" in ended.err
        assert [one["model"] for one in workplace.happened("attempt.started", id_)] == used
