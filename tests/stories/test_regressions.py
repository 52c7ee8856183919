"""A change that breaks another task: caught before it lands, held, and both ways out."""

import pytest
from workplace import a_task

OVERLAP = "def overlap(a, b):\n    return a[0] < b[1] and b[0] < a[1]\n"
TOUCHING = "def overlap(a, b):\n    return a[0] <= b[1] and b[0] <= a[1]\n"
API = "from rules import overlap\n\n\ndef free(a, b):\n    return not overlap(a, b)\n"
API_TEST = """import unittest

from api import free


class Api(unittest.TestCase):
    def test_free(self):
        self.assertTrue(free((1, 2), (2, 3)))
"""
API_TEST_ANEW = API_TEST.replace("assertTrue", "assertFalse")
RULES_TEST = """import unittest

import rules


class Rules(unittest.TestCase):
    def test_rules(self):
        self.assertTrue(rules.overlap((1, 3), (2, 4)))
"""


def first():
    return (
        a_task("TASK-001", "Overlap rule", blocks={"rules.py": OVERLAP}),
        a_task(
            "TASK-002",
            "API",
            needs=["TASK-001"],
            blocks={"api.py": API, "test_api.py": API_TEST},
            tests=["python3 -m unittest -q test_api"],
        ),
    )


def later():
    return (
        a_task(
            "TASK-003",
            "Touching bookings overlap",
            needs=["TASK-001"],
            blocks={"rules.py": TOUCHING, "test_rules.py": RULES_TEST},
            tests=["python3 -m unittest -q test_rules"],
        ),
        a_task("TASK-004", "Beside it", needs=["TASK-003"], blocks={"b.txt": "b"}),
    )


HALTED = {"TASK-001": "DONE", "TASK-002": "STALE", "TASK-003": "BLOCKED", "TASK-004": "PENDING"}
DRAFT = "draft/TASK-003-touching-bookings-overlap"


@pytest.fixture(params=["", "[gates]\ntests = 'python3 -m unittest -q'\n"], ids=["", "with a gate"])
def halted(workplace, request):
    if request.param:
        workplace.commit({"runner.toml": request.param})
    workplace.plan(*first())
    assert workplace.run("--no-sandbox").code == 0
    workplace.plan(*first(), *later())
    workplace.edit_plan("PENDING", "DONE")
    workplace.edit_plan("PENDING", "DONE")
    ended = workplace.run("--no-sandbox")
    return workplace, ended


def test_a_change_that_breaks_another_task_is_held_until_both_land_in_one_step(halted):
    workplace, ended = halted
    assert ended.code == 4
    assert workplace.statuses == HALTED
    assert "TASK-003 changed rules.py:2; TC-002 fails" in workplace.status_line("TASK-002")
    assert "breaks TASK-002: approve or reject this change" in workplace.status_line("TASK-003")
    assert workplace.read("rules.py") == OVERLAP
    assert "test_rules.py" in workplace.git("ls-tree", "--name-only", DRAFT)
    for way in ("runner approve TASK-002", "runner reject TASK-003"):
        assert way in ended.said

    # A victim that cannot be built on it leaves everything as it was.
    assert workplace.runner("approve", "TASK-002").code == 0
    assert workplace.run("--no-sandbox").code == 4
    assert workplace.read("rules.py") == OVERLAP
    assert workplace.statuses == HALTED
    assert workplace.landings == ["TASK-001", "TASK-002"]
    assert [one for one in workplace.branches if one.startswith("draft/TASK-003")] == [DRAFT]

    # With a test that fits the change, both land in one step.
    before = workplace.head
    workplace.edit_plan(API_TEST, API_TEST_ANEW)
    assert workplace.runner("approve", "TASK-002").code == 0
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.read("rules.py") == TOUCHING
    assert workplace.read("test_api.py") == API_TEST_ANEW
    assert workplace.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-002", "TASK-004"]
    moved = workplace.git("reflog", "show", "main", "--format=%H").splitlines()
    one_step = moved[moved.index(before) - 1]
    assert (
        workplace.git("log", "--format=%(trailers:key=Task,valueonly)", "-1", one_step).strip()
        == "TASK-002"
    )
    assert workplace.dirt == [" M TASK-GRAPH.md"]  # the edit is the person's to commit


def test_a_rejected_change_is_dropped_and_its_victim_is_done_again(halted):
    workplace, _ = halted
    assert workplace.runner("reject", "TASK-003", "--reason", "keep them apart").code == 0
    assert DRAFT in workplace.branches
    workplace.edit_plan(TOUCHING, OVERLAP + "\n\nKEPT = True\n")
    ended = workplace.run("--no-sandbox")
    assert ended.code == 0, ended.said
    assert set(workplace.statuses.values()) == {"DONE"}
    assert workplace.landings == ["TASK-001", "TASK-002", "TASK-003", "TASK-004"]
    assert DRAFT not in workplace.branches, "what nobody touched goes as its task is done"


