"""Static analysis runs behind, informs, and never holds up or breaks what it looks at."""

from __future__ import annotations

import ast
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from threading import Event, Thread
from types import SimpleNamespace

import pytest
from writes_builders import a_change, put

from runner.app.write.static_checks import sast_document
from runner.model import digest_of
from runner.writes import bandit_scan
from runner.writes.bandit_scan import longest
from runner.writes.sast import (
    SAST_FINDINGS,
    SastPool,
    load_findings,
    record_findings,
    scan_file,
)
from runner.writes.sast_report import SastReport

RISKY = b"import pickle\n\npickle.loads(x)  # nosec\nsubprocess.call(y, shell=True)\n"


@contextmanager
def busy_threads(count):
    """Others who want this interpreter meanwhile."""
    over = Event()

    def work():
        while not over.is_set():
            sum(range(1_000))

    threads = [Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield
    over.set()
    for thread in threads:
        thread.join()


def test_nosec_does_not_silence_it_and_places_are_counted_from_one():
    report = scan_file(RISKY, "src/a.py")
    assert [(f.rule, f.line, f.column, f.severity) for f in report.findings] == [
        ("B403", 1, 1, "low"),
        ("B301", 3, 1, "medium"),
        ("B602", 4, 1, "high"),
    ]
    assert {(f.path, f.tool, f.digest) for f in report.findings} == {
        ("src/a.py", "bandit", digest_of(RISKY))
    }
    assert report.summary == "1 high, 1 medium, 1 low"


def test_it_never_quotes_the_password_it_found():
    report = scan_file(b"password = 'correct horse'\ndef f(token='battery'):\n    pass\n", "a.py")
    assert len(report.findings) == 2
    assert not any("horse" in f.message or "battery" in f.message for f in report.findings)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"def", "it is not valid Python"),
        (b"a\0b", "it is not valid Python"),
        (b"-" * 60_000 + b"1", "it is nested too deeply"),
        (b"x = 1 #" * 100_000, "it is larger than 512 kB"),
        (b"f'" + b"{a}" * 80_000 + b"'", "it is too complex to parse"),
        (b"x = " + b"'a' + " * 800 + b"'b'", "it took too long"),
    ],
)
def test_what_cannot_be_scanned_is_a_note_with_the_reason(content, reason):
    start = time.monotonic()
    report = scan_file(content, "a.py", seconds=0.3)
    assert report.findings == ()
    (note,) = report.notes
    assert note.message == f"bandit did not scan this file: {reason}"
    assert (note.severity, note.tool) == ("note", "bandit")
    assert time.monotonic() - start < 60


def test_source_of_a_newer_python_is_read_with_its_lines_and_columns():
    source = "def f(d, x):\n    return f'{d['k']} {', '.join(x)} {x!r:>{d['w']}} {{no}}', g(x)\n"
    older = bandit_scan.readable(source)
    assert len(older) == len(source)
    assert older.index("g(x)") == source.index("g(x)")
    ast.parse(older)
    plain = 'x = "{not a field\'s}"  # it\'s f\'{a comment\ny = rb"{" + f"{x}"\n'
    assert bandit_scan.readable(plain) == plain


def test_a_dict_of_thousands_of_strings_is_scanned_in_time():
    content = b"x = {\n" + b"'a': 'b',\n" * 4_000 + b"}\nassert x\n"
    assert [f.rule for f in scan_file(content, "a.py", seconds=60).findings] == ["B101"]


def test_a_flood_of_findings_is_counted_and_not_listed():
    report = scan_file(b"assert x\n" * 1_000, "a.py", seconds=60)
    assert len(report.findings) == 200
    assert [note.message for note in report.notes] == ["bandit has 800 more findings in this file"]


def test_what_is_not_listed_is_never_graver_than_what_is():
    report = scan_file(b"assert x\n" * 300 + RISKY, "a.py", seconds=60)
    assert len(report.findings) == 200
    assert [found.line for found in report.findings][-2:] == [303, 304]
    assert [found.line for found in report.find_blocking("high")] == [
        304
    ]  # and no word of the notes


def test_padding_a_file_is_no_way_around_what_a_team_lets_block():
    padded = RISKY + b"# padding\n" * (60 << 10)
    report = scan_file(padded, "a.py")
    assert report.findings == ()
    assert report.find_blocking("never") == ()
    (found,) = report.find_blocking("high")
    assert found.refuses
    assert (found.check, found.path) == ("sast", "a.py")
    assert found.message == (
        "bandit did not scan this file: it is larger than 512 kB; "
        "sast.block_at rejects unscanned files"
    )
    assert found.hint == "make the file smaller or simpler, so that it can be scanned"


def test_a_large_file_has_more_time_and_a_busy_machine_takes_none_of_it():
    assert longest(b"", 1.0) == 1.0
    assert longest(b"x" * (512 << 10), 1.0) == 33.0
    padded = b"f(1, 2, 3)\n" * 600 + RISKY
    scan_file(padded, "a.py", seconds=60.0)
    began = time.thread_time()
    scan_file(padded, "a.py", seconds=60.0)
    alone = time.thread_time() - began
    with busy_threads(6):  # by the clock it would take seven times as long
        report = scan_file(padded, "a.py", seconds=4 * alone)
    assert report.notes == ()
    assert [found.severity for found in report.findings] == ["low", "medium", "high"]


