"""What a run does about a break before a person is asked: repair, halt, what was red before."""

import sys

from built import copy
from workplace import a_task

RULE = "rules.txt"
READS = "grep -qx apart rules.txt"


def first(test=READS, rule="apart\n"):
    return (
        a_task("TASK-001", "Rule", blocks={RULE: rule}),
        a_task("TASK-002", "API", needs=["TASK-001"], blocks={"api.txt": "api"}, tests=[test]),
    )


def begun(workplace, *more, tasks=None):
    """The first two tasks built, then the whole plan."""
    tasks = tasks or first()
    workplace.plan(*tasks)
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*(task.replace("PENDING", "DONE") for task in tasks), *more)


MENDS = (
    "if grep -q TC-002 \"$RUNNER_BRIEF\"; then printf 'apart\\ntouching\\n' > rules.txt; "
    "else echo touching > rules.txt; fi"
)


def mending():
    return a_task("TASK-003", "Touching", needs=["TASK-001"], outputs=[RULE], command=MENDS)


def test_who_implements_is_told_the_failing_test_and_mends_it(workplace):
    begun(workplace, mending())
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert workplace.read(RULE) == "apart\ntouching\n"
    first_try, second = workplace.happened("attempt.finished", "TASK-003")
    (finding,) = first_try["findings"]
    assert finding["check"] == "regression:TASK-002/TC-002"
    assert finding["message"].startswith("this change breaks TASK-002's TC-002")
    assert "keep the behaviour that TASK-002 relies on" in finding["hint"]
    assert second["ending"] == "passed"
    assert not workplace.happened("task.staled")


def test_it_halts_at_once_where_a_flag_or_a_setting_wants_that(workplace):
    begun(workplace, mending())
    by_flag = copy(workplace.root, workplace.root.with_name("flag"), workplace.home)
    workplace.commit({"runner.toml": 'proof.regression = "halt"\n'})
    for place, words in ((by_flag, ("--regression", "halt")), (workplace, ())):
        ended = place.run("--no-sandbox", *words)
        assert ended.code == 4, words
        assert place.statuses == {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED"}
        assert len(place.happened("attempt.started", "TASK-003")) == 1, words


def test_nothing_new_starts_and_what_runs_lands(workplace):
    breaks = a_task("TASK-003", "Touching", blocks={RULE: "touching\n"})
    slow = a_task(
        "TASK-004",
        "Slow",
        outputs=["slow.txt"],
        command=f"{sys.executable} wait.py && echo slow > slow.txt",
    )
    after = a_task("TASK-005", "After it", needs=["TASK-004"], blocks={"late.txt": "late"})
    begun(workplace, breaks, slow, after)
    held = workplace.root / ".git/refs/runner/held/TASK-003"
    workplace.commit(
        {
            "wait.py": "import pathlib, time\n"
            "end = time.monotonic() + 60\n"
            f"while not pathlib.Path({str(held)!r}).exists() and time.monotonic() < end:\n"
            "    time.sleep(0.02)\n"
            "time.sleep(0.3)\n"
        }
    )
    ended = workplace.run("--no-sandbox", "-j", "2")
    assert ended.code == 4, ended.said
    assert workplace.statuses == {
        "TASK-001": "DONE",
        "TASK-002": "STALE",
        "TASK-003": "BLOCKED",
        "TASK-004": "DONE",
        "TASK-005": "PENDING",
    }
    assert workplace.read("slow.txt") == "slow\n"
    (stale,) = workplace.happened("task.staled")
    (landed,) = workplace.happened("task.landed", "TASK-004")
    assert stale["seq"] < landed["seq"]


def test_a_test_that_was_red_before_the_change_counts_with_strict_alone(workplace):
    begun(workplace, a_task("TASK-003", "Touching", blocks={"more.txt": "x", RULE: "both\n"}))
    workplace.commit({RULE: "something else\n"}, "by hand")
    strict = copy(workplace.root, workplace.root.parent / "strict", workplace.home)
    assert strict.run("--no-sandbox", "--strict").code == 4
    ended = workplace.run("--no-sandbox", "--no-verify-at-end")
    assert ended.code == 0, ended.said
    assert workplace.read(RULE) == "both\n"
    assert not workplace.happened("task.staled")
    (done,) = workplace.happened("task.done", "TASK-003")
    assert [one["verdict"] for one in done["proofs"]] == ["known"]


def test_what_cannot_be_asked_is_said_and_everything_counts(workplace, monkeypatch):
    from runner.impact import answer

    def broken(*_):
        raise RecursionError("too deep")

    begun(workplace, a_task("TASK-003", "Beside", blocks={"beside.txt": "x"}))
    monkeypatch.setattr(answer, "judge", broken)
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert "RecursionError: too deep" in ended.said
    assert [one["gate"] for one in workplace.happened("gate.started", "TASK-003")] == [
        "regression:TASK-002/TC-002"
    ]


def test_tests_that_landed_meanwhile_say_something_about_a_change_without_proof(workplace):
    """Both begin on the same commit; the one that has a test lands first."""
    tested = a_task("TASK-002", "API", blocks={"api.txt": "api"}, tests=[READS])
    slow = a_task("TASK-003", "Touching", outputs=[RULE], command=f"{sys.executable} wait.py")
    workplace.plan(a_task("TASK-001", "Rule", blocks={RULE: "apart\n"}))
    assert workplace.run("--no-sandbox").code == 0
    rule = a_task("TASK-001", "Rule", status="DONE", blocks={RULE: "apart\n"})
    workplace.plan(rule, tested, slow)
    head = workplace.root / ".git/refs/heads/main"
    workplace.write(
        {
            "wait.py": "import pathlib, time\n"
            f"head = pathlib.Path({str(head)!r})\n"
            "first = pathlib.Path('.git/refs/heads/main').read_text()  # what it began on\n"
            "end = time.monotonic() + 60\n"
            "while head.read_text() == first and time.monotonic() < end:\n"
            "    time.sleep(0.02)\n"
            "time.sleep(0.3)\n"
            "pathlib.Path('rules.txt').write_text('touching\\n')\n"
        }
    )
    workplace.commit()
    ended = workplace.run("--no-sandbox", "-j", "2", "--regression", "halt")
    assert ended.code == 4, ended.said
    assert workplace.read(RULE) == "apart\n"
    assert workplace.statuses == {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED"}


def test_what_could_not_be_decided_of_a_change_is_said_and_counts_with_conservative(workplace):
    beside = a_task("TASK-004", "Beside", blocks={"beside.txt": "x"})
    begun(workplace, a_task("TASK-003", "Script", blocks={"tool.sh": "echo hello\n"}), beside)
    careful = copy(workplace.root, workplace.root.parent / "careful", workplace.home)
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    (line,) = (line for line in ended.err.splitlines() if "cannot determine" in line)
    assert line.startswith("TASK-003 ⚠ impact: tool.sh: cannot determine what this may break: ")
    assert line.endswith("--conservative counts that as affected")
    (finding,) = workplace.happened("attempt.finished", "TASK-003")[0]["findings"]
    assert (finding["check"], finding["path"]) == ("impact", "tool.sh")
    # Nobody relies on the other one: it runs no other test.
    assert not workplace.happened("gate.started", "TASK-004")

    ended = careful.run("--no-sandbox", "--conservative", "-j", "1")
    assert ended.code == 0, ended.said
    assert "cannot determine" not in ended.said
    assert [one["gate"] for one in careful.happened("gate.started", "TASK-003")] == [
        "regression:TASK-002/TC-002"
    ]