USED = "def f():\n    return 1\n"
USED_TEST = """import unittest

from u import f


class Used(unittest.TestCase):
    def test_f(self):
        self.assertEqual(f(), 1)
"""
WRITES = "printf 'def f():\\n    return 2\\n' > u.py; printf '{}' > test_b.py"
BROKEN_BY = (
    r"import unittest\nfrom u import f\n\n\nclass B(unittest.TestCase):\n"
    r"    def test_b(self):\n        self.assertEqual(f(), 2)\n"
)


SUITE = {"runner.toml": '[gates]\ntests = "python3 -m unittest -q"\n'}
OLD_TEST = {
    "test_old.py": USED_TEST.replace("from u import f", "import os").replace(
        "self.assertEqual(f(), 1)", "self.assertFalse(os.path.exists('test_b.py'))"
    )
}


@pytest.mark.parametrize(
    ("files", "other", "code"),
    [
        ({}, "", 4),
        pytest.param(SUITE, "", 4, id="its tests fail in a gate, too"),
        pytest.param(SUITE, "sleep 2; echo > c", 4, id="a gate that waits for another task"),
        pytest.param(SUITE | OLD_TEST, "", 1, id="the gate fails in other tests"),
        pytest.param(SUITE | OLD_TEST, "sleep 2; echo > c", 1, id="so does one that waits"),
    ],
)
def test_a_command_that_breaks_another_task_twice_the_same_way_waits_for_a_person(
    workplace, files, other, code
):
    """The rule against loops ends the attempts, and the regression decides what follows."""
    workplace.commit(files)
    workplace.plan(
        a_task(
            "TASK-001",
            "One",
            blocks={"u.py": USED, "test_u.py": USED_TEST},
            tests=["python3 -m unittest -q test_u"],
        ),
        a_task(
            "TASK-002",
            "Two",
            needs=["TASK-001"],
            outputs=("u.py", "test_b.py"),
            command=WRITES.format(BROKEN_BY),
            tests=["python3 -m unittest -q test_b"],
        ),
        *([a_task("TASK-003", needs=["TASK-001"], outputs=("c",), command=other)] if other else []),
    )
    ended = workplace.run("--no-sandbox")
    assert ended.code == code, ended.said
    built = {"TASK-001": "STALE" if code == 4 else "DONE", "TASK-002": "BLOCKED"}
    assert workplace.statuses == built | ({"TASK-003": "DONE"} if other else {})
    if code == 1:
        assert "gate:tests" in workplace.status_line("TASK-002")
        return
    assert "TASK-002 changed u.py:2; TC-001 fails" in workplace.status_line("TASK-001")
    assert "u.py:2: this change breaks TASK-001's TC-001" in ended.said
    assert "test_b.py: this change breaks" not in ended.said
    for way in ("runner approve TASK-001", "runner reject TASK-002"):
        assert way in ended.said


# --- blocks that take each other's work back -----------------------------------------------------

ONE = a_task("TASK-001", "One", blocks={"one.txt": "one\n"}, tests=["grep -qx one one.txt"])
TWO = a_task(
    "TASK-002",
    "Two",
    needs=["TASK-001"],
    blocks={"one.txt": "two\n"},
    tests=["grep -qx two one.txt"],
)


@pytest.fixture
def undone(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    workplace.plan(ONE, TWO)
    ended = workplace.run()
    assert ended.code == 4, ended.said
    return workplace, ended


def test_the_advice_names_the_blocks_to_edit(undone):
    place, ended = undone
    assert "keep it: `runner approve TASK-001`" not in ended.said
    assert "its own blocks write one.txt" in ended.said, ended.said
    for said in (place.runner("approve", "TASK-001"), place.runner("approve", "TASK-002")):
        assert said.code == 3, said.said
        assert "edit the blocks of TASK-001 or of TASK-002" in said.err
    listed = place.runner("review").out
    assert listed.count("edit the blocks") == 2, listed  # below each of the two
    assert "runner approve rebuilds this task" not in listed
    for said in (place.runner("why", "TASK-001"), place.runner("why", "TASK-002")):
        assert "TASK-001 cannot be built on this change: its own blocks write one.txt" in said.out
    told = (ended.said, *(place.runner(*words).out for words in (["why"], ["review"])))
    advised = [line for text in told for line in text.splitlines() if "keeps the change" in line]
    assert advised, told
    assert all("edit the blocks" in line for line in advised), advised
    assert place.run().code != 0
    assert place.landings == ["TASK-001"]


def test_editing_the_blocks_is_the_way_out(undone):
    place, _ = undone
    place.edit_plan("`grep -qx one one.txt`", "`grep -qx two one.txt`")
    place.edit_plan("text file=one.txt\none\n", "text file=one.txt\ntwo\n")
    said = place.runner("approve", "TASK-001")
    assert said.code == 0, said.said
    ended = place.run()
    assert ended.code == 0, ended.said
    assert place.read("one.txt") == "two\n"
    assert place.statuses == {"TASK-001": "DONE", "TASK-002": "DONE"}


# --- tests of other tasks, at once ----------------------------------------------------


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
