"""Every path a run takes, on threads and on a cluster: both come to the same.

All stories share one cluster of this machine. `make campaign` tells the other stories on it, too.
"""

import threading
import time

import pytest
from clustered import Lent
from drafter import NAME, Drafter, a_plan, a_script, says
from workplace import FENCE, Workplace, a_task

pytest.importorskip("distributed")


@pytest.fixture
def both(shared_cluster, tmp_path, alone, monkeypatch):
    """Tells a story twice, in repositories of their own, and gives what each came to."""
    from runner.extensions.cluster import local_cluster
    from runner.implementers.registry import IMPLEMENTERS

    monkeypatch.setattr(local_cluster, "LocalCluster", lambda *_: Lent(shared_cluster))
    monkeypatch.setitem(IMPLEMENTERS, NAME, Drafter)
    monkeypatch.setenv("RUNNER_BUILD_BACKOFF", "0")
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    monkeypatch.setenv("RUNNER_BUILD_JOBS", "2")
    jobs = []

    def tell(story):
        from runner.extensions.cluster.cluster import Cluster

        begin = Cluster.begin
        monkeypatch.setattr(
            Cluster, "begin", lambda *given: (jobs.append(given[2]), begin(*given))[1]
        )
        ends = []
        for executor in ("threads", "dask"):
            monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", executor)
            place = Workplace.begin(tmp_path / executor / "shop", alone)
            story(place)
            ends.append(outcome(place))
        assert jobs
        assert ends[0] == ends[1]
        return ends[1]

    return tell


def outcome(place):
    """Files, statuses, what landed, and what each DONE rests on."""
    ours = ("artifacts/", "TASK-GRAPH.md", "FILE_OWNERSHIP_MAP.md")
    tree = place.git("ls-tree", "-r", "HEAD").splitlines()
    return {
        "tree": [line for line in tree if not line.split("\t")[1].startswith(ours)],
        "work": [line for line in place.dirt if not line[3:].startswith(ours)],
        "statuses": place.statuses,
        "landings": sorted(place.landings),
        "proofs": sorted(
            (event["task"], proof["id"], proof["verdict"])
            for event in place.happened("task.done")
            for proof in event["proofs"]
        ),
        "ends": sorted(
            (event["task"], event["attempt"], event["ending"])
            for event in place.happened("attempt.finished")
        ),
    }


def runs(place, *words, code=0):
    ended = place.run(*words)
    assert ended.code == code, ended.said
    return ended


def does(place, *words, code=0):
    ended = place.runner(*words)
    assert ended.code == code, ended.said
    return ended


# --- a proof alone --------------------------------------------------------------------


PYTEST = "python3 -m pytest -q -p no:cacheprovider"
UNITTEST = "python3 -m unittest -q"


def a_module(number, name, code, checks, needs="none", program=UNITTEST):
    """A task with a module, a test of what `checks` says, and a share of lines to be covered."""
    told = f"test_{name}.py" if program == PYTEST else f"test_{name}"
    return (
        f"## TASK-00{number}: {name.title()}\n\n- Depends on: {needs}\n"
        f"- Output files: `{name}.py`, `test_{name}.py`\n"
        f"- Test contracts:\n  - TC-00{number} (unit): `{program} {told}`\n- Coverage: 70%\n\n"
        f"{FENCE}python file={name}.py\n{code}{FENCE}\n\n"
        f"{FENCE}python file=test_{name}.py\nimport unittest\n\n{checks[0]}\n"
        f"class Test(unittest.TestCase):\n    def test_it(self):\n        {checks[1]}\n{FENCE}\n"
    )


def a_wait(journal, task):
    """Python that waits until a task has landed."""
    return (
        "import time\n\nwhile "
        f"not any('task.landed' in line and '{task}' in line for line in open('{journal}')):\n"
        "    time.sleep(0.02)\n"
    )


def a_proof_alone(place):
    journal = place.root.parent.parent / "journal"  # one path, so that both have the same files
    journal.unlink(missing_ok=True)
    journal.symlink_to(place.root / "artifacts/build/journal.jsonl")
    money = "def add(a, b):\n    return a + b\n"
    accounts = (
        "from money import add\n\n\ndef balance(entries):\n    total = 0\n"
        "    for entry in entries:\n        total = add(total, entry)\n    return total\n"
    )
    report = "from money import add\n\n\ndef report(a, b):\n    return f'{add(a, b)} EUR'\n"
    statement = (
        "from accounts import balance\nfrom report import report\n\n\n"
        "def statement(entries):\n    return report(balance(entries), 0)\n"
    )
    checks = {
        "money": ("from money import add\n", "assert add(1, 2) == 3"),
        "accounts": ("from accounts import balance\n", "assert balance([1, 2]) == 3"),
        "report": (
            "from report import report\n" + a_wait(journal, "TASK-002"),
            "assert report(1, 2) == '3 EUR'",
        ),
        "statement": ("from statement import statement\n", "assert statement([1]) == '1 EUR'"),
    }
    place.plan(
        a_module(1, "money", money, checks["money"]),
        a_module(2, "accounts", accounts, checks["accounts"], "TASK-001"),
        a_module(3, "report", report, checks["report"], "TASK-001", PYTEST),
        a_module(4, "statement", statement, checks["statement"], "TASK-002, TASK-003"),
    )
    runs(place)
    assert place.landings[:3] == ["TASK-001", "TASK-002", "TASK-003"]
    (done,) = place.happened("task.done", "TASK-003")
    (own,) = (proof for proof in done["proofs"] if proof["id"] == "TC-003")
    assert own["base"], "its test ran again: nothing stood"


