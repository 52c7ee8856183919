"""What a DONE is worth, by the proofs that were recorded for it."""

import pytest
from msgspec.structs import replace

from runner import model
from runner.journal.evidence import parse_proofs
from runner.journal.grading import grade_one
from runner.journal.records import dump
from runner.journal.task_state import TaskState
from runner.model import Grade, Graded, Proof, ProvenBy, Verdict, digest_of, grade_of
from runner.model.codec import Codec
from runner.model.grades import NOTHING, STATIC_ALONE, proof_kind, weakest, would_show
from runner.repo.trailers import proof_line


def a_proof(id_="TC-001", kind="test", command="python -m pytest -q", **others):
    known = {"verdict": Verdict.PASS, "exit": 0, "seconds": 0.4, "output": digest_of(b"")}
    return Proof(id_, kind, command, **{**known, **others})


def a_gate(name, command="./check.sh", **others):
    return a_proof(f"gate:{name}", "gate", command, **others)


def test_counted_tests_prove_by_tests():
    graded = grade_of([a_proof(counts=(("passed", 3),))])
    assert graded == Graded(Grade.PROVEN, ProvenBy.TESTS)
    assert graded.words == "proven by tests"
    assert graded.note == ""


def test_an_exit_code_alone_proves_by_command():
    assert grade_of([a_proof(command="./check.sh")]).by is ProvenBy.COMMAND


def test_tests_that_were_all_skipped_prove_nothing():
    assert grade_of([a_proof(counts=(("skipped", 3),))]) == Graded(Grade.UNPROVEN, None, NOTHING)


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.KNOWN, Verdict.SKIPPED])
def test_what_did_not_pass_proves_nothing(verdict):
    assert not grade_of([a_proof(counts=(("passed", 3),), verdict=verdict)]).is_proven


def test_a_test_of_another_task_proves_nothing_of_this_one():
    other = a_proof("regression:TASK-001/TC-001", "regression", counts=(("passed", 3),))
    assert grade_of([other]).words == "unproven: nothing proves it"


def test_coverage_alone_is_no_proof():
    assert not grade_of([a_proof("coverage", "coverage", "")]).is_proven


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("lint", "./lint.sh"),
        ("types", "x"),
        ("build", "make"),
        ("lint:css", "x"),
        ("check", "ruff check ."),
        ("check", "python -m mypy --strict src && .venv/bin/ruff check src"),
        ("check", "MYPY_CACHE=x npx --no-install tsc --noEmit"),
        ("check", "go vet ./..."),
        ("check", "cargo build --release"),
        ("check", "npm run --silent lint:fix"),
        ("check", "make -s lint"),
        ("check", "true"),
    ],
)
def test_lint_types_and_builds_are_static(name, command):
    gate = a_gate(name, command)
    assert proof_kind(gate) is ProvenBy.STATIC
    assert grade_of([gate]) == Graded(Grade.UNPROVEN, ProvenBy.STATIC, STATIC_ALONE)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("check", "./check.sh"),
        ("tests", "npm test"),
        ("check", "ruff check . && ./check.sh"),
        ("check", "npm run --silent test:build"),
        ("smoke", "truecrypt --selftest"),
    ],
)
def test_other_gates_are_commands(name, command):
    assert proof_kind(a_gate(name, command)) is ProvenBy.COMMAND


@pytest.mark.parametrize(
    "command",
    ["python3 -m py_compile m.py", "cd a && npx tsc --noEmit", "go vet ./...", "node --check a.js"],
)
def test_a_test_contract_that_only_lints_or_compiles_is_static(command):
    contract = a_proof(command=command)
    assert grade_of([contract]) == Graded(Grade.UNPROVEN, ProvenBy.STATIC, STATIC_ALONE)
    assert would_show("test", "TC-001", command) is ProvenBy.STATIC
    assert grade_of([a_proof(command=command, counts=(("passed", 1),))]).by is ProvenBy.TESTS


@pytest.mark.parametrize(
    "command", ["true", "cd a && true", "test -e m.py", "ruff check . || ./check.sh", "x; go vet ."]
)
def test_a_test_contract_that_does_something_else_is_a_command(command):
    assert grade_of([a_proof(command=command)]).by is ProvenBy.COMMAND
    assert would_show("test", "TC-001", command) is ProvenBy.TESTS


