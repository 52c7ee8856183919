import json
from pathlib import Path

import pytest
from journal_story import FINDING, records, whole_story

from runner.errors import RunnerError
from runner.journal.events import NAMES, TYPES, RunStuck, Unknown
from runner.journal.records import (
    ENVELOPE,
    BadRecordError,
    NewerRecordError,
    UnfitRecordError,
    decode,
    encode,
    read_journal,
)
from runner.journal.state import FOLDED, fold
from runner.model import Status


def test_the_story_has_every_kind_of_event():
    assert {record.type for record in whole_story()} == set(TYPES)


@pytest.mark.parametrize("record", whole_story(), ids=lambda record: f"{record.seq} {record.type}")
def test_a_record_comes_back_as_it_was_written(record):
    line = encode(record)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == record
    assert decode(line) == decode(line.rstrip(b"\n"))


def test_a_line_begins_with_its_version_and_ends_with_its_checksum():
    (record,) = records(RunStuck(waiting=("TASK-001",)))
    assert encode(record) == (
        b'{"v":1,"id":"id-1","seq":1,"time":"2026-11-21T14:00:01.000000Z","run":"run-1",'
        b'"type":"run.stuck","task":"","attempt":0,"cause":"","origin":"id-1",'
        b'"producer":"runner/0","waiting":["TASK-001"],"crc":"b4ad3fbe"}\n'
    )


@pytest.mark.parametrize("kind", TYPES.values())
def test_no_event_has_a_field_of_the_envelope(kind):
    assert not set(kind.__struct_fields__) & set(ENVELOPE)
    assert NAMES[kind] in TYPES


def test_a_flipped_bit_anywhere_is_seen():
    line = encode(whole_story()[10])
    for position in range(len(line) - 1):
        broken = bytearray(line)
        broken[position] ^= 4
        with pytest.raises(BadRecordError):
            decode(bytes(broken))


def rewritten(record, **fields):
    """The record's line with other fields and a checksum that fits."""
    from zlib import crc32

    known = json.loads(encode(record))
    del known["crc"]
    known.update(fields)
    body = json.dumps(known, separators=(",", ":"))[:-1].encode()
    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def test_an_event_of_a_newer_runner_is_kept_and_folds_to_nothing():
    (record,) = records(RunStuck(waiting=()))
    line = rewritten(record, type="moon.risen", phase={"full": True})
    unknown = decode(line)
    assert unknown.event == Unknown("moon.risen", '{"waiting":[],"phase":{"full":true}}')
    assert decode(encode(unknown)) == unknown
    assert fold([unknown]).seq == 1


def test_a_field_of_a_newer_runner_is_left_out():
    (record,) = records(RunStuck(waiting=("A-1",)))
    assert decode(rewritten(record, colour="red")).event == record.event


def test_a_newer_format_is_named():
    (record,) = records(RunStuck(waiting=()))
    for fields in ({}, {"seq": "moved"}):
        with pytest.raises(NewerRecordError, match="its format is 2, this runner supports 1"):
            decode(rewritten(record, v=2, **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"waiting": "TASK-001"},
        {"waiting": [1]},
        {"waiting": {"a": 1}},
        {"seq": "1"},
        {"seq": True},
        {"task": None},
        {"run": ["x"]},
        {"attempt": 1.5},
        {"attempt": 2**63},
    ],
)
def test_values_of_another_shape_are_refused_not_believed(fields):
    (record,) = records(RunStuck(waiting=()))
    with pytest.raises(UnfitRecordError):
        decode(rewritten(record, **fields))


@pytest.mark.parametrize(
    ("position", "fields"),
    [
        (3, {"spec": {"what": 1, "proof": "x"}}),
        (3, {"spec": ["x", "y"]}),
        (9, {"proof": {"id": "TC-1"}}),
        (10, {"ending": "splendid"}),
        (10, {"findings": [{"message": ["a"]}]}),
        (16, {"verified": "yes"}),
        (23, {"statuses": {"TASK-001": "FINE"}}),
    ],
)
def test_nested_values_of_another_shape_are_refused(position, fields):
    with pytest.raises(UnfitRecordError):
        decode(rewritten(whole_story()[position], **fields))


def test_what_no_fold_needs_need_not_be_read():
    story = whole_story()
    lines = [encode(record) for record in story]
    assert fold(decode(line, wanted=FOLDED) for line in lines) == fold(story)


def summed(body):
    from zlib import crc32

    return b'%b,"crc":"%08x"}\n' % (body, crc32(body))


def as_read(line, path):
    """What the reading of a journal makes of a line behind one of its kind, or how it refuses."""
    (before,) = records(RunStuck(waiting=("A-1",)))
    path.write_bytes(encode(before) + line + encode(before._replace(seq=3)))
    try:
        return list(read_journal(path))[1]
    except RunnerError as error:
        return error.message.partition(": ")[2]


