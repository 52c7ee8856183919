"""What others write as a number is one that can be read, or is told or left: no door breaks.

Python reads no whole number of more than 4,300 digits (library reference, "Integer string
conversion length limitation"), makes none of an endless one, and calls a superscript a digit.
"""

import json
from types import SimpleNamespace

import pytest

from runner.app.artifacts.prune_leftovers import parse_age
from runner.app.draft.drafting import next_number
from runner.app.gate.gate_report import _FAILED
from runner.context.patterns import free_id, read_decisions, source_decision
from runner.context.skills import _fields
from runner.contracts import json_schemas
from runner.contracts.inside import operations
from runner.errors import RunnerError
from runner.extensions.bridge.issue_text import _find_mirrors
from runner.gates import test_reports
from runner.gates.junit import read_results
from runner.gates.mutation.small_changes import find_small_changes
from runner.gates.result_parsers import read_counts
from runner.history.change import ChangesDocument, _is
from runner.history.commit_log import LogEntry
from runner.plan.checks import check_plan
from runner.plan.document import read_plan
from runner.plan.foreign import find_form, read_foreign
from runner.plan.patterns import PatternIndex
from runner.plan.spans import Spans
from runner.process.environments import _load_toml
from runner.repo.clone import login_variables
from runner.repo.git import as_environment
from runner.repo.landed_commits import _make_landed_commit
from runner.repo.trailers import parse_message, parse_proof
from runner.report.decisions_file import DecisionsDocument
from runner.report.status_line import task_name
from runner.secrets.allowlist import read_allow_list
from runner.serve.guard import _read_bytes, _RefusedError
from runner.text.foreign_documents import parse_toml
from runner.text.wording import read_number

LONG = "9" * 5000
ENDLESS = "9" * 400
ODD = "\u00b2"
NUMBERS = pytest.mark.parametrize("number", [LONG, ENDLESS, ODD], ids=["long", "endless", "odd"])


@NUMBERS
def test_no_such_number_is_read(number):
    assert read_number(number) == -1


# --- plans ----------------------------------------------------------------------------


def problems(field):
    data = f"## TASK-001: a\n- Output files: `a`\n- Test contracts: `true`\n- {field}\n".encode()
    plan = read_plan(data, "TASK-GRAPH.md")
    found = check_plan(
        plan.tasks,
        places=Spans(data, "TASK-GRAPH.md"),
        found=lambda _: True,
        exists=lambda _: True,
    )
    return [*plan.problems, *found], plan


@NUMBERS
@pytest.mark.parametrize(
    "said",
    [
        *("Budget: {} attempts", "Budget: {} tokens", "Budget: {}m tokens", "Budget: ${}"),
        *("Budget: {} minutes", "Timeout: {} hours", "Coverage: {}%", "Priority: {}"),
    ],
)
def test_a_field_of_a_plan_is_told_with_its_line(said, number):
    found, _ = problems(said.format(number))
    assert [one.line for one in found] == [4]


@pytest.mark.parametrize("said", ["Budget: {} years", "Uses: port {}", "Uses: memory {}GB"])
@NUMBERS
def test_another_field_of_a_plan_is_told_or_taken(said, number):
    _, plan = problems(said.format(number))
    assert [task.id for task in plan.tasks] == ["TASK-001"]


@pytest.mark.parametrize(
    ("code", "count"), [(LONG, 0), ("9" * 19, 0), ("1", 0), ("256", 1), ("0", 1)]
)
def test_a_line_that_ends_with_no_code_of_a_shell_fails_as_it_does_there(code, count):
    found, _ = problems(f"Tests: `pytest -q; exit {code}`")
    assert ["cannot fail" in one.message for one in found] == [True] * count


def taken_or_told(text):
    try:
        return read_foreign(text, find_form(text)).tasks
    except RunnerError as error:
        return error.message


@pytest.mark.parametrize(
    "text",
    [
        f'{{"tasks": [{{"id": {LONG}, "title": "a", "priority": {LONG}}}]}}',
        f'{{"id": "a-1", "title": "a", "priority": {LONG}}}\n',
        f"---\nid: task-1\nstatus: To Do\ntitle: a\npriority: {LONG}\n---\n",
        "---\nid: task-1\nstatus: To Do\ntitle: a\npriority: 2024-13-45\n---\n",
        "---\nid: task-1\nstatus: To Do\ntitle: a\npriority: !!bool x\n---\n",
        "---\nid: task-1\nstatus: To Do\ntitle: a\npriority: !!timestamp x\n---\n",
        f"---\nid: task-1\nstatus: To Do\ntitle: a\npriority: 1{':10' * 400}.5\n---\n",
        f"- [ ] T001 a\n- [ ] T002 b\n\n## Dependencies\n\n- T002 depends on T{LONG}-T{LONG}\n",
    ],
    ids=range(8),
)
def test_a_list_of_another_tool_is_taken_or_told(text):
    assert taken_or_told(text)


