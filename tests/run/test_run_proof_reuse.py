"""A branch that moved: whose own tests need not run again, on real commits and what was seen."""

from __future__ import annotations

import subprocess

import pytest
from msgspec.structs import replace
from run_build import a_ledger, a_task

from runner.config.settings import Settings
from runner.contracts.entries import name_checks
from runner.model import (
    Action,
    Change,
    Contract,
    Ending,
    Level,
    Observed,
    Outcome,
    Proof,
    TestContract,
    Verdict,
    digest_of,
)
from runner.repo.read import Repository
from runner.run.regressions.proof_reuse import ProofReuse, join_outcomes
from runner.run.regressions.trace import Tracer
from runner.run.worker_assignment import Assignment

BEFORE = {
    "src/__init__.py": "",
    "src/shared.py": "def one():\n    return 1\n\n\ndef two():\n    return 2\n",
    "src/other.py": "X = 1\n",
    "data/rows.json": "[]\n",
    "notes.md": "notes\n",
}
MINE = {
    "src/mine.py": "from src.shared import one\n\n\ndef mine():\n    return one()\n",
    "tests/test_mine.py": "from src.mine import mine\n\n\ndef test_it():\n    assert mine() == 1\n",
}
COMMAND = "python -m pytest -q tests/test_mine.py"


class Place:
    """A repository with one task's proven proposal, that is not on the branch yet."""

    def __init__(self, root):
        self.root = root / "repository"
        self.root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.mine = dict(MINE)
        self.task = a_task(
            "TASK-001", outputs=tuple(MINE), test_contracts=(contract("TC-001", COMMAND),)
        )
        self.theirs = a_task(
            "TASK-002",
            outputs=("src/theirs.py", "tests/test_theirs.py", "lib/*"),
            test_contracts=(contract("TC-002", "python -m pytest -q tests/test_theirs.py"),),
        )
        self.lines = {"src/shared.py": "1-2,5", "src/mine.py": "1-5", "tests/test_mine.py": "1-5"}
        self.verdict = Verdict.PASS
        self.said = ()
        self.base = self.commit(BEFORE)

    def git(self, *words):
        done = subprocess.run(["git", *words], cwd=self.root, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, files):
        for path, text in files.items():
            file = self.root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True) if text is None else file.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "more")
        return self.git("rev-parse", "HEAD")

    @property
    def outcome(self):
        files = {**BEFORE, **self.mine}
        rows = [
            Observed("TC-001", "", path, digest_of(files[path].encode()), lines)
            for path, lines in self.lines.items()
        ]
        changes = [
            Change(path, Action.CREATE, 0o100644, None, digest_of(text.encode()), text.encode())
            for path, text in self.mine.items()
        ]
        return Outcome(
            *("TASK-001", 1, Ending.PASSED, self.base, "tree"),
            changes=tuple(changes),
            proofs=(a_proof("TC-001", self.verdict), *self.said),
            observed=tuple(rows),
        )

    def why_not(self, files):
        """Why the tests would run again, once these files are committed by somebody."""
        return self.ask("why_not_standing", files)

    def why_not_contracts(self, files):
        """Why its contracts would."""
        return self.ask("why_not_contracts", files)

    def ask(self, question, files):
        head = self.commit(files)
        with Repository.open(self.root) as repository:
            tasks = {task.id: task for task in (self.task, self.theirs)}
            tracer = Tracer(
                repository, self.root / "cache", tasks, a_ledger(), Settings(), lambda: None
            )
            return getattr(tracer, question)(self.task, self.outcome, head)


def contract(id_, command):
    return TestContract(id_, Level.UNIT, command)


def a_proof(id_, verdict=Verdict.PASS, kind="test", **more):
    return Proof(id_, kind, "x", verdict, 0, 1.0, digest_of(b""), **more)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"src/theirs.py": "Y = 1\n", "tests/test_theirs.py": "def test_y():\n    pass\n"},
        {"lib/rows.json": "{}\n"},
        {"src/other.py": "X = 2\n"},
        {"TASK-GRAPH.md": "# Plan\n"},
    ],
    ids=["files of another task", "its data", "a module", "the plan"],
)
def test_tests_stand_where_nothing_that_they_ran_has_changed(place, files):
    if "src/other.py" in files:
        place.theirs = replace(place.theirs, outputs=("src/other.py",))
    assert place.why_not(files) == ""


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"src/shared.py": "def one():\n    return 7\n"}, "TC-001 ran src/shared.py"),
        ({"src/shared.py": None}, "TC-001 ran src/shared.py"),
        ({"conftest.py": "X = 1\n"}, "configures every test"),
        ({"tests/conftest.py": "X = 1\n"}, "configures every test"),
        ({"pyproject.toml": "[tool.x]\n"}, "configures every test"),
        ({"requirements.txt": "six\n"}, "configures every test"),
        ({"tests/test_mine.py": "X = 1\n"}, "TC-001 ran tests/test_mine.py"),
        ({"some.csv": "1\n"}, "neither the plan nor any code names some.csv"),
        ({"tool.rb": "1\n"}, "imports of its language"),
    ],
)
def test_tests_run_again_where_it_may_be_otherwise(place, files, said):
    assert said in place.why_not(files)


