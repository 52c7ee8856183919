"""The findings of one Python file: rules, lines and the exact records that a person reads."""

from __future__ import annotations

import json

import pytest

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
    ("taint-cmdi", 6, 1, "low", "high"),
    ("B301", 7, 1, "medium", "high"),
    ("taint-weakhash", 8, 1, "medium", "medium"),
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
    assert report.summary == "2 medium, 5 low"


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
