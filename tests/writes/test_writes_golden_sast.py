"""The findings of one Python file: rules, lines and the exact records that a person reads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from writes_builders import put

from runner.app.write.analysis import sast_document
from runner.model import digest_of
from runner.writes.sast import SAST_FINDINGS, record_findings, scan_file

SOURCE = b"""\
import pickle
import subprocess
import hashlib

TOKEN = "hunter2"
subprocess.call('ls ' + input(), shell=True)  # nosec
pickle.loads(read())  # nosec B301
hashlib.md5(read())
assert TOKEN
"""
EXPECTED = [
    ("B403", 1, 1, "low", "high"),
    ("B404", 2, 1, "low", "high"),
    ("B105", 5, 9, "low", "medium"),
    ("B602", 6, 1, "high", "high"),
    ("B301", 7, 1, "medium", "high"),
    ("B324", 8, 1, "high", "high"),
    ("B101", 9, 1, "low", "high"),
]
PICKLE = {
    "path": "src/a.py",
    "line": 7,
    "column": 1,
    "rule": "B301",
    "severity": "medium",
    "confidence": "high",
    "message": "Pickle and modules that wrap it can be unsafe when used to deserialize untrusted"
    " data, possible security issue.",
    "tool": "bandit",
    "digest": digest_of(SOURCE),
}


@pytest.fixture
def report():
    return scan_file(SOURCE, "src/a.py")


def test_each_finding_has_its_rule_line_and_severity(report):
    found = [(f.rule, f.line, f.column, f.severity, f.confidence) for f in report.findings]
    assert sorted(found, key=lambda one: one[1]) == EXPECTED
    assert report.summary == "2 high, 1 medium, 4 low"


def test_the_findings_are_those_of_bandit_that_ignores_nosec(report, tmp_path):
    put(tmp_path, {"a.py": SOURCE})
    words = ["-m", "bandit", "-q", "--ignore-nosec", "-f", "json", "a.py"]
    printed = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, capture_output=True, check=False
    ).stdout
    expected = [
        (one["test_id"], one["line_number"], one["issue_severity"].lower())
        for one in json.loads(printed)["results"]
    ]
    assert sorted((f.rule, f.line, f.severity) for f in report.findings) == sorted(expected)


def test_a_record_of_the_history_is_one_line_of_json(report, tmp_path):
    record_findings(tmp_path, report, task="TASK-001", attempt=2)
    lines = (tmp_path / SAST_FINDINGS).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    (pickled,) = (one for one in records if one["rule"] == "B301")
    time = pickled["time"]
    assert pickled == {"v": 1, "time": time, "task": "TASK-001", "attempt": 2, **PICKLE}
    assert list(pickled) == ["v", "time", "task", "attempt", *PICKLE]
    assert lines[records.index(pickled)] == json.dumps(pickled, separators=(",", ":"))


def test_the_json_document_has_the_same_fields(report):
    document = json.loads(sast_document((one, {}) for one in report.findings))
    assert (document["kind"], document["schemaVersion"], document["notes"]) == ("sast", 1, [])
    assert PICKLE in document["findings"]
    assert len(document["findings"]) == len(EXPECTED)
