"""What stands in quotes in an entry of a field stays together, byte for byte."""

import pytest

from runner.contracts.entries import openapi
from runner.plan.document import read_plan

PLAN = "# P\n\n## TASK-001: a\n\n- Output files: `a`\n- Contracts: {}\n"
SERVED = "openapi: `c/o.yaml` url=http://127.0.0.1:8001 start={}"


def contracts(text):
    plan = read_plan(PLAN.format(text).encode(), "TASK-GRAPH.md")
    return [(one.kind, one.value) for one in plan.tasks[0].contracts]


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ('"a; b"', "a; b"),
        ("'a; b'", "a; b"),
        (r'"echo \"x; y\"; python b.py"', 'echo "x; y"; python b.py'),
        ('"serve *one* _two_ &amp; <br> three"', "serve *one* _two_ &amp; <br> three"),
    ],
)
def test_a_command_in_quotes_may_hold_what_separates_entries(written, command):
    found = contracts(f"{SERVED.format(written)}; command: `true; false`")
    assert [kind for kind, _ in found] == ["openapi", "command"]
    assert openapi(found[0][1]).start == command
    assert found[1][1] == "true; false"


def test_what_comes_behind_the_quotes_is_read_as_before():
    text = "openapi: `c/o.yaml` start='a; b' url=http://127.0.0.1:8001; schema: `s.json` = `m:T`"
    first, second = contracts(text)
    assert openapi(first[1]).url == "http://127.0.0.1:8001"
    assert second == ("schema", "s.json = m:T")


def test_an_open_quote_takes_nothing_with_it():
    found = contracts("schema: `a.json` = `m:T`; command: `x` it's; command: `y`=\"z")
    assert [kind for kind, _ in found] == ["schema", "command", "command"]


def proofs_of(field):
    plan = read_plan(f"## TASK-001: a\n\n- Output files: `a`\n- {field}\n".encode(), "T")
    (task,) = plan.tasks
    found = (*task.test_contracts, *task.contracts, *task.gates)
    return [getattr(one, "value", "") or one.command for one in found], plan.problems


@pytest.mark.parametrize(
    ("field", "commands"),
    [
        ("Tests: `TC-001 (unit): pytest -q`", ["pytest -q"]),
        ("Tests: `TC-1: a`, `TC-2: b`", ["a", "b"]),
        ("Tests: TC-1: `a`, **TC-2**: `b`", ["a", "b"]),
        ("Tests: `TC-1: a; b`; `TC-2: c`", ["a; b", "c"]),
        ("Tests:\n  - ``TC-1 (e2e): echo `date` ``", ["echo `date`"]),
        ("Tests:\n  - `TC-1: echo *a* _b_ <c> &amp;`", ["echo *a* _b_ <c> &amp;"]),
        ("Tests:\n  ```sh\n  TC-1 (unit): pytest -q\n  make\n  ```", ["pytest -q", "make"]),
        ("Tests: `pytest -q a.py::test_b`", ["pytest -q a.py::test_b"]),
        ("Contracts: `openapi: a.yaml app=a.b:c`", ["a.yaml app=a.b:c"]),
        ("Contracts: `command: true`; `command: x: y`", ["true", "x: y"]),
        ("Gates: `lint: ruff check .`", ["ruff check ."]),
        ("Gates: `lint (network): ruff check .`", ["ruff check ."]),
    ],
)
def test_an_entry_that_stands_in_ticks_with_its_name_is_that_entry(field, commands):
    assert proofs_of(field) == (commands, ())


def test_a_gate_without_a_name_is_no_name():
    found, problems = proofs_of("Gates: `pytest -q a`")
    assert (found, [one.message for one in problems]) == ([], ['bad gate "`pytest -q a`"'])