def test_the_next_id_is_counted_from_ids_that_are_numbers():
    assert next_number([f"TASK-{LONG}"]) == 1
    assert next_number([f"TASK-{LONG}", "TASK-007"]) == 8


@NUMBERS
def test_a_task_is_named_as_it_is_where_its_id_is_no_number(number):
    assert task_name(f"TASK-{number}").startswith("TASK-")


# --- files of a project ---------------------------------------------------------------


def test_an_entry_without_a_number_that_can_be_read_is_passed_over(tmp_path):
    text = f"# Decisions\n\n## DECISION-{LONG}: a\n\n## DECISION-004: b\n"
    file = tmp_path / "DECISIONS.md"
    file.write_text(text)
    document = DecisionsDocument(tmp_path, "DECISIONS.md")
    assert document.next_number(0) == 5
    assert document.content_to_commit(text.encode(), text.encode) == text.encode()
    assert 4 in document._in_file()
    read_decisions(text)


def test_a_change_without_a_number_that_can_be_read_is_passed_over(tmp_path):
    text = f"# Changes\n\n## CHANGE-{LONG}: a\n\n## CHANGE-004: b\n"
    (tmp_path / "CHANGES.md").write_text(text)
    document = ChangesDocument(tmp_path, "CHANGES.md")
    assert document.next_number(0) == 5
    assert document.content_to_commit(text.encode(), text.encode) == text.encode()
    assert not _is(f"CHANGE-{LONG}", 4)


def test_a_pattern_without_a_number_that_can_be_read_is_passed_over():
    table = f"| Pattern | Title |\n|---|---|\n| PATTERN-{LONG} | a |\n| PATTERN-004 | b |\n"
    index = PatternIndex.read(table.encode())
    assert free_id(index, ()) == "PATTERN-005"
    assert free_id(PatternIndex.read(b""), [f"PATTERN-{LONG}"]) == "PATTERN-001"
    assert source_decision(f"- Decision: DECISION-{LONG}\n") is None


@pytest.mark.parametrize("value", [LONG, "2024-13-45", "!!bool x", "!!timestamp x", "!!int ''"])
def test_a_front_matter_of_no_values_is_told(value):
    fields = _fields(f"name: a\nsize: {value}\n")
    assert isinstance(fields, tuple)
    assert "is not YAML" in fields[1]


def test_a_table_of_such_numbers_is_told_or_left(tmp_path):
    (tmp_path / "pyproject.toml").write_text(f"a = {LONG}\n")
    assert _load_toml(tmp_path / "pyproject.toml") == {}
    with pytest.raises(RunnerError, match="invalid TOML"):
        read_allow_list(f"a = {LONG}\n".encode(), None)
    with pytest.raises(ValueError, match="digits"):
        parse_toml(f"a = {LONG}\n")


@NUMBERS
def test_an_age_is_refused(number):
    with pytest.raises(RunnerError, match="not a valid age"):
        parse_age(f"{number}d")


# --- output of tools ------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        "==== {} passed in 1.00s ====",
        "==== 1 passed, {} failed in 1.00s ====",
        "Ran {} tests in 0.001s\n\nOK",
        "Ran 3 tests in 0.001s\n\nFAILED (failures={})",
        "# pass {}\n# fail 0",
        "test result: ok. {} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out;",
        " Tests  {} passed (3)",
        "Tests: {} passed, 3 total",
        "  {} passing (3ms)",
    ],
)
@pytest.mark.parametrize("number", [LONG, ENDLESS])
def test_a_count_that_no_tool_counts_is_none(output, number):
    counts = dict(read_counts(output.format(number)))
    assert all(0 <= count < 10 for count in counts.values())


def test_counts_together_stay_within_what_a_journal_keeps():
    row = f"test result: ok. {'9' * 18} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out;\n"
    assert dict(read_counts(row * 100))["passed"] < 2**63


