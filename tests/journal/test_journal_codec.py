import json

import pytest
from journal_story import FINDING, records, whole_story

from runner.journal.events import NAMES, TYPES, RunStuck, Unknown
from runner.journal.records import (
    ENVELOPE,
    BadRecordError,
    NewerRecordError,
    UnfitRecordError,
    decode,
    encode,
)
from runner.journal.state import FOLDED, fold


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
    assert not set(kind._fields) & set(ENVELOPE)
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
    with pytest.raises(NewerRecordError, match="its format is 2, this runner knows 1"):
        decode(rewritten(record, v=2))


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


def test_a_name_that_is_no_utf_8_survives():
    assert "\udc80" in FINDING.message
    record = whole_story()[10]
    assert decode(encode(record)).event.findings == (FINDING,)
