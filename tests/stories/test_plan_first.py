"""Plan, then execute: nothing is written before a plan that fits is there."""

import sys
from pathlib import Path

import pytest
from commands_terminal import Terminal
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import a_task

from runner.implementers.registry import IMPLEMENTERS


@pytest.fixture
def calls(tmp_path):
    """A file that tells how often the agent was called, and for what."""
    return tmp_path / "calls"


@pytest.fixture
def planned(workplace, calls, monkeypatch):
    """A plan with one task for the agent, whose script is given."""
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")

    def begin(plan, execute, *fields, outputs=("a.txt", "b.txt"), tests=("test -s a.txt",)):
        before = f'echo "$MODE" >> {calls}; cat > {calls}.brief'
        workplace.write({"agent.sh": a_script(plan, execute, before)})
        workplace.plan(
            a_task(
                "TASK-001",
                "Write files",
                outputs=outputs,
                command="sh agent.sh",
                tests=tests,
                fields=(f"Implementer: {NAME}", *fields),
            ),
            a_task("TASK-002", "Beside it", blocks={"c.txt": "c"}),
        )
        return workplace

    return begin


def run(workplace, *words):
    return workplace.run("--no-sandbox", "-j", "1", *words)


def modes(calls):
    return calls.read_text().split() if calls.exists() else []


def test_an_agent_plans_first_and_then_executes_its_plan(planned, calls):
    shop = planned(says(a_plan("a.txt", steps=("Think", "Write `a.txt`"))), "echo a > a.txt")
    ended = run(shop)
    assert ended.code == 0, ended.said
    assert modes(calls) == ["plan", "execute"]
    assert [one["mode"] for one in shop.happened("attempt.started", "TASK-001")] == [
        "plan",
        "build",
    ]
    assert [one["mode"] for one in shop.happened("mode.switched", "TASK-001")] == ["build"]
    started = [line for line in ended.err.splitlines() if line.startswith("TASK-001 started")]
    assert started == [
        f"TASK-001 started ({NAME}, plan only)",
        f"TASK-001 started (attempt 1, {NAME})",
    ]
    assert "Attempt: 1" in shop.git("log", "--format=%B")
    told = shop.happened("plan.proposed", "TASK-001")[0]
    assert told["plan"]["files"] == ["a.txt"]
    kept = shop.read("artifacts/build/plans/TASK-001.md")
    assert kept.startswith("# Plan for TASK-001: Write files\n")
    assert "2. Write `a.txt`" in kept
    assert "2. Write `a.txt`" in calls.with_name("calls.brief").read_text()
    assert shop.dirt == []


def test_an_agent_that_reports_an_obstacle_instead_of_a_plan_is_not_called_again(planned, calls):
    shop = planned(says("I cannot, because b.txt belongs to TASK-002.\n"), "echo a > a.txt")
    ended = run(shop)
    assert ended.code == 1, ended.said
    assert modes(calls) == ["plan"]
    assert "BLOCKED — I cannot, because" in shop.status_line("TASK-001")


def test_in_plan_mode_the_tree_is_asked_whether_anything_was_written(planned, calls):
    shop = planned(f"echo x > a.txt; echo y > c.txt; {says(a_plan('a.txt'))}", "echo a > a.txt")
    ended = run(shop)
    assert ended.code == 3
    assert modes(calls) == ["plan"] * 4
    found = shop.happened("attempt.finished", "TASK-001")[-1]["findings"]
    assert [one["message"] for one in found] == [
        "'a.txt' was written in plan mode, which must not write files",
        "'c.txt' was written in plan mode, which must not write files",
    ]
    assert shop.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    assert shop.branches == ["main"]


def test_the_sandbox_shows_the_tree_read_only_in_plan_mode(planned):
    shop = planned(
        f"echo x > a.txt || echo denied; {says(a_plan('a.txt'))}",
        "echo a > a.txt",
        outputs=["a.txt"],
    )
    shop.write({"agent.sh": shop.read("agent.sh").split("\n", 1)[1]})  # it cannot write outside
    shop.commit()
    ended = shop.run("--only", "TASK-001", "--no-verify-at-end")
    if "without a sandbox" in ended.said:
        pytest.skip("there is no sandbox here")
    assert ended.code == 0, ended.said
    assert "denied" in shop.read("artifacts/build/logs/TASK-001/plan-1/implementer.log")


