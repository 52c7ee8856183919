"""JUnit as the strictest reader takes it, and what the results are made of."""

from xml.etree import ElementTree as ET

import pytest
from report_results import SPEC, Story, some_results

from runner.model import Status, Task
from runner.report.results import ResultsListener
from runner.report.xml_reports import junit

# Jenkins' junit-10.xsd as a table: for each element its attributes (required ones marked), whether
# it holds text, and its children in their order with how many there may be.
SCHEMA = {
    "testsuites": (
        {"name", "time", "tests", "failures", "disabled", "errors"},
        False,
        "testsuite*",
    ),
    "testsuite": (
        {"name!", "tests!", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id"},
        False,
        "properties? testcase* system-out? system-err?",
    ),
    "properties": (set(), False, "property+"),
    "property": ({"name!", "value!"}, False, ""),
    "testcase": (
        {"name!", "time", "classname", "status", "assertions"},
        False,
        "skipped? error* failure* system-out* system-err*",
    ),
    "skipped": ({"message"}, True, ""),
    "error": ({"message", "type"}, True, ""),
    "failure": ({"message", "type"}, True, ""),
}
MOST = {"?": 1, "*": 10**9, "+": 10**9}


def mistakes(element):
    """Where an element is not as the schema wants it."""
    attributes, text, children = SCHEMA[element.tag]
    names = {name.rstrip("!") for name in attributes}
    yield from (f"{element.tag}@{name}" for name in element.attrib if name not in names)
    required = {name.rstrip("!") for name in attributes if name.endswith("!")}
    yield from (f"{element.tag} lacks @{name}" for name in sorted(required - set(element.attrib)))
    if not text and (element.text or "").strip():
        yield f"{element.tag} holds text"
    left = [child.tag for child in element]
    for rule in children.split():
        name, most, count = rule[:-1], MOST[rule[-1]], 0
        while left and left[0] == name:
            left.pop(0)
            count += 1
        if count > most or (rule.endswith("+") and not count):
            yield f"{element.tag} has {count} {name}"
    yield from (f"{element.tag} may hold no {name} here" for name in left)
    for child in element:
        yield from mistakes(child)


@pytest.fixture
def document():
    return ET.fromstring(junit(some_results()))


def suite_of(document, task):
    return next(suite for suite in document if suite.get("name") == task)


def test_the_document_is_as_the_schema_wants_it(document):
    assert list(mistakes(document)) == []


def test_the_table_of_the_schema_finds_mistakes():
    bad = (
        "<testsuites><testsuite name='x' odd='1'>text<testcase name='y'><property/></testcase>"
        "</testsuite></testsuites>"
    )
    assert list(mistakes(ET.fromstring(bad))) == [
        "testsuite@odd",
        "testsuite lacks @tests",
        "testsuite holds text",
        "testcase may hold no property here",
        *sorted(["property lacks @name", "property lacks @value"]),
    ]


def test_every_task_is_a_suite_of_one_case(document):
    assert [suite.get("name") for suite in document] == [f"TASK-00{n}" for n in range(1, 6)]
    assert {len(suite.findall("testcase")) for suite in document} == {1}
    assert (document.get("tests"), document.get("failures"), document.get("errors")) == (
        "5",
        "1",
        "1",
    )


def test_a_done_task_passes_and_its_proofs_are_properties(document):
    suite = suite_of(document, "TASK-001")
    assert list(suite.find("testcase")) == []
    assert suite.get("timestamp") == "2026-11-21T10:00:00"
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties == {
        "status": "DONE",
        "attempts": "2",
        "commit": "a" * 40,
        "TC-001": "pass in 0.25 s, exit 0: 3 passed",
        "coverage": "84% of 120 lines",
    }


def test_failed_checks_are_failures_with_their_findings(document):
    case = suite_of(document, "TASK-002").find("testcase")
    (failure,) = case
    assert (failure.tag, failure.get("type")) == ("failure", "TC-002")
    assert failure.get("message") == "100% wrong: ]]> <b> & \\x1b[31m\\u202e�"
    assert failure.text.startswith("src/a,b:c.py:3: 100% wrong")
    assert "assert 1 == 2\\x00" in failure.text
    assert failure.text.endswith("hint: mend | it")


def test_what_is_missing_is_an_error_and_what_waits_is_skipped(document):
    (error,) = suite_of(document, "TASK-003").find("testcase")
    assert (error.tag, error.get("type"), error.get("message")) == (
        "error",
        "tool",
        "tool tsc is not on PATH",
    )
    (skipped,) = suite_of(document, "TASK-004").find("testcase")
    assert (skipped.tag, skipped.get("message")) == ("skipped", "waits for TASK-002")
    (stale,) = suite_of(document, "TASK-005").find("testcase")
    assert stale.get("message") == "STALE — CHANGE-001"


def test_paths_begin_at_the_top_of_the_repository():
    document = ET.fromstring(junit(some_results(folder="services/booking")))
    text = suite_of(document, "TASK-002").find("testcase/failure").text
    assert text.startswith("services/booking/src/a,b:c.py:3: ")


# --- what the results are made of -----------------------------------------------------


def result_of(listener, story, **fields):
    task = Task("TASK-001", "Model", 3, SPEC, **fields)
    made = listener.results([task], story.state, name="Plan", plan="TASK-GRAPH.md", seconds=1.0)
    return made.tasks[0]


def test_a_task_that_passed_at_its_second_attempt_has_no_refusals():
    listener = ResultsListener()
    story = Story(listener.hear)
    story.started()
    story.failed()
    story.started(attempt=2)
    story.done(attempt=2)
    result = result_of(listener, story)
    assert (result.status, result.attempts, result.seconds) == (Status.DONE, 2, 5.0)
    assert result.refusals == ()
    assert [proof.id for proof in result.proofs] == ["TC-001"]


def test_an_attempt_that_is_proven_again_counts_once():
    listener = ResultsListener()
    story = Story(listener.hear)
    for _ in range(2):
        story.started()
        story.done()
    assert result_of(listener, story).attempts == 1


def test_a_blocked_task_keeps_the_findings_of_its_last_attempt():
    listener = ResultsListener()
    story = Story(listener.hear)
    story.started()
    story.failed()
    story.blocked()
    result = result_of(listener, story)
    assert (result.status, result.note) == (Status.BLOCKED, "TC-002 failed")
    assert [finding.check for finding in result.refusals] == ["TC-002"]


def test_a_task_that_was_not_touched_has_no_attempts():
    listener = ResultsListener()
    result = result_of(listener, Story(listener.hear), depends_on=("TASK-009",))
    assert (result.status, result.attempts, result.waits_for) == (
        Status.PENDING,
        0,
        ("TASK-009",),
    )
