"""The checks below are the constraints of the SARIF 2.1.0 schema for the objects we write.

They are spelled out since no package of PyPI carries the schema (sarif-om, sarif-tools and pysarif
have none; sarif-pydantic allows what the schema forbids). Microsoft's validator does carry it:
where `npm install -g @microsoft/sarif-multitool` was done, it is asked, too.
"""

import json
import os
import re
import shutil
import subprocess

import pytest
from report_results import some_results

from runner.model import Finding, Severity, Status
from runner.report.annotations import MOST_ROWS, step_summary, workflow_commands
from runner.report.results import Results, TaskResult
from runner.report.sarif import Result, of_finding, of_sast, sarif_document
from runner.writes.sast_report import SastFinding

URI = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})*")
LEVELS = {"none", "note", "warning", "error"}


def only(value, required, optional=()):
    """An object with the required properties and no others than these (additionalProperties)."""
    assert isinstance(value, dict)
    assert set(required) <= set(value) <= {*required, *optional}


def a_text(value):
    only(value, ("text",))
    assert isinstance(value["text"], str)
    assert value["text"]


def a_whole(value, least):
    assert isinstance(value, int)
    assert not isinstance(value, bool)
    assert value >= least


def checked(document):
    """The log, after every constraint of the schema that can hold for it."""
    log = json.loads(document)
    only(log, ("version", "runs"), ("$schema",))
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        only(run, ("tool",), ("results", "invocations", "columnKind"))
        assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
        only(run["tool"], ("driver",))
        driver = run["tool"]["driver"]
        only(driver, ("name",), ("rules", "version"))
        rules = driver["rules"]
        assert len({json.dumps(rule) for rule in rules}) == len(rules)  # uniqueItems
        for rule in rules:
            a_rule(rule)
        for result in run["results"]:
            a_result(result, rules)
        for invocation in run.get("invocations", ()):
            an_invocation(invocation)
    return log


def a_rule(rule):
    only(rule, ("id",), ("shortDescription", "properties"))
    a_text(rule["shortDescription"])
    if "properties" not in rule:
        return
    only(rule["properties"], ("tags", "security-severity"))
    assert len(set(rule["properties"]["tags"])) == len(rule["properties"]["tags"])
    assert 0 <= float(rule["properties"]["security-severity"]) <= 10


def a_result(result, rules):
    only(result, ("message",), ("ruleId", "ruleIndex", "level", "locations"))
    a_text(result["message"])
    assert result["level"] in LEVELS
    a_whole(result["ruleIndex"], -1)
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for location in result.get("locations", ()):
        only(location, ("physicalLocation",))
        place = location["physicalLocation"]
        only(place, ("artifactLocation",), ("region",))
        only(place["artifactLocation"], ("uri",))
        assert URI.fullmatch(place["artifactLocation"]["uri"])
        if "region" in place:
            only(place["region"], ("startLine",), ("startColumn",))
            for number in place["region"].values():
                a_whole(number, 1)


def an_invocation(invocation):
    only(invocation, ("executionSuccessful",), ("toolExecutionNotifications",))
    assert isinstance(invocation["executionSuccessful"], bool)
    for said in invocation["toolExecutionNotifications"]:
        only(said, ("message",), ("level",))
        a_text(said["message"])
        assert said["level"] in LEVELS


def a_sast_finding(**more):
    values = {
        "path": "src/app.py",
        "line": 3,
        "column": 5,
        "rule": "B602",
        "severity": "high",
        "confidence": "high",
        "message": "a shell is started",
        "tool": "bandit",
        "digest": "sha256:" + "0" * 64,
    }
    return SastFinding(**{**values, **more})


def test_findings_of_both_kinds_are_one_log_with_a_run_a_tool():
    findings = [
        of_finding(
            Finding("secret-scan", "secret found", "a b/ä.py", 2, 7, hint="use the variable")
        ),
        of_finding(Finding("scope", "not in scope", "x.py", severity=Severity.WARNING)),
        of_finding(Finding("scope", "nowhere", severity=Severity.NOTE)),
        of_sast(a_sast_finding()),
        of_sast(a_sast_finding(severity="low", line=0, column=0)),
        of_sast(a_sast_finding(severity="strange", tool="", rule="")),
    ]
    log = checked(sarif_document(findings, tools=("runner", "bandit")))
    runs = {run["tool"]["driver"]["name"]: run for run in log["runs"]}
    assert [one["level"] for one in runs["bandit"]["results"]] == ["error", "note"]
    own = runs["runner"]["results"]
    assert own[0]["message"]["text"] == "secret found (hint: use the variable)"
    uri = own[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%20b/%C3%A4.py"
    assert [one["id"] for one in runs["bandit"]["tool"]["driver"]["rules"]] == ["B602"]


@pytest.mark.skipif(not shutil.which("sarif-multitool"), reason="the validator is not installed")
def test_the_official_validator_finds_nothing_against_its_schema(tmp_path):
    findings = [
        of_finding(Finding("secret-scan", "secret found", "a b/ä.py", 2, 7, hint="use another")),
        of_finding(Finding("scope", "nowhere", severity=Severity.NOTE)),
        of_sast(a_sast_finding()),
        of_sast(a_sast_finding(severity="note", rule="unscanned", line=0, column=0)),
    ]
    (tmp_path / "a.sarif").write_text(sarif_document(findings, failures=("x.py: unread",)), "utf-8")
    words = ["sarif-multitool", "validate", "a.sarif", "--output", "said.sarif"]
    environ = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, check=False)
    said = json.loads((tmp_path / "said.sarif").read_text("utf-8-sig"))
    ids = {result["ruleId"] for run in said["runs"] for result in run.get("results", ())}
    assert ids  # it has something to advise, so it has read the log
    assert not any(one.startswith(("JSON", "SARIF1")) for one in ids)