def test_a_plan_beyond_the_output_files_is_refused_with_the_line_that_would_allow_it(
    planned, calls
):
    shop = planned(says(a_plan("a.txt", "x.txt", "y/z.txt")), "echo a > a.txt")
    ended = run(shop)
    assert ended.code == 3
    assert "- Output files: `a.txt`, `b.txt`, `x.txt`, `y/z.txt`" in ended.said
    assert "- Output files: `a.txt`, `b.txt`, `x.txt`, `y/z.txt`" in (
        calls.with_name("calls.brief").read_text()
    )
    assert modes(calls) == ["plan"] * 4
    assert "4 plans rejected" in shop.status_line("TASK-001")
    assert run(shop).code == 3
    assert len(modes(calls)) == 4, "nobody has said anything new"
    assert shop.runner("approve", "1").code == 0
    assert run(shop).code == 3
    assert len(modes(calls)) == 8, "a person let it try again"
    shop.edit_plan("- Output files: `a.txt`, `b.txt`\n", "- Output files: any\n")
    assert run(shop, "--allow-dirty").code == 0
    assert modes(calls)[8:] == ["plan", "execute"]


def test_execution_is_held_to_the_files_of_the_plan(planned, calls):
    shop = planned(
        says(a_plan("a.txt")),
        '[ "$RUNNER_ATTEMPT" = 1 ] && echo b > b.txt; echo a > a.txt',
    )
    ended = run(shop)
    assert ended.code == 0, ended.said
    assert modes(calls) == ["plan", "execute", "execute"]
    assert "'b.txt' is not in the approved plan of TASK-001" in ended.said
    assert "or make a new plan: runner plan TASK-001 --again" in ended.said


def test_work_that_goes_beyond_its_plan_twice_is_planned_again(planned, calls):
    shop = planned(
        f"if [ $RUNNER_ATTEMPT = 1 ]; then\n{says(a_plan('a.txt'))}"
        f"else\n{says(a_plan('a.txt', 'b.txt'))}fi",
        "echo a > a.txt; echo b > b.txt",
    )
    ended = run(shop)
    assert modes(calls) == ["plan", "execute", "execute", "plan", "execute"], ended.said
    assert (
        "the build wrote files outside the plan twice: b.txt"
        in (shop.happened("plan.reviewed", "TASK-001")[1]["reason"])
    )


