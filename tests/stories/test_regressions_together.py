"""Tests of other tasks run at once, each in a tree of its own, what fails soonest first."""

import pytest
from workplace import a_task

RULE = "rules.txt"
MEETS = "python meets.py {me} {other}"
MEETING = """\
import os, pathlib, sys, time

me, other = sys.argv[1:]
here = pathlib.Path(os.environ["MEETING"])
if not here.exists():
    time.sleep(0.3)
    sys.exit(0)
mine = "\\n".join([os.getcwd(), os.environ["RUNNER_PORT_BASE"], os.environ["TMPDIR"]])
pathlib.Path("written-beside.txt").write_text(me)
(here / f"{me}.new").write_text(mine)
(here / f"{me}.new").rename(here / me)
end = time.monotonic() + 20
while not (here / other).exists() and time.monotonic() < end:
    time.sleep(0.01)
together = (here / other).exists()
print(me, "met" if together else "missed", other)
sys.exit(0 if together and pathlib.Path("written-beside.txt").read_text() == me else 1)
"""


def reader(number, test, **more):
    return a_task(
        f"TASK-00{number}",
        needs=["TASK-001"],
        blocks={f"r{number}.txt": "x"},
        tests=[test],
        fields=[f"Inputs: `{RULE}`", *more.pop("fields", ())],
        **more,
    )


def changing(text="touching\n", **more):
    return a_task("TASK-009", "Touching", needs=["TASK-001"], blocks={RULE: text}, **more)


def begun(workplace, *readers, last=None):
    rule = a_task("TASK-001", "Rule", blocks={RULE: "apart\n"})
    workplace.plan(rule, *readers)
    assert workplace.run("--no-sandbox").code == 0
    done = (task.replace("PENDING", "DONE") for task in (rule, *readers))
    workplace.plan(*done, last or changing())


@pytest.fixture
def meeting(workplace, tmp_path, monkeypatch):
    """A folder in which two tests wait for each other; no test waits before it is there."""
    place = tmp_path / "meeting"
    monkeypatch.setenv("MEETING", str(place))
    workplace.commit({"meets.py": MEETING, "runner.toml": ""})
    settings = workplace.home / "config" / "runner" / "runner.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('sandbox.pass_env = ["MEETING"]\n')
    return place


def two_that_meet(fields=()):
    return (
        reader(2, MEETS.format(me="two", other="three"), fields=fields),
        reader(3, MEETS.format(me="three", other="two"), fields=fields),
    )


@pytest.mark.own_cluster
def test_two_run_at_once_and_neither_sees_what_the_other_writes(workplace, meeting):
    begun(workplace, *two_that_meet())
    meeting.mkdir()
    ended = workplace.run("--no-sandbox", "--no-verify-at-end", "-j", "2")
    assert ended.code == 0, ended.said
    mine = [(meeting / name).read_text().splitlines() for name in ("two", "three")]
    assert all(one != other for one, other in zip(*mine, strict=True))
    (done,) = workplace.happened("task.done", "TASK-009")
    assert sorted((one["id"], one["verdict"]) for one in done["proofs"]) == [
        ("regression:TASK-002/TC-002", "pass"),
        ("regression:TASK-003/TC-003", "pass"),
    ]
    assert not workplace.has("written-beside.txt")


@pytest.mark.own_cluster
@pytest.mark.parametrize("why", ["one job", "a port that both use"])
def test_they_run_one_after_the_other_where_only_one_may(workplace, meeting, why):
    begun(workplace, *two_that_meet(["Uses: port 5432"] if "port" in why else []))
    meeting.mkdir()
    (meeting / "two").write_text("was here")
    (meeting / "three").write_text("was here")
    jobs = "1" if why == "one job" else "2"
    ended = workplace.run("--no-sandbox", "--no-verify-at-end", "-j", jobs)
    assert ended.code == 0, ended.said
    mine = [(meeting / name).read_text().splitlines() for name in ("two", "three")]
    assert mine[0] == mine[1]  # the same tree, port and folder


def order(workplace):
    """The tasks whose tests ran in the last attempt, in that order; what failed ran twice."""
    last = workplace.happened("attempt.started", "TASK-009")[-1]["seq"]
    started = workplace.happened("gate.started", "TASK-009")
    return [one["gate"].removeprefix("regression:")[:8] for one in started if one["seq"] > last]


def test_what_failed_for_another_change_and_what_is_quick_comes_first(workplace):
    slow, quick, breaks = "sleep 0.3", "true", f"sleep 0.1; grep -qx apart {RULE}"
    begun(workplace, reader(2, slow), reader(3, breaks), reader(4, quick))
    assert workplace.run("--no-sandbox", "-j", "1").code == 4
    assert order(workplace) == ["TASK-004", "TASK-003", "TASK-002"]
    assert workplace.runner("reject", "TASK-009", "--reason", "no").code == 0
    workplace.edit_plan("\ntouching\n", "\nelsewhere\n")
    workplace.edit_plan("sleep 0.1; grep", "sleep 0.4; grep")  # only how it is proven
    assert workplace.run("--no-sandbox", "-j", "1", "TASK-003").code == 0
    assert workplace.run("--no-sandbox", "-j", "1").code == 4
    assert order(workplace)[-2:] == ["TASK-003", "TASK-002"]


def test_an_attempt_that_others_follow_stops_at_so_many_failures(workplace):
    readers = [
        a_task(f"TASK-0{n}", needs=["TASK-001"], tests=[f"grep -qx apart {RULE}"])
        for n in range(20, 34)
    ]
    mends = (
        'if grep -q TC-02 "$RUNNER_BRIEF"; then echo broken > rules.txt; date +%N >> rules.txt; '
        "else echo touching > rules.txt; fi"
    )
    last = a_task(
        "TASK-009",
        needs=["TASK-001"],
        outputs=[RULE],
        command=mends,
        fields=["Budget: 2 attempts"],
    )
    begun(workplace, *readers, last=last)
    assert workplace.run("--no-sandbox", "-j", "1").code == 4
    first, second = workplace.happened("attempt.finished", "TASK-009")
    failed = [one for one in first["findings"] if one["check"].startswith("regression:")]
    (left,) = (one for one in first["findings"] if one["check"] == "regression")
    assert (len(failed), left["message"]) == (
        10,
        "10 proofs of other tasks failed; 4 more were not run",
    )
    assert len(second["findings"]) == 14  # now a person decides: every victim is known
    assert len(workplace.happened("task.staled")) == 14


def test_a_test_of_another_task_gets_its_own_secret_and_not_the_changes(workplace, monkeypatch):
    for name in ("SHOP_KEY", "OTHER_KEY"):
        monkeypatch.setenv(name, "said by the person")
    with_key = reader(
        2,
        'test -n "$SHOP_KEY" -a -z "$OTHER_KEY" && grep -qx apart rules.txt',
        fields=["Requires: secret SHOP_KEY"],
    )
    begun(workplace, with_key, last=changing(fields=["Requires: secret OTHER_KEY"]))
    assert workplace.run("--no-sandbox").code == 4
    assert workplace.statuses["TASK-002"] == "STALE"
