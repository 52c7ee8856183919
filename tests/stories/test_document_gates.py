"""Gates of a task that changes documents alone: those that opened none earlier are left out."""

import pytest
from workplace import a_task

READS = 'import pathlib\nfor one in pathlib.Path("docs").iterdir():\n    one.read_bytes()\n'
CODE = a_task("TASK-001", blocks={"a.py": "A = 1\n"}, tests=["test -f a.py"])


def words(number, path, needs=("TASK-001",)):
    """A task that writes one document."""
    block = {path: "# New\n"}
    return a_task(f"TASK-00{number}", blocks=block, tests=[f"test -f {path}"], needs=needs)


def gates_of(place, task):
    told = place.happened("gate.completed", task)
    return {one["proof"]["id"]: one["proof"]["verdict"] for one in told if "gate:" in str(one)}


@pytest.fixture
def project(workplace):
    """Two gates: one reads each document, by a script; the other reads code alone."""
    gates = '[gates]\ndocs = "python3 tools/read.py"\ncode = "python3 -m py_compile a.py"\n'
    files = {"docs/old.md": "# Old\n", "tools/read.py": READS, "runner.toml": gates}
    workplace.commit(files)
    return workplace


def test_gates_that_opened_no_document_are_left_out_for_documents(project):
    not_findable = (
        words(3, "manual/new.md"),
        words(4, "docs/new.rst"),
    )  # folder and ending are new
    project.plan(CODE, words(2, "docs/new.md"), *not_findable)
    assert project.run("-j", "1").code == 0
    assert gates_of(project, "TASK-002") == {"gate:docs": "pass", "gate:code": "skipped"}
    why = "not run: the gate opened none of the changed files in TASK-001's proof"
    assert why in project.runner("evidence", "TASK-002").out
    for task in ("TASK-001", "TASK-003", "TASK-004"):
        assert gates_of(project, task) == {"gate:docs": "pass", "gate:code": "pass"}, task


def test_a_gate_that_never_ran_on_this_code_runs(project):
    project.commit({"a.py": "A = 1\n"})
    project.plan(words(1, "docs/one.md", needs=()), words(2, "docs/two.md"))
    assert project.run("1").code == 0
    assert gates_of(project, "TASK-001") == {"gate:docs": "pass", "gate:code": "pass"}
    project.commit({"a.py": "print(open('docs/old.md').read())\n"})
    assert project.run().code == 0
    assert gates_of(project, "TASK-002") == {"gate:docs": "pass", "gate:code": "pass"}