def test_a_gate_that_counted_passing_tests_is_tests():
    assert proof_kind(a_gate("build", "make", counts=(("passed", 2),))) is ProvenBy.TESTS


def test_a_contract_that_was_held_against_something_is_a_contract():
    contract = a_proof("contract:schema", "contract", "schema: a.json = a:B")
    assert proof_kind(contract) is ProvenBy.CONTRACT
    assert proof_kind(replace(contract, seconds=0.0)) is ProvenBy.STATIC
    command = replace(contract, id="contract:command-1", command="./check.sh")
    assert proof_kind(command) is ProvenBy.COMMAND


def test_what_was_said_of_a_proof_when_it_ran_counts():
    proof = a_proof(counts=(("passed", 3),), by=ProvenBy.COMMAND)
    assert grade_of([proof]).by is ProvenBy.COMMAND


def test_the_strongest_of_all_proofs_is_named():
    proofs = [a_gate("lint"), a_gate("check"), a_proof(counts=(("passed", 1),))]
    assert grade_of(proofs).words == "proven by tests"


def test_a_reason_of_the_plan_is_why_it_is_unproven():
    assert grade_of([], none="only words").note == "unproven: only words"
    assert grade_of([a_gate("check")], none="only words").is_proven


PROVEN = TaskState("TASK-001", verified=True, proven=ProvenBy.TESTS)


def test_proofs_of_other_bytes_prove_nothing_of_these():
    graded = grade_one(PROVEN, unverified="its files were changed by hand")
    assert graded.note == "unproven: its files were changed by hand"


def test_a_person_waives_what_is_unproven():
    assert grade_one(TaskState("TASK-001"), waived="tried by hand").note == "waived: tried by hand"
    assert grade_one(PROVEN, waived="tried by hand").is_proven
    hand = grade_one(PROVEN, waived="looked at", unverified="changed by hand")
    assert hand.grade is Grade.WAIVED


def test_the_weakest_of_several_is_found():
    tests, command = Graded(Grade.PROVEN, ProvenBy.TESTS), Graded(Grade.PROVEN, ProvenBy.COMMAND)
    waived, nothing = Graded(Grade.WAIVED, None, "x"), Graded(Grade.UNPROVEN, None, NOTHING)
    assert weakest([tests, command]) == command
    assert weakest([tests, waived]) == waived
    assert weakest([waived, nothing, tests]) == nothing
    assert weakest([]).grade is Grade.UNPROVEN


def test_a_trailer_carries_what_a_proof_shows():
    proofs = [
        a_gate("check", "ruff check ."),
        a_gate("lint"),
        a_proof(counts=(("passed", 3),)),
        a_proof(counts=(("passed", 3),), by=ProvenBy.COMMAND),
        a_proof("contract:schema", "contract", "schema: a.json = a:B"),
        a_proof("coverage", "coverage", ""),
    ]
    lines = [proof_line(proof) for proof in proofs]
    assert ["by=" in line for line in lines] == [True, False, False, True, False, False]
    assert [proof_kind(one) for one in parse_proofs(lines)] == [proof_kind(one) for one in proofs]


def test_the_journal_carries_what_a_proof_shows():
    proof = a_proof(counts=(("passed", 3),), by=ProvenBy.COMMAND)
    assert Codec(lambda: vars(model)).decode(Proof, dump(proof).encode()) == proof


@pytest.mark.parametrize(
    ("verdict", "words", "caveat"),
    [
        (Verdict.SKIPPED, "proven by tests, lines not measured", "tests, lines not measured"),
        (Verdict.PASS, "proven by tests", ""),
    ],
)
def test_a_grade_says_that_lines_could_not_be_measured(verdict, words, caveat):
    test = Proof("TC-001", "test", "pytest", Verdict.PASS, 0, 1.0, "", counts=(("passed", 1),))
    coverage = Proof("coverage", "coverage", "", verdict, 0, 0.0, "")
    graded = grade_of((test, coverage))
    assert (graded.words, graded.caveat) == (words, caveat)