def test_tests_run_again_where_a_module_comes_that_they_would_have_imported(place):
    text = "try:\n    from src import theirs\nexcept ImportError:\n    theirs = None\n"
    place.mine["src/mine.py"] = text + MINE["src/mine.py"]
    assert "src/theirs.py" in place.why_not({"src/theirs.py": "Y = 1\n"})


def test_tests_run_again_where_a_file_changes_that_they_read_by_name(place):
    place.mine["tests/test_mine.py"] += "\n\ndef test_rows():\n    open('lib/rows.json')\n"
    assert "lib/rows.json" in place.why_not({"lib/rows.json": "[1]\n"})


@pytest.mark.parametrize("command", ["python -m pytest -q", "python -m pytest -q tests", "./check"])
def test_tests_run_again_where_the_command_may_find_others(place, command):
    place.task = replace(place.task, test_contracts=(contract("TC-001", command),))
    assert place.why_not({"src/theirs.py": "Y = 1\n", "tests/test_theirs.py": "X = 1\n"})


def test_tests_run_again_where_an_input_of_the_task_changes(place):
    place.task = replace(place.task, inputs=("lib/**",))
    assert "Inputs of TASK-001" in place.why_not({"lib/a.json": "1\n"})


def test_tests_run_again_where_something_imports_by_names_made_at_run_time(place):
    place.mine["src/mine.py"] += "\n\ndef load(name):\n    return __import__(name)\n"
    assert place.why_not({"src/theirs.py": "Y = 1\n"})


def test_tests_run_again_where_nobody_saw_them_or_they_did_not_plainly_pass(place):
    place.lines = {}
    assert place.why_not({"lib/a.json": "1\n"}) == "it is unknown what TC-001 runs"
    place.lines, place.verdict = {"src/mine.py": "1"}, Verdict.FLAKY
    assert place.why_not({"lib/b.json": "1\n"}) == "TC-001 did not fully pass"
    place.task = replace(place.task, outputs=("any",))
    assert place.why_not({"lib/c.json": "1\n"}) == "no proof can be reused"


# --- contracts --------------------------------------------------------------------------


SCHEMA = Contract("schema", "data/row.schema.json = src.mine:Row", 1)
APP = Contract("openapi", "data/api.json app=src.mine:app", 1)


def with_contracts(place, *contracts):
    place.task = replace(place.task, contracts=contracts)
    names = [name for name, _ in name_checks(place.task)]
    place.said = tuple(a_proof(name, kind="contract") for name in names)
    place.mine["data/row.schema.json"] = place.mine["data/api.json"] = "{}\n"
    return place


@pytest.mark.parametrize("contract", [SCHEMA, APP])
def test_contracts_stand_where_nothing_leads_to_what_they_are_about(place, contract):
    with_contracts(place, contract)
    files = {"src/theirs.py": "Y = 1\n", "tests/test_theirs.py": "def test_y():\n    pass\n"}
    assert place.why_not_contracts(files) == ""
    assert place.why_not_contracts({"src/other.py": "X = 2\n"}) == ""


@pytest.mark.parametrize("contract", [SCHEMA, APP])
@pytest.mark.parametrize("path", ["src/mine.py", "src/shared.py", "src/__init__.py"])
def test_contracts_run_again_where_code_behind_them_has_changed(place, contract, path):
    with_contracts(place, contract)
    assert path in place.why_not_contracts({path: "def one():\n    return 7\n"})


def test_contracts_run_again_where_a_document_has_changed(place):
    with_contracts(place, SCHEMA)
    assert "data/row.schema.json" in place.why_not_contracts({"data/row.schema.json": "[]\n"})


def test_contracts_run_again_where_another_instance_comes(place):
    with_contracts(place, Contract("schema", "data/row.schema.json = data/*.json", 1))
    assert "data/more.json" in place.why_not_contracts({"data/more.json": "{}\n"})


@pytest.mark.parametrize(
    "contract",
    [
        Contract("command", "sh check.sh", 1),
        Contract("openapi", "data/api.json url=http://127.0.0.1:8001 start='sh serve.sh'", 1),
        Contract("openapi", "data/api.json app=elsewhere.mine:app", 1),
        Contract("schema", "data/row.schema.json = elsewhere.mine:Row", 1),
    ],
    ids=["a command", "a command that serves", "no such module", "no such module of a type"],
)
def test_contracts_run_again_where_nobody_can_see_what_they_run(place, contract):
    with_contracts(place, contract)
    assert "it is unknown what contract:" in place.why_not_contracts({"lib/a.json": "1\n"})