@pytest.mark.parametrize(
    "about",
    [
        {"pid": float("inf")},
        {"exit": float("inf")},
        {"chain": LONG},
        {"chain": f"1,{ODD}"},
    ],
)
def test_what_a_test_says_of_itself_is_taken_or_left(tmp_path, about):
    file = tmp_path / "a.json"
    said = {"tool": "pytest", "key": "a", "pid": 1, "chain": "1", "exit": 0, "tail": ""} | about
    file.write_text(json.dumps(said))
    assert test_reports._read_kept(file, "") is not None


@NUMBERS
def test_a_program_that_is_no_process_has_no_report(tmp_path, number):
    file = tmp_path / "go-1"
    file.write_text(f"{number}\n{number},1\ngo test\n")
    file.with_suffix(".exit").write_text(number)
    assert test_reports._of_program(file).tool == ""
    file.write_text(f"7\n{number},1\ngo test\n")
    assert test_reports._of_program(file).pid == 7


@pytest.mark.parametrize("time", ["1e999", LONG, "-1", "nan", "x"])
def test_a_time_of_a_report_that_no_clock_counts_is_none(tmp_path, time):
    file = tmp_path / "a.xml"
    case = f'<testcase classname="a" name="b" time="{time}"/>'
    file.write_text(
        f'<testsuites><testsuite name="a" tests="{LONG}">{case}</testsuite></testsuites>'
    )
    results = read_results(file)
    assert [test.seconds for test in results.tests] == [0.0]


def test_the_line_of_a_failure_is_no_longer_than_files_are():
    assert not _FAILED.search(f"a failed at a.py:{LONG}: assert 0")
    assert _FAILED.search("a failed at a.py:12: assert 0")


def test_a_reference_into_a_list_leads_nowhere():
    for number in (LONG, ODD, "1"):
        assert json_schemas.resolve_reference(f"#/a/{number}", {"a": ["b"]}) is True
        assert operations.resolve_reference({"a": ["b"]}, f"#/a/{number}") is None
    assert json_schemas.resolve_reference("#/a/0", {"a": ["b"]}) == "b"
    assert operations.resolve_reference({"a": ["b"]}, "#/a/0") == "b"


@pytest.mark.parametrize("constant", [LONG, LONG + ".5", ODD])
def test_a_constant_of_a_source_that_is_too_long_has_no_mutant(constant):
    source = f"export function a(b) {{\n  return b + {constant} + 7;\n}}\n".encode()
    found = find_small_changes("a.js", None, source)
    assert all(b"inf" not in repr(one).encode() for one in found)


# --- commits, forges and callers ------------------------------------------------------


@NUMBERS
def test_a_commit_of_another_counts_no_attempt(number):
    message = f"a\n\nTask: TASK-001\nAttempt: {number}\n"
    said = parse_message(message)
    landed = _make_landed_commit("a", "b", "c", "1", said)
    assert landed.attempt == 0
    assert LogEntry("a", "b", (), "a", said.trailers, ()).attempt == 0
    assert parse_proof(f"TC-001 pass exit={number} seconds=1 output=a") is None
    assert parse_proof(f"TC-001 pass exit=0 seconds={number} output=a") is None


@pytest.mark.parametrize("seconds", [LONG, "9" * 17, ""])
def test_a_commit_of_no_time_has_the_first(seconds):
    landed = _make_landed_commit("a", "b", "c", seconds, parse_message("a\n\nTask: TASK-001\n"))
    assert landed.time.year == 1970


@NUMBERS
def test_a_mark_of_another_issue_is_none_of_ours(number):
    mark = f"<!-- runner-task:1 {number} TASK-001 -->"
    issue = SimpleNamespace(number=2, body=mark, author="me")
    forge = SimpleNamespace(list_own_issues=lambda *_: [issue])
    context = SimpleNamespace(forge=forge, login="me", number=1)
    assert _find_mirrors(context) == {}


@NUMBERS
def test_a_count_of_settings_that_is_none_is_begun_anew(number):
    environ = {"GIT_CONFIG_COUNT": number}
    assert as_environment((("a.b", "c"),), environ)["GIT_CONFIG_COUNT"] == "1"
    said = login_variables("https://example.org/a", "SHOP", environ | {"SHOP": "x"})
    assert said["GIT_CONFIG_COUNT"] == "1"


@NUMBERS
def test_a_delivery_of_no_length_is_refused(number):
    with pytest.raises(_RefusedError):
        _read_bytes({"content-length": number}, None).send(None)