def test_it_speaks_to_no_one_and_changes_nothing_of_the_process(capfd):
    shape = warnings.formatwarning
    scan_file(b"x = '\\d'\nassert 1 is 1\n", "a.py")
    assert warnings.formatwarning is shape
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == logging.root.handlers


def test_a_settings_file_of_the_repository_is_not_heeded(tmp_path, monkeypatch):
    put(tmp_path, {".bandit": b"[bandit]\nskips = B101\n", "bandit.yaml": b"skips: [B101]\n"})
    monkeypatch.chdir(tmp_path)
    assert [f.rule for f in scan_file(b"assert x\n", "a.py").findings] == ["B101"]


def test_scans_run_behind_and_closing_waits_for_them():
    pool = SastPool()
    changes = [a_change(f"{n}.py", RISKY) for n in range(5)]
    scan = pool.scan([*changes, a_change("a.md", b"text"), a_change("b.py", None, before=b"")])
    pool.close()
    assert scan.is_ready()
    assert len(scan.result().findings) == 15
    assert pool.scan([]).result() == SastReport()


def test_a_team_may_let_it_block_from_a_severity_on():
    report = scan_file(RISKY, "a.py")
    assert [found.line for found in report.find_blocking("high")] == [4]
    assert [found.line for found in report.find_blocking("medium")] == [3, 4]
    assert report.find_blocking("") == ()
    (found,) = report.find_blocking("high")
    assert found.refuses
    assert found.message.startswith("B602 (high): ")


def test_findings_are_kept_in_the_promised_fields(tmp_path):
    record_findings(tmp_path, scan_file(RISKY, "a.py"), task="TASK-002", attempt=2)
    record_findings(tmp_path, scan_file(b"assert x\n", "b.py"), task="TASK-003", attempt=1)
    lines = (tmp_path / SAST_FINDINGS).read_text(encoding="utf-8").splitlines()
    assert list(json.loads(lines[0])) == [
        "v", "time", "task", "attempt", "path", "line", "column", "rule", "severity",
        "confidence", "message", "tool", "digest",
    ]  # fmt: skip
    assert len(load_findings(tmp_path)) == 4
    assert [found["rule"] for found in load_findings(tmp_path, "TASK-003")] == ["B101"]


def test_what_was_not_scanned_is_kept_beside_the_findings(tmp_path):
    record_findings(tmp_path, scan_file(b"def", "a.py"), task="TASK-002", attempt=1)
    (kept,) = load_findings(tmp_path)
    assert (kept["rule"], kept["severity"], kept["tool"]) == ("unscanned", "note", "bandit")
    assert kept["message"] == "bandit did not scan this file: it is not valid Python"


def test_importing_this_room_loads_no_scanner():
    program = (
        "import sys, runner.writes.pipeline, runner.writes.sast, runner.writes.log\n"
        "heavy = {'bandit', 'yaml', 'pathspec', 'detect_secrets', 're2', 'rich', 'subprocess',\n"
        "         'concurrent.futures', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout == b"[]\n"


_ITS_OWN_RULES = """
import sys
from runner.writes import bandit_scan
found = bandit_scan.scan(b"import pickle\\neval(input())\\n", "a.py", seconds=1.0)
assert "B403" in {one.rule for one in found}, found
unused = {"rich.progress", "yaml", "stevedore", "email", "importlib.metadata", "xml.etree"}
print(sorted(unused & set(sys.modules)))
from rich import progress
import bandit, yaml
assert progress.track([1]) and sys.modules["rich.progress"] is progress
assert yaml.safe_load("a: 1") == {"a": 1} and bandit.__version__ and bandit.Issue
tests = bandit_scan._bandit()[1]
"""
_ALL_RULES = """
from bandit.core import config, test_set
tests = test_set.BanditTestSet(config.BanditConfig())
"""
_NAMED = """
print({kind: sorted((test._test_id, test.__name__) for test in each)
       for kind, each in sorted(tests.tests.items())})
"""


def test_a_scan_knows_every_rule_of_bandit_and_loads_nothing_that_only_reports_and_settings_use():
    said = [
        subprocess.run(
            [sys.executable, "-c", program + _NAMED], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for program in (_ITS_OWN_RULES, _ALL_RULES)
    ]
    assert said[0] == ["[]", *said[1]]


def test_a_rule_that_another_package_registers_is_not_run(tmp_path):
    """Beside a project that is installed, it would be the project that judges itself."""
    put(
        tmp_path,
        {
            "theirs-1.0.dist-info/METADATA": b"Name: theirs\nVersion: 1.0\n",
            "theirs-1.0.dist-info/entry_points.txt": b"[bandit.plugins]\nmine = theirs:rule\n",
            "theirs.py": b"print('theirs ran')\n",
        },
    )
    said = subprocess.run(
        [sys.executable, "-c", "from runner.writes import bandit_scan; bandit_scan._bandit()"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == ""


@pytest.mark.parametrize("kind", ["bandit.plugins", "bandit.blacklists"])
def test_bandits_own_rules_are_found_where_it_was_installed_in_another_way(
    tmp_path, monkeypatch, kind
):
    beside = sorted(bandit_scan._registered(kind))
    elsewhere = SimpleNamespace(origin=str(tmp_path / "bandit" / "__init__.py"))
    monkeypatch.setattr(bandit_scan, "find_spec", lambda _: elsewhere)
    assert sorted(bandit_scan._registered(kind)) == beside != []


# --- the findings of one Python file --------------------------------------------------


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