def test_contracts_run_again_where_they_did_not_plainly_pass(place):
    with_contracts(place, SCHEMA, APP)
    place.said = place.said[:1]
    said = "contract:openapi did not fully pass"
    assert place.why_not_contracts({"lib/a.json": "1\n"}) == said


# --- what comes of it -------------------------------------------------------------------


def test_what_stands_says_on_which_commit_it_ran_through_several_rounds():
    first = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"),))
    gate = a_proof("gate:lint", kind="gate")
    second = join_outcomes(first, Outcome("T", 1, Ending.PASSED, "b" * 40, "y", proofs=(gate,)))
    third = join_outcomes(second, Outcome("T", 1, Ending.PASSED, "c" * 40, "z", proofs=(gate,)))
    own, lint = third.proofs
    assert (own.id, own.base, lint) == ("TC-001", "a" * 40, gate)
    assert own.note == f"proven on {'a' * 12}, landed on {'c' * 12}: nothing it ran has changed"
    assert (third.base, third.tree) == ("c" * 40, "z")


@pytest.mark.parametrize("why", ["", "it was touched"])
def test_contracts_stand_beside_the_tests_or_are_proven_again(why):
    proofs = a_proof("TC-001"), a_proof("contract:schema", kind="contract")
    first = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=proofs)
    standing = ProofReuse(lambda *_: "", lambda *_: why)
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    assignment = Assignment(task="the task", attempt=1, base="b" * 40, **fields)
    spared = standing.spare_tests(assignment, first)
    assert (spared.stands, spared.contracts_stand) == (True, not why)
    again = a_proof("contract:schema", kind="contract")
    said = Outcome("T", 1, Ending.PASSED, "b" * 40, "y", proofs=(again,) if why else ())
    own, contract = standing.join(said).proofs
    assert own.base == "a" * 40
    assert contract.base == ("" if why else "a" * 40)


def test_contracts_are_proven_again_with_the_tests():
    asked = []
    standing = ProofReuse(lambda *_: "it was touched", lambda *_: asked.append(1) or "")
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    assignment = Assignment(task="the task", attempt=1, base="b" * 40, **fields)
    outcome = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"),))
    assert standing.spare_tests(assignment, outcome) is assignment
    assert asked == []


def test_where_the_tests_did_run_again_that_counts():
    first = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"),))
    again = replace(first, base="b" * 40)
    assert join_outcomes(first, again) is again


def test_visible_tests_stand_beside_held_out_ones_that_ran_again():
    held = replace(a_proof("TC-002"), held_out=(("tests/test_mine.py", digest_of(b"")),))
    first = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"), held))
    again = Outcome("T", 1, Ending.PASSED, "b" * 40, "y", proofs=(held,))
    own, held_out = join_outcomes(first, again).proofs
    assert (own.id, own.base, held_out) == ("TC-001", "a" * 40, held)


def test_an_attempt_that_was_ended_keeps_nothing():
    first = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"),))
    asked = []
    standing = ProofReuse(lambda task, _outcome, head: asked.append((task, head)) or "")
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    assignment = Assignment(task="the task", attempt=1, base="b" * 40, **fields)
    assert standing.spare_tests(assignment, first).stands
    assert asked == [("the task", "b" * 40)]
    ended = Outcome("T", 1, Ending.INTERRUPTED, "b" * 40, "")
    assert standing.join(ended) is ended
    passed = replace(first, base="b" * 40, proofs=())
    assert standing.join(passed) is passed


def test_a_task_whose_tests_may_have_changed_is_proven_whole():
    standing = ProofReuse(lambda *_: "it was touched")
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    assignment = Assignment(task="the task", attempt=1, base="b" * 40, **fields)
    outcome = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", proofs=(a_proof("TC-001"),))
    assert standing.spare_tests(assignment, outcome) is assignment
    assert standing.join(outcome) is outcome


def test_an_attempt_lasts_as_long_as_all_its_rounds():
    """What a task is expected to take next time is the whole of it, not its last short round."""
    standing = ProofReuse(lambda *_: "it was touched")
    fields = dict.fromkeys(("brief", "rules", "implementer", "review"))
    assignment = Assignment(task="the task", attempt=1, base="b" * 40, **fields)
    outcome = Outcome("T", 1, Ending.PASSED, "a" * 40, "x", seconds=20.0)
    for _ in range(2):
        standing.spare_tests(assignment, outcome)
        outcome = standing.join(replace(outcome, seconds=0.5))
    assert outcome.seconds == 21.0
    assert standing.join(outcome) is outcome, "it is counted once"
