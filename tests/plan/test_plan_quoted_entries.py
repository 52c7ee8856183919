"""What stands in quotes in an entry of a field stays together, byte for byte."""

import pytest

from runner.gates.contracts.entries import openapi
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