def test_whoever_wants_no_plans_gets_none(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    shop.commit({"runner.toml": "build.plan_first = false\n"})
    assert run(shop).code == 0
    assert modes(calls) == ["execute"]


# --- the review of a plan -------------------------------------------------------------


def test_without_a_terminal_a_plan_waits_and_the_others_go_on(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    ended = run(shop, "--plan-review", "prompt")
    assert ended.code == 3
    assert modes(calls) == ["plan"]
    assert shop.statuses == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}
    assert "its plan waits for your review: runner review" in shop.status_line("TASK-001")
    listed = shop.runner("review", "--json").document["waiting"][0]
    assert (listed["kind"], listed["plan"]["files"]) == ("plan", ["a.txt"])
    assert "would write a.txt" in shop.runner("review").out
    assert "1. Write it" in shop.runner("review", "1").out

    # Once it is approved, it is executed without planning again.
    assert run(shop, "--plan-review", "prompt").code == 3, "it still waits"
    assert shop.runner("approve", "TASK-001").out == "TASK-001 approved\nnext: runner\n"
    assert run(shop, "--plan-review", "prompt").code == 0
    assert modes(calls) == ["plan", "execute"]
    assert shop.happened("plan.reviewed")[0]["by"] == "person"


def test_a_reviewing_command_reads_the_plan_and_its_no_is_heard(planned, calls):
    shop = planned(
        f"if [ $RUNNER_ATTEMPT = 1 ]; then\n{says(a_plan('a.txt'))}"
        f"else\n{says(a_plan('a.txt', steps=('Write it', 'Test it')))}fi",
        "echo a > a.txt",
    )
    shop.settle(
        'review.plan = "auto"\nreview.command = "grep -q Test || { echo no tests; exit 1; }"\n'
    )
    assert run(shop).code == 0
    assert modes(calls) == ["plan", "plan", "execute"]
    assert "no tests" in shop.happened("attempt.finished", "TASK-001")[0]["findings"][0]["detail"]
    assert shop.happened("plan.reviewed")[0]["review"] == "auto"


def test_no_plan_is_paid_for_that_nobody_would_read(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    ended = run(shop, "--plan-review", "auto")
    assert (ended.code, modes(calls)) == (3, [])
    assert "set review.command or model.review in your own settings" in ended.said
    shop.runner("approve", "1")
    assert run(shop).code == 0
    assert modes(calls) == ["plan", "execute"]


def test_a_repository_may_ask_for_the_review_of_plans_and_not_forbid_it(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    shop.commit({"runner.toml": 'review.plan = "prompt"\n'})
    assert run(shop).code == 3
    assert run(shop, "--plan-review", "off").code == 0
    assert modes(calls) == ["plan", "execute"]


# --- runner plan ----------------------------------------------------------------------


def test_a_plan_is_made_and_shown_and_the_next_run_builds_it(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    made = shop.runner("plan", "1", "--trust", "--no-sandbox")
    assert (made.code, modes(calls)) == (0, ["plan"]), made.said
    assert made.out.startswith("# Plan for TASK-001\n")
    assert made.err.endswith("--plan-review prompt); the next run builds it: runner run TASK-001\n")
    assert (shop.landings, shop.dirt, shop.has("a.txt")) == ([], [], False)
    shown = shop.runner("plan", "TASK-001", "--json").document
    assert (shown["standing"], shown["plan"]["steps"]) == ("approved", ["Write it"])
    assert run(shop).code == 0
    assert modes(calls) == ["plan", "execute"]
    assert shop.runner("plan", "1").err.startswith("runner: TASK-001 is DONE")


def test_where_no_plan_fits_the_command_says_so(planned):
    shop = planned(says(a_plan("x.txt")), "echo a > a.txt")
    ended = shop.runner("plan", "1", "--trust", "--no-sandbox", "--json")
    assert ended.code == 3
    assert ended.document["standing"] == "none"
    assert "- Output files: `a.txt`, `b.txt`, `x.txt`" in ended.document["findings"][0]["hint"]


def test_what_cannot_be_planned_is_told_why(planned):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt", "Depends on: TASK-002")
    assert shop.runner("plan", "1").err == (
        "runner: TASK-001 waits for TASK-002: a plan made now would not see their work\n"
        "hint: runner run TASK-002\n"
    )
    assert shop.runner("plan", "2").err == (
        "runner: TASK-002 is built by blocks, which makes no plans\n"
        "hint: only agents and models make plans: set - Implementer: …\n"
    )


# --- at a terminal --------------------------------------------------------------------


def test_at_a_terminal_a_person_is_asked_about_the_plan(planned, calls):
    shop = planned(says(a_plan("a.txt")), "echo a > a.txt")
    drafter = str(Path(__file__).with_name("drafter.py"))
    words = (sys.executable, drafter, "run", "1", "--trust", "--no-sandbox", "--review", "off")
    with Terminal(words, columns=100, cwd=shop.root, RUNNER_BUILD_BACKOFF="0") as terminal:
        terminal.until("plan of TASK-001")
        terminal.until("1. Write it")
        terminal.until("[w]ait?")
        assert "new file mode" not in terminal.said
        terminal.send("r")
        heard = terminal.until("why? ")
        terminal.send("first say why\n")
        terminal.until("[w]ait?", after=heard)
        terminal.send("a\n")
        terminal.wait()
    assert terminal.code == 0
    assert modes(calls) == ["plan", "plan", "execute"]
    assert shop.happened("plan.reviewed")[0]["reason"] == "first say why"