def as_decoded(line):
    try:
        return decode(line)
    except ValueError as error:
        return str(error)


_ENVELOPE = (
    b'{"v":1,"id":"i","seq":2,"time":"t","run":"r","type":"run.stuck","task":"","attempt":0,'
    b'"cause":"","origin":"o","producer":"p"'
)


@pytest.mark.parametrize(
    "body",
    [
        _ENVELOPE + b',"waiting":["A-1"]',
        _ENVELOPE + b',"waiting":["A-2"],"more":{"crc":1}',
        _ENVELOPE + b',"waiting":[],"waiting":["A-1"]',
        _ENVELOPE + b',"waiting":["A-1"],"task":"T-2"',
        _ENVELOPE + b',"waiting":["A-1"],"attempt":7',
        _ENVELOPE + b',"waiting":["A-1"],"crc":"00000000"',
        _ENVELOPE + b',"waiting":["A-1"]},{"a":1',
        _ENVELOPE + b',"waiting":["A-1"',
        _ENVELOPE + b',"waiting":"A-1"',
        _ENVELOPE + b',"waiting":["\xff"]',
        _ENVELOPE + b"," + b"[" * 100_000,
        _ENVELOPE,
        _ENVELOPE.replace(b'"id":"i"', b'"id":"\\u0069"') + b',"waiting":[]',
        _ENVELOPE.replace(b'"id":"i"', b'"id":"a\tb"') + b',"waiting":[]',
        _ENVELOPE.replace(b'"seq":2', b'"seq":02') + b',"waiting":[]',
        _ENVELOPE.replace(b'"seq":2', b'"seq":2.0') + b',"waiting":[]',
        _ENVELOPE.replace(b'"attempt":0', b'"attempt":-0') + b',"waiting":[]',
        _ENVELOPE.replace(b'"attempt":0', b'"attempt":-3') + b',"waiting":[]',
        _ENVELOPE.replace(b'"v":1', b'"v":2') + b',"waiting":[]',
        _ENVELOPE.replace(b"run.stuck", b"moon.risen") + b',"waiting":[{"a":1}]',
        _ENVELOPE.replace(b',"task":""', b"") + b',"task":"","waiting":[]',
    ],
)
def test_a_line_is_read_in_its_journal_as_it_is_decoded_alone(tmp_path, body):
    line = summed(body)
    alone, read = as_decoded(line), as_read(line, tmp_path / "journal.jsonl")
    if isinstance(alone, str):
        assert isinstance(read, str)
        assert alone in read
    else:
        assert read == alone


def test_records_that_differ_in_their_envelope_alone_are_told_apart(tmp_path):
    story = records(*(RunStuck(waiting=("A-1", "é\udc80")) for _ in range(5)))
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(map(encode, story)))
    for wanted in (None, FOLDED, ()):
        read = list(read_journal(path, wanted=wanted))
        assert read == [decode(encode(one), wanted=wanted) for one in story]
        assert [one.seq for one in read] == [1, 2, 3, 4, 5]


def test_a_name_that_is_no_utf_8_survives():
    assert "\udc80" in FINDING.message
    record = whole_story()[10]
    assert decode(encode(record)).event.findings == (FINDING,)


# --- a journal with proofs and findings of checks that are gone is read as it was -----


GOLDEN = Path(__file__).parents[1] / "golden" / "journal"
JOURNAL = GOLDEN / "removed_checks.jsonl"


def test_lines_of_every_event_are_read_and_written_byte_by_byte():
    """They were written before nouns were Structs: a story, and random values of each event."""
    lines = (GOLDEN / "every_event.jsonl").read_bytes().splitlines(keepends=True)
    assert {decode(line).type for line in lines} == set(TYPES)
    assert [encode(decode(line)) for line in lines] == lines


def test_a_journal_with_findings_of_removed_checks_folds_as_it_did():
    state = fold([decode(line) for line in JOURNAL.read_bytes().splitlines()])
    assert {name: state.task(name).status for name in sorted(state.tasks)} == {
        "TASK-001": Status.BLOCKED,
        "TASK-002": Status.BLOCKED,
        "TASK-003": Status.DONE,
        "TASK-004": Status.DONE,
    }
    assert [(one.check, one.asks, one.path) for one in state.task("TASK-001").findings] == [
        ("hardcoded-answers", True, "slug.py"),
        ("plan-examples-run", True, "slug.py"),
    ]
    assert [one.check for one in state.task("TASK-002").findings] == ["knows-tests"]
    assert [one.id for one in state.task("TASK-003").proofs] == ["TC-003", "coverage", "mutation"]
