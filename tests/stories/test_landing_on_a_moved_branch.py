"""Two tasks begin on one commit; the slower one finds the branch moved when it has passed."""

import pytest
from workplace import FENCE

QUICK = "from src import m1\n\nassert m1.NAME\n"
SLOW = """\
import os, time

from src import m2

with open({ran!r}, "a") as file:
    print("ran", file=file)
while "task.landed" not in open({journal!r}).read():
    time.sleep(0.02)
assert m2.NAME
"""


ROW = """from dataclasses import dataclass

NAME = "slow"


@dataclass
class Row:
    name: str
"""
SCHEMA = """{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
"""


def a_task(number, module, test, more=""):
    return (
        f"## TASK-00{number}: module {number}\n\n"
        f"- Output files: `src/m{number}.py`, `tests/test_m{number}.py`, `row{number}.json`\n"
        f"- Test contracts:\n  - TC-00{number} (unit): `python3 -m tests.test_m{number}`\n{more}\n"
        f"{FENCE}python file=src/m{number}.py\n{module}{FENCE}\n\n"
        f"{FENCE}python file=tests/test_m{number}.py\n{test}{FENCE}\n\n"
        f"{FENCE}json file=row{number}.json\n{SCHEMA}{FENCE}\n"
    )


class Race:
    """A quick task and a slow one, whose test ends only when the quick one has landed."""

    def __init__(self, workplace, tmp_path):
        self.place, self.ran, self.seen = workplace, tmp_path / "ran", tmp_path / "seen"
        journal = workplace.root / "artifacts" / "build" / "journal.jsonl"
        self.test = SLOW.format(ran=str(self.ran), journal=str(journal))
        self.module = 'NAME = "slow"\n'
        self.contract = ""

    def run(self, *words):
        settings = f'proof.default_gates = false\n[gates]\nseen = "sh: ls src >> {self.seen}"\n'
        self.place.write({"src/__init__.py": "", "tests/__init__.py": "", "runner.toml": settings})
        quick = a_task(1, 'NAME = "quick"\n', QUICK)
        self.place.plan(quick, a_task(2, self.module, self.test, self.contract))
        self.base = self.place.head
        said = self.place.run("-j", "2", *words)
        assert said.code == 0, said.said
        return said

    @property
    def times(self):
        return len(self.ran.read_text().splitlines())

    def count_proofs(self, name):
        """How often a check of the slow task was proven until it landed."""
        done = self.place.happened("gate.completed", "TASK-002")
        return [one["proof"]["id"] for one in done].count(name)

    @property
    def proofs(self):
        (done,) = self.place.happened("task.done", "TASK-002")
        return {proof["kind"]: proof for proof in done["proofs"]}


@pytest.fixture
def race(workplace, tmp_path, monkeypatch):
    monkeypatch.setenv("RUNNER_SANDBOX_KIND", "none")
    return Race(workplace, tmp_path)


def test_tests_that_ran_nothing_of_what_landed_stand_and_say_on_which_commit(race):
    race.run("--no-verify-at-end")
    assert race.times == 1
    assert race.place.landings == ["TASK-001", "TASK-002"]
    own, gate = race.proofs["test"], race.proofs["gate"]
    assert own["base"] == race.base
    assert own["note"].startswith(f"proven on {race.base[:12]}, landed on ")
    message = race.place.git("log", "-1", "--grep=Task: TASK-002", "--format=%B")
    assert f" on={race.base[:12]}\n" in message
    assert race.proofs["coverage"]["base"] == race.base
    assert "base" not in gate or not gate["base"]
    looks = race.seen.read_text().split("__init__.py\n")[1:]
    assert ["m1.py" in one and "m2.py" in one for one in looks].count(True) == 1, "merged, once"
    # it was proven on a tree much like this one, and not on this one
    assert race.place.runner("verify", "--all").code == 0
    assert race.times == 2
    evidence = race.place.runner("evidence", "TASK-002")
    assert race.base[:12] in evidence.out, evidence.said


def test_tests_that_may_have_run_it_run_again(race):
    race.module = (
        "import contextlib\n\nwith contextlib.suppress(ImportError):\n"
        '    from src import m1\nNAME = "slow"\n'
    )
    race.run("--no-verify-at-end")
    assert race.times == 2
    assert "base" not in race.proofs["test"] or not race.proofs["test"]["base"]


@pytest.mark.parametrize("command", ["", "  - command: `true`\n"])
def test_contracts_stand_where_nothing_that_landed_leads_to_them(race, command):
    race.module = ROW
    race.contract = f"- Contracts:\n  - schema: `row2.json` = `src.m2:Row`\n{command}"
    race.run("--no-verify-at-end")
    assert race.times == 1
    contract = race.proofs["contract"]
    if command:  # which nobody sees through, and they are asked about together
        assert race.count_proofs("contract:schema") == 2
        assert not contract.get("base")
        return
    assert race.count_proofs("contract:schema") == 1
    assert contract["base"] == race.base
    assert contract["note"].startswith(f"proven on {race.base[:12]}, landed on ")
    assert race.proofs["test"]["base"] == race.base