def test_a_scan_without_findings_is_a_log_too():
    log = checked(sarif_document([]))
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is True


def test_what_could_not_be_read_is_told_as_a_failure():
    log = checked(sarif_document([], failures=("x.py: cannot be read",)))
    invocation = log["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "x.py: cannot be read"


def test_only_what_is_about_security_is_tagged_so():
    findings = [
        Finding("TC-002", "assert 1 == 2", "tests/test_a.py", 3),
        Finding("compile", "invalid syntax", "a.py", 1),
        Finding("secret-scan", "secret found", "a.py", 1),
        Finding("markers", "a new noqa", "a.py", 2, severity=Severity.WARNING),
    ]
    (run,) = checked(sarif_document(map(of_finding, findings)))["runs"]
    tagged = {rule["id"]: rule.get("properties") for rule in run["tool"]["driver"]["rules"]}
    assert tagged == {
        "TC-002": None,
        "compile": None,
        "secret-scan": {"tags": ["security"], "security-severity": "8.0"},
        "markers": {"tags": ["security"], "security-severity": "5.0"},
    }


def test_hostile_paths_and_messages_stay_one_valid_document():
    key = "-".join(("sk", "proj", "aB3dE5fG7hJ9kL1mN3pQ" * 4))
    paths = (
        "/etc/x",
        "javascript:alert(1)",
        "a\x1b[2J.py",
        "a\ud800.py",
        f"{key}.py",
        "..%2f..",
        "ü",
    )
    document = sarif_document(
        Result("bandit", "B1\x1b", "note", f"{key} \x1b]0;x\x07 \u202e", path, 1, 1)
        for path in paths
    )
    checked(document)
    assert key not in document
    assert key[10:30] not in document
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", document) is None
    assert '"uri": "javascript%3Aalert%281%29"' in document
    assert '"uri": "file:///etc/x"' in document


# --- what GitHub is told --------------------------------------------------------------


def test_findings_stand_beside_their_lines():
    lines = list(workflow_commands(some_results()))
    assert lines[0] == ("::warning file=src/a.py,line=9,title=TASK-001 markers::a new `noqa`")
    assert lines[1] == (
        "::error file=src/a%2Cb%3Ac.py,line=3,col=7,title=TASK-002 TC-002::"
        "100%25 wrong: ]]> <b> & \\x1b[31m\\u202e\uffff%0A```%0Aassert 1 == 2\\x00%0D%0A"
        "::error::no%0A%0Ahint: mend | it"
    )


def test_a_task_without_findings_stands_beside_its_heading():
    lines = list(workflow_commands(some_results()))
    assert lines[2:] == [
        "::error file=TASK-GRAPH.md,line=15,title=TASK-003::tool tsc is not on PATH"
    ]


def test_every_command_is_one_line_so_that_no_finding_gives_a_command_of_its_own():
    for line in workflow_commands(some_results()):
        assert "\n" not in line
        assert "\r" not in line


def test_paths_begin_at_the_top_of_the_repository():
    lines = list(workflow_commands(some_results(folder="services/booking")))
    assert lines[0].startswith("::warning file=services/booking/src/a.py,")


def test_the_page_has_a_row_a_task_and_what_kept_tasks_back():
    page = step_summary(some_results())
    lines = page.splitlines()
    assert lines[0] == '## Bookings "&lt;1\\>" \\\\x1b'
    assert "5 tasks: 1 PENDING, 1 DONE, 2 BLOCKED, 1 STALE in 12.5 s" in lines
    assert "| TASK\\-001 Model | ✅ DONE | 1/1 | 2 | 2.5 s |" in lines
    assert "| TASK\\-004 Docs | PENDING | — | — | — |" in lines
    assert "### TASK\\-003: tool tsc is not on PATH" in lines


def test_nothing_from_outside_is_markup_on_the_page():
    page = step_summary(some_results())
    assert "<b>" not in page
    assert "@everyone" not in page
    assert "| TASK\\-002 API &lt;b\\>\\|x\\|&#64;everyone | ❌ BLOCKED |" in page
    assert "\x1b" not in page


def test_a_fence_is_longer_than_any_in_what_it_holds():
    page = step_summary(some_results())
    start = page.index("  ````text\n")
    assert page[start:].splitlines()[1] == "  ```"
    assert "\n  ````\n" in page[start:]


def test_a_page_of_many_tasks_says_how_many_more_there_are():
    tasks = tuple(
        TaskResult(f"TASK-{number}", "t", 1, Status.DONE) for number in range(MOST_ROWS + 7)
    )
    page = step_summary(Results("Plan", "TASK-GRAPH.md", tasks, 1.0, ""))
    assert "| … and 7 more | | | | |" in page
    assert len(page) < 1_000_000