@pytest.mark.nightly(
    sibling="tests/run/test_run_proof_reuse.py::test_contracts_stand_beside_the_tests_or_are_proven_again"
)
def test_a_proof_that_stands_is_joined_to_what_comes_back(both):
    assert set(both(a_proof_alone)["statuses"].values()) == {"DONE"}


# --- a group --------------------------------------------------------------------------


def a_group(place):
    rule = a_task("TASK-001", "Rule", blocks={"rule.txt": "apart\n"})
    reader = a_task(
        "TASK-002",
        "Reader",
        needs=["TASK-001"],
        outputs=["read.txt"],
        command="cp rule.txt read.txt",
        tests=["cmp rule.txt read.txt"],
    )
    change = a_task("TASK-003", "Touch", needs=["TASK-001"], blocks={"rule.txt": "touching\n"})
    place.plan(rule, reader)
    runs(place)
    done = (task.replace("PENDING", "DONE") for task in (rule, reader))
    place.plan(*done, change)
    runs(place, code=4)
    does(place, "approve", "TASK-002")
    runs(place)
    assert place.read("read.txt") == "touching\n"


def test_a_change_and_what_it_breaks_land_together(both):
    assert set(both(a_group)["statuses"].values()) == {"DONE"}


# --- an agent -------------------------------------------------------------------------

PHASED = a_plan("a.txt", "b.txt", phases=(("First", "a.txt"), ("Second", "b.txt")))


def for_the_agent(place, plan, execute, *fields, tests=("test -s b.txt",)):
    place.write({"agent.sh": a_script(says(plan), execute)})
    place.plan(
        a_task(
            "TASK-001",
            "Write files",
            outputs=["a.txt", "b.txt"],
            command="sh agent.sh",
            tests=tests,
            fields=(f"Implementer: {NAME}", "Gates:\n  - made: `test -s a.txt`", *fields),
        )
    )


def phases(place):
    for_the_agent(place, PHASED, "if [ -e a.txt ]; then cp a.txt b.txt; else echo a > a.txt; fi")
    runs(place)
    assert place.read("b.txt") == "a\n"


def test_a_plan_of_phases_is_built_phase_by_phase(both):
    assert both(phases)["statuses"] == {"TASK-001": "DONE"}


# --- a person's hand ------------------------------------------------------------------


def adopted(place):
    bad = "echo bad > a.txt"
    place.plan(
        a_task("TASK-001", outputs=["a.txt"], command=bad, tests=["grep -q good a.txt"]),
        a_task("TASK-002", needs=["TASK-001"], outputs=["b.txt"], command="cp a.txt b.txt"),
    )
    place.run()
    place.git("switch", "-q", "draft/TASK-001-work")
    place.commit({"a.txt": "good\n"})
    place.git("switch", "-q", "main")
    does(place, "adopt", "TASK-001", "--trust")
    runs(place)


def test_a_finished_draft_is_adopted_and_what_waits_goes_on(both):
    assert set(both(adopted)["statuses"].values()) == {"DONE"}


def cancelled(place):
    mark = place.root.parent / "mark"
    place.plan(
        a_task("TASK-001", outputs=["a.txt"], command=f"echo a > a.txt; touch {mark}; sleep 600"),
        a_task("TASK-002", outputs=["b.txt"], command="echo b > b.txt", tests=["test -s b.txt"]),
    )
    said = []

    def cancel():
        end = time.monotonic() + 60
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.05)
        said.append(place.start("cancel", "1").communicate(timeout=120))

    person = threading.Thread(target=cancel)
    person.start()
    runs(place, code=3)
    person.join()
    assert "cancelled by a person" in place.status_line("TASK-001"), said


def test_a_task_is_cancelled_and_the_others_go_on(both):
    assert both(cancelled)["statuses"] == {"TASK-001": "BLOCKED", "TASK-002": "DONE"}


# --- proofs ---------------------------------------------------------------------------


def red_first(place):
    red = "Red first: yes"
    place.plan(
        a_task("TASK-001", blocks={"a.txt": "a\n"}, tests=["test -s a.txt"], fields=[red]),
        a_task("TASK-002", blocks={"b.txt": "b\n"}, tests=["true"], fields=[red]),
    )
    runs(place, code=1)


def test_a_test_that_was_green_before_proves_nothing(both):
    assert both(red_first)["statuses"] == {"TASK-001": "DONE", "TASK-002": "BLOCKED"}
