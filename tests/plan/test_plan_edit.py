"""A status edit changes the characters of the status and nothing else."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from plan_documents import EXAMPLES, documents

from runner.errors import RunnerError
from runner.model import Status
from runner.plan.document import read_plan
from runner.plan.edit import add_quote, edit_statuses, find_spans, set_statuses, spans_of
from runner.plan.graph import TaskGraph
from runner.plan.source import line_end_of
from runner.plan.status import one_line

SAMPLES = Path(__file__).parent / "samples"
NAME = "TASK-GRAPH.md"
notes = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "a | b",
            "x\n# y",
            "---",
            "```",
            "<!-- c",
            "-->",
            "\\",
            "a \\| b\\",
            "| x |",
            "- Status: DONE",
            "— —",
            "*a*",
            "[x]: /y",
            "❌ 5",
            "\ttab\t",
            "  ",
            "\r\n",
            "<div>",
            "`",
            "**",
            "a\u2028b",
            ",",
        ]
    ),
)
statuses = st.tuples(st.sampled_from(Status), notes)


def without_statuses(plan):
    def bare(task):
        blocks = tuple(replace(block, line=0) for block in task.blocks)
        proofs = {"test_contracts": (), "contracts": (), "gates": ()}
        return replace(task, status=Status.PENDING, note="", line=0, blocks=blocks, **proofs)

    problems = [p for p in plan.problems if "status" not in p.message]
    return (
        plan.title,
        [bare(task) for task in plan.tasks],
        [(p.message, p.hint, p.severity) for p in problems],
        [(w.task, w.kind, w.text) for w in plan.written_commands],
    )


def assert_edits_only_statuses(data: bytes, wanted: dict[str, tuple[Status, str]]) -> None:
    before = read_plan(data, NAME)
    spans = find_spans(data)
    edited = edit_statuses(data, wanted, spans)
    after = read_plan(edited.data, NAME)
    assert without_statuses(after) == without_statuses(before)
    seen = {task.id: (task.status, task.note) for task in reversed(after.tasks)}
    assert {name: seen[name] for name in wanted} == {
        name: (status, one_line(note)) for name, (status, note) in wanted.items()
    }
    assert find_spans(edited.data) == edited.spans
    assert_same_outside(data, edited.data, spans, edited.spans, wanted)


def assert_same_outside(old, new, spans, new_spans, wanted):
    at = new_at = 0
    for name, span in sorted(spans.items(), key=lambda pair: pair[1].start):
        if name not in wanted:
            continue
        lead, trail = (
            text.encode().replace(b"\n", line_end_of(old)) for text in (span.before, span.after)
        )
        assert new[new_at : new_spans[name].start] == old[at : span.start] + lead
        at, new_at = span.end, new_spans[name].end
        assert new[new_at:].startswith(trail)
        new_at += len(trail)
    assert new[new_at:] == old[at:]


@given(documents(), st.data())
def test_an_edit_of_any_document_reads_as_the_same_plan(data, draw):
    spans = find_spans(data)
    assume(spans)
    names = draw.draw(st.sets(st.sampled_from(sorted(spans)), min_size=1))
    assert_edits_only_statuses(data, {name: draw.draw(statuses) for name in sorted(names)})


@pytest.mark.parametrize(
    ("number", "style"),
    [
        (0, "- Status: pending ✅\n"),
        (1, "**Status:** x\\\n**Type:** api\n"),
        (2, "| Status | done |\n|-|-|\n"),
        (3, ""),
    ],
)
def test_every_commonmark_example_around_a_task_survives_an_edit_campaign(number, style):
    some = EXAMPLES if "CAMPAIGN_SECONDS" in os.environ else EXAMPLES[number::4]
    for markdown in some:
        data = f"{markdown}\n\n# Top\n\n## TASK-001: a\n\n{style}\n{markdown}\n## T002: b\n{markdown}".encode()
        if {"TASK-001", "T002"} <= set(find_spans(data)):
            assert_edits_only_statuses(
                data, {"TASK-001": (Status.BLOCKED, "a | b"), "T002": (Status.DONE, "")}
            )


@pytest.mark.parametrize("name", ["planner-style.md", "tables.md"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_the_samples_keep_every_byte_but_their_statuses(name, end):
    data = b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes().replace(b"\n", end)
    wanted = dict.fromkeys(find_spans(data), (Status.STALE, "CHANGE-001: a|b"))
    assert_edits_only_statuses(data, wanted)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"## T1: a\n- Status: DONE \xe2\x9c\x85  \nx", b"## T1: a\n- Status: BLOCKED \xe2\x80\x94 no key  \nx"),
        (b"## T1: a\n**Status:** IN_PROGRESS  \n", b"## T1: a\n**Status:** BLOCKED \xe2\x80\x94 no key  \n"),
        (b"## T1: a\n| Status | DONE |\r\n|--|--|\r\n", b"## T1: a\n| Status | BLOCKED \xe2\x80\x94 no key |\r\n|--|--|\r\n"),
        (b"## T1: a\n- Status: BLOCKED - old <!-- mine -->\n", b"## T1: a\n- Status: BLOCKED \xe2\x80\x94 no key <!-- mine -->\n"),
        (b"## T1: a", b"## T1: a\n\n- Status: BLOCKED \xe2\x80\x94 no key"),
        (b"## T1: a\n\ntext\n", b"## T1: a\n\n- Status: BLOCKED \xe2\x80\x94 no key\n\ntext\n"),
        (b"## T1: a\n\n- just prose\n", b"## T1: a\n\n* Status: BLOCKED \xe2\x80\x94 no key\n\n- just prose\n"),
        (b"## T1: a\r\n\r\n*  Type: api\r\n", b"## T1: a\r\n\r\n*  Status: BLOCKED \xe2\x80\x94 no key\r\n*  Type: api\r\n"),
        (b"## T1: a\n\n**Type**: api  \n", b"## T1: a\n\n**Status**: BLOCKED \xe2\x80\x94 no key  \n**Type**: api  \n"),
        (b"## T1: a\n\n| F | V |\n|-|-|\n| Type | api |\n", b"## T1: a\n\n| F | V |\n|-|-|\n| Status | BLOCKED \xe2\x80\x94 no key |\n| Type | api |\n"),
        (b"## T1: a\n- Status:\n- Type: api\n", b"## T1: a\n- Status: BLOCKED \xe2\x80\x94 no key\n- Type: api\n"),
        (b"## T1: a\n- Status:\n  - DONE\n", b"## T1: a\n- Status:\n  - BLOCKED \xe2\x80\x94 no key\n"),
    ],
)  # fmt: skip
def test_each_style_is_edited_in_place(before, after):
    assert set_statuses(before, {"T001": (Status.BLOCKED, "no key")}) == after


def test_many_statuses_change_in_one_pass():
    data = b"".join(b"## T%03d: x\n- Status: PENDING\n\n" % number for number in range(1, 200))
    wanted = {f"T{number:03}": (Status.DONE, "") for number in range(1, 200)}
    assert set_statuses(data, wanted) == data.replace(b"PENDING", b"DONE")


def test_a_task_the_plan_does_not_have_is_refused():
    with pytest.raises(RunnerError, match="the plan has no task TASK-009"):
        set_statuses(b"## TASK-001: a\n", {"TASK-009": (Status.DONE, "")})


# --- quotes ---------------------------------------------------------------------------


@given(documents(), st.data())
def test_a_quote_is_read_back_and_changes_nothing_else(data, draw):
    before = read_plan(data, NAME)
    assume(before.tasks)
    ids = [task.id for task in before.tasks]
    name = draw.draw(st.sampled_from(ids))
    after = read_plan(add_quote(data, name, "CHANGE-042 (2026-11-21): new"), NAME)
    place = ids.index(name)
    assert [task.id for task in after.tasks] == ids
    assert "CHANGE-042 (2026-11-21): new" in after.tasks[place].changes
    assert [task.spec for task in after.tasks] == [task.spec for task in before.tasks]


def test_a_command_line_becomes_the_quote_that_records_it():
    data = b"## T1: a\r\n\r\n- Status: DONE\r\n\r\n!change dates are UTC\r\nmore text\r\n"
    written = read_plan(data, NAME).written_commands[0]
    assert (written.task, written.kind, written.text) == ("T001", "change", "dates are UTC")
    edited = add_quote(data, "T001", "CHANGE-001 (2026-11-21): dates are UTC", replacing=written)
    assert edited == (
        b"## T1: a\r\n\r\n- Status: DONE\r\n\r\n> CHANGE-001 (2026-11-21): dates are UTC\r\n\r\nmore text\r\n"
    )


@pytest.mark.parametrize(
    "fields",
    [
        "- Status: PENDING\n!change all in UTC\n- Output files: `a.py`\n- Owner: me\n",
        "- Status: PENDING\n  !change all in UTC\n- Output files: `a.py`\n- Owner: me\n",
        "**Status:** PENDING\n!change all in UTC\n**Output files:** `a.py`\nOwner: me\n",
        "Status: PENDING\n!change all in UTC\nOutput files: `a.py`\n",
    ],
)
def test_a_command_line_among_the_fields_cuts_none_of_them_off(fields):
    data = f"# P\n\n## TASK-001: a\n\n{fields}\nProse.\n".encode()
    plan = read_plan(data, NAME)
    written = plan.written_commands[0]
    edited = add_quote(data, "TASK-001", "CHANGE-001 (2026-11-21): all in UTC", replacing=written)
    after = read_plan(edited, NAME)
    assert after.tasks[0].outputs == plan.tasks[0].outputs == ("a.py",)
    assert after.tasks[0].changes == ("CHANGE-001 (2026-11-21): all in UTC",)
    assert not after.written_commands
    assert after.tasks[0].prose == plan.tasks[0].prose
    assert after.tasks[0].spec == plan.tasks[0].spec


def test_spans_in_another_order_than_the_files_are_put_into_it():
    data = (
        b"## TASK-001: a\n\n- Status: DONE\n\n## TASK-002: b\n\n## TASK-003: c\n\n- Status: STALE\n"
    )
    spans = dict(reversed(list(find_spans(data).items())))
    wanted = {"TASK-003": (Status.DONE, ""), "TASK-002": (Status.BLOCKED, "no key")}
    edited = edit_statuses(data, wanted, spans)
    assert edited == edit_statuses(data, wanted, find_spans(data))
    assert edited.spans == find_spans(edited.data)


def test_of_two_tasks_with_one_id_the_first_is_edited():
    data = b"## TASK-001: a\n\n- Status: DONE\n\n## TASK-001: b\n\n- Status: DONE\n"
    edited = edit_statuses(data, {"TASK-001": (Status.STALE, "")}, find_spans(data))
    assert edited.data == data.replace(b"DONE", b"STALE", 1)
    assert find_spans(edited.data) == edited.spans


@pytest.mark.parametrize("twice", [False, True], ids=["each once", "one twice"])
def test_places_of_a_graph_serve_for_the_spans_only_where_each_id_stands_once(twice):
    more = "\n## TASK-002: Again\n\n- Status: DONE\n" if twice else ""
    text = f"## TASK-001: One\n\n## TASK-002: Two\n\n- Status: DONE\n{more}\n## TASK-003: Three\n"
    plan = read_plan(text.encode(), "TASK-GRAPH.md")
    places = TaskGraph.of(plan.tasks).places
    shared, own = spans_of(plan, places), spans_of(plan)
    assert dict(shared) == dict(own)
    said = {"TASK-003": (Status.DONE, ""), "TASK-001": (Status.BLOCKED, "no key")}
    made = [edit_statuses(text.encode(), said, spans) for spans in (shared, own)]
    assert made[0].data == made[1].data
    assert dict(made[0].spans) == dict(made[1].spans)
    assert dict(shared) == dict(own)  # an edit moves its own, not those that it was given


@pytest.mark.parametrize("field", ["- Status: ✅ DONE\r\n", "**Status:** ✅ **DONE**  \r\n"])
def test_a_status_behind_a_symbol_is_read_and_replaced_in_place(field):
    plan = f"# P\r\n\r\n## TASK-001: A\r\n\r\n{field}".encode()
    assert read_plan(plan, "P").tasks[0].status is Status.DONE
    assert_edits_only_statuses(plan, {"TASK-001": (Status.BLOCKED, "no key")})
