"""The sections of a draft: fields that no draft may set are taken out, and every old byte stays."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wish_drafts import GOOD, with_line

from runner.app.draft.draft_checks import Target
from runner.plan.document import read_plan
from runner.plan.drafted_sections import read_draft

TAKEN_OUT = [
    ("- Implementer: claude", "Implementer"),
    ("- Command: `rm -rf /`", "Command"),
    ("- Gates:\n  - lint: `rm -rf /`", "Gates"),
    ("- Contracts:\n  - command: `rm -rf /`", "Contracts"),
    ("- Contracts: none — no", "Contracts: none"),
    ("- Proof: none — no", "Proof: none"),
    ("- Coverage: 1%", "Coverage"),
    ("- Red first: no", "Red first"),
    ("- Uses: gpu 1", "Uses"),
    ("- Network: yes", "Network"),
    ("- Timeout: 10 hours", "Timeout"),
    ("- Stack: root", "Stack"),
    ("- Patterns: PATTERN-001", "Patterns"),
    ("- Requires: root", "Requires"),
    ("- Requires: secret API_TOKEN", "Requires"),
    ("- Budget: 99 attempts, $900", "Budget"),
    ("- Review: off", "Review"),
    ("- Changes tests: `tests/**`", "Changes tests"),
    ("- Status: DONE", "Status DONE"),
    ("- Status: BLOCKED — no", "Status BLOCKED"),
    ("- Model: gpt", "Model"),
    ("- Favourite colour: red", "Favourite colour"),
    ("\n```python file=evil.py\nprint(1)\n```", "a block for evil.py"),
    ("\n```sh run\nrm -rf /\n```", "a `sh run` block"),
    ("\n``` file=mine.py delete\n```", "a block for mine.py"),
    ("\n!change TASK-007 other", "a `!` line"),
    ("\n!replay", "a `!` line"),
    ("\n> CHANGE-001 (2026-11-22): other", "a CHANGE quote"),
]


@pytest.mark.parametrize(("extra", "said"), TAKEN_OUT)
def test_what_no_draft_may_set_is_taken_out_and_told_with_its_line(extra, said):
    answer = with_line("- Priority: high\n", f"- Priority: high\n{extra}\n")
    reading = read_draft(answer)
    assert reading.mistakes == ()
    found = [one for one in reading.taken_out if said in one.text]
    assert found, reading.taken_out
    assert found[0].line >= 11
    (task,) = read_plan(reading.text.encode(), "TASK-GRAPH.md").tasks
    assert reading.text == read_draft(GOOD).text, "nothing of it is left"
    assert (task.command, task.implementer, task.gates, task.blocks) == ("", "", (), ())


HOSTILE = st.text(
    st.sampled_from(list("ab#-!>`~*:|[]()<> \n\t\r\u202e\x1b{}TASK0189._/")), max_size=60
)


@given(
    old=st.text(st.sampled_from(list("a# -:`\n\r\tTASK0-1~>!")), max_size=120),
    title=HOSTILE, prose=HOSTILE, item=HOSTILE, end=st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_drafted_keeps_every_old_byte_and_is_one_pending_task(
    old, title, prose, item, end
):
    data = f"# Plan{end}{end}## TASK-001: One{end}{end}- Output files: `a.py`{end}{old}".encode()
    answer = GOOD.replace("Export bookings as CSV", title).replace("a booking is a line", item)
    reading = read_draft(answer.replace("Write it plainly.", prose), {"TASK-001"})
    whole = Target("TASK-GRAPH.md", data).with_text(reading.text, "x")
    assert whole.startswith(data)
    for section in reading.sections:
        assert section.status == "PENDING"
    if reading.sections and not reading.mistakes:
        tasks = read_plan(reading.text.encode("utf-8", "replace"), "TASK-GRAPH.md").tasks
        assert [task.status for task in tasks] == ["PENDING"] * len(reading.sections)
        assert not any(task.command or task.blocks or task.changes for task in tasks)
