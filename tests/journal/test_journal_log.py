import errno
import os
import subprocess
import sys
import threading

import pytest
from journal_story import whole_story

from runner import effects
from runner.errors import RunnerError
from runner.journal import records as read_journal_module
from runner.journal.events import RunStuck, TaskDone, TaskReopened
from runner.journal.log import Journal
from runner.journal.records import encode, read_journal, read_places
from runner.journal.state import fold


@pytest.fixture
def path(tmp_path):
    return tmp_path / "build" / "journal.jsonl"


def write_story(path, upto=None):
    path.parent.mkdir(exist_ok=True)
    lines = [encode(record) for record in whole_story()[:upto]]
    path.write_bytes(b"".join(lines))
    return lines


def test_what_was_appended_is_read_in_its_order(path):
    with Journal.open(path, run="run-7") as journal:
        first = journal.append(RunStuck(waiting=("A-1",)))
        second = journal.append(
            TaskReopened(note="x"), task="A-1", attempt=2, cause=first, durable=True
        )
        third = journal.append(RunStuck(waiting=()), cause=second.id)
        assert list(journal.read()) == [first, second, third]
    assert [record.seq for record in (first, second, third)] == [1, 2, 3]
    assert (second.task, second.attempt, second.run) == ("A-1", 2, "run-7")
    assert (first.cause, first.origin) == ("", first.id)
    assert (second.cause, second.origin) == (first.id, first.id)
    assert (third.cause, third.origin) == (second.id, first.id)
    assert first.producer.startswith("runner/")


def test_ids_are_uuids_of_version_7_that_grow_with_time(path):
    import time
    import uuid

    with Journal.open(path) as journal:
        before = uuid.UUID(journal.append(RunStuck(waiting=())).id)
        time.sleep(0.003)
        after = uuid.UUID(journal.append(RunStuck(waiting=())).id)
    assert before.version == after.version == 7
    assert before.variant == uuid.RFC_4122
    assert before < after


def test_numbers_go_on_after_opening_again(path):
    with Journal.open(path) as journal:
        journal.append(RunStuck(waiting=()))
    with Journal.open(path) as journal:
        assert journal.append(RunStuck(waiting=())).seq == 2
        assert journal.place.seq == 2


def test_every_prefix_of_whole_records_opens_and_goes_on(path):
    story = whole_story()
    for number in range(len(story) + 1):
        write_story(path, number)
        assert list(read_journal(path)) == story[:number]
        with Journal.open(path) as journal:
            assert journal.append(RunStuck(waiting=())).seq == number + 1
        resumed = list(read_journal(path))
        assert fold(resumed[:number]) == fold(story[:number])


@pytest.mark.no_cover
def test_a_journal_cut_at_any_byte_opens_as_the_records_before_the_cut(path):
    story = whole_story()
    lines = write_story(path)
    content = b"".join(lines)
    for cut in range(len(content) - len(b"".join(lines[-3:])), len(content)):
        kept = content[:cut].count(b"\n")
        if content[cut : cut + 1] == b"\n":
            kept += 1  # whole but for its line end: it did happen
        path.write_bytes(content[:cut])
        assert list(read_journal(path)) == story[:kept]
        with Journal.open(path) as journal:
            assert journal.append(RunStuck(waiting=())).seq == kept + 1
        read = list(read_journal(path))
        assert read[:kept] == story[:kept]
        assert len(read) == kept + 1


@pytest.mark.parametrize(
    "tail", [b"\0" * 700, b"garbage\n", b"{}\n", b'{"v":1', b"\n", b"\xff\xfe"]
)
def test_a_last_line_that_is_no_record_is_cut(path, tail):
    lines = write_story(path, 3)
    path.write_bytes(b"".join(lines) + tail)
    assert len(list(read_journal(path))) == 3
    Journal.open(path).close()
    assert path.read_bytes() == b"".join(lines)


def test_a_long_last_line_is_found(path):
    with Journal.open(path) as journal:
        journal.append(RunStuck(waiting=()))
        journal.append(RunStuck(waiting=("x" * 200_000,)))
    with Journal.open(path) as journal:
        assert journal.append(RunStuck(waiting=())).seq == 3


def test_damage_in_the_middle_stops_says_where_and_touches_nothing(path):
    lines = write_story(path, 6)
    start = len(b"".join(lines[:3]))
    content = bytearray(b"".join(lines))
    content[start + 30] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunnerError) as caught:
        list(read_journal(path))
    assert caught.value.message == (
        f"the journal is damaged: line 4, at byte {start}: the record's checksum does not match"
    )
    assert caught.value.where == f"{path}:4"
    assert caught.value.hint.startswith("nothing was changed; restore the file from a backup")
    assert path.read_bytes() == content


def test_two_bad_lines_at_the_end_are_damage_not_a_torn_write(path):
    lines = write_story(path, 3)
    content = lines[0] + b"bad\n" + b"worse"
    path.write_bytes(content)
    with pytest.raises(RunnerError, match="line 2, at byte"):
        Journal.open(path)


def test_a_line_that_is_being_written_while_it_is_read_is_no_damage(path, monkeypatch):
    lines = write_story(path, 3)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    weigh = read_journal_module.decode

    def goes_on(line, **wanted):
        if not line.endswith(b"\n"):
            path.write_bytes(b"".join(lines))  # the same file: the rest of the write has come
        return weigh(line, **wanted)

    monkeypatch.setattr(read_journal_module, "decode", goes_on)
    assert len(list(read_journal(path))) == 2
    assert len(list(read_journal(path))) == 3


def test_who_read_the_last_record_before_its_line_end_goes_on_behind_it(path):
    lines = write_story(path, 3)
    path.write_bytes(b"".join(lines).removesuffix(b"\n"))
    *_, (last, place) = read_places(path)
    assert last.seq == 3
    assert list(read_places(path, place)) == []
    with Journal.open(path) as journal:
        added = journal.append(RunStuck(waiting=()))
    assert [one for one, _ in read_places(path, place)] == [added]


def test_a_missing_and_a_doubled_record_are_noticed(path):
    lines = write_story(path, 6)
    path.write_bytes(b"".join(lines[:2] + lines[4:]))
    with pytest.raises(RunnerError, match=r"line 3, .*: records 3 to 4 are missing before"):
        list(read_journal(path))
    path.write_bytes(b"".join([*lines[:3], *lines[2:]]))
    with pytest.raises(RunnerError, match=r"line 4, .*: record number 3 was already used"):
        list(read_journal(path))


def test_a_journal_of_a_newer_runner_is_named_as_such(path):
    from zlib import crc32

    write_story(path, 1)
    body = path.read_bytes().replace(b'"v":1', b'"v":2').partition(b',"crc"')[0]
    path.write_bytes(b'%b,"crc":"%08x"}\n' % (body, crc32(body)))
    for read in (lambda: list(read_journal(path)), lambda: Journal.open(path)):
        with pytest.raises(RunnerError) as caught:
            read()
        assert caught.value.message == (
            "the journal was written by a newer runner: its format is 2, this runner supports 1"
        )


def test_a_whole_last_line_that_cannot_be_read_is_never_cut(path):
    from zlib import crc32

    write_story(path, 2)
    for body in (
        b'{"v":1,"seq":3',
        path.read_bytes().splitlines()[1].replace(b'"seq":2', b'"seq":"x"'),
    ):
        whole = body.partition(b',"crc"')[0]
        path.write_bytes(path.read_bytes() + b'%b,"crc":"%08x"}\n' % (whole, crc32(whole)))
        content = path.read_bytes()
        for read in (lambda: list(read_journal(path)), lambda: Journal.open(path)):
            with pytest.raises(RunnerError, match=r"line 3, at byte .*: the record's values are"):
                read()
        assert path.read_bytes() == content
        write_story(path, 2)


def test_no_journal_has_no_records(path):
    assert list(read_journal(path)) == []


def failing(kind, times=1):
    """A watch that lets the effect of this kind fail as many times as said."""
    left = [times]

    def watch(seen, _):
        if seen == kind and left[0]:
            left[0] -= 1
            raise OSError(errno.EIO, "injected")

    return watch


def test_after_an_error_of_fsync_nothing_is_called_done_any_more(path):
    with Journal.open(path) as journal:
        journal.append(RunStuck(waiting=()), durable=True)
        watch = failing("fsync")
        effects.watch(watch)
        try:
            with pytest.raises(OSError, match="injected"):
                journal.append(RunStuck(waiting=("A-1",)), durable=True)
        finally:
            effects.unwatch(watch)
        for attempt in (
            lambda: journal.append(RunStuck(waiting=()), durable=True),
            lambda: journal.append(RunStuck(waiting=())),
            journal.sync,
        ):
            with pytest.raises(OSError, match="an earlier write to the journal failed"):
                attempt()
    assert len(list(read_journal(path))) == 2


def test_a_write_that_stops_half_way_is_cut_before_the_next(path, monkeypatch):
    with Journal.open(path) as journal:
        journal.append(RunStuck(waiting=()))
        real = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:20]) and 1 / 0)
        with pytest.raises(ZeroDivisionError):
            journal.append(RunStuck(waiting=("lost",)))
        monkeypatch.undo()
        assert len(list(read_journal(path))) == 1
        assert journal.append(RunStuck(waiting=("kept",))).seq == 2
    assert [record.event.waiting for record in read_journal(path)] == [(), ("kept",)]


def test_stopped_at_any_effect_it_goes_on_and_keeps_all_that_was_said_to_be_durable(path):
    def live(said):
        with Journal.open(path) as journal:
            for number in range(6):
                record = journal.append(RunStuck(waiting=(str(number),)), durable=number % 2 == 1)
                if number % 2 == 1:
                    os.write(said, b"%d\n" % record.seq)

    def stop_at(last):
        count = [0]

        def watch(*_):
            count[0] += 1
            if count[0] == last:
                os._exit(9)

        return watch

    stopped, last = True, 0
    while stopped:
        last += 1
        path.unlink(missing_ok=True)
        hear, say = os.pipe()
        child = os.fork()
        if child == 0:
            effects.watch(stop_at(last))
            live(say)
            os._exit(0)
        os.close(say)
        stopped = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        with os.fdopen(hear) as heard:
            promised = [int(line) for line in heard]
        kept = [record.seq for record in read_journal(path)]
        assert kept == list(range(1, len(kept) + 1))
        assert len(kept) >= max(promised, default=0)
        with Journal.open(path) as journal:
            assert journal.append(RunStuck(waiting=())).seq == len(kept) + 1
    assert last > 10


def test_one_fsync_makes_everything_before_it_durable(path):
    counted = []
    watch = lambda kind, _: counted.append(kind)  # noqa: E731 # two words of a test
    with Journal.open(path) as journal:
        effects.watch(watch)
        try:
            for _ in range(10):
                journal.append(RunStuck(waiting=()))
            journal.append(RunStuck(waiting=()), durable=True)
            journal.sync()
        finally:
            effects.unwatch(watch)
    assert counted.count("fsync") == 1
    assert counted.count("write") == 11


def test_threads_append_whole_lines_each_number_once(path):
    with Journal.open(path) as journal:

        def work(name):
            for number in range(60):
                journal.append(RunStuck(waiting=(name,)), durable=number % 20 == 0)

        threads = [threading.Thread(target=work, args=(f"A-{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    read = list(read_journal(path))
    assert [record.seq for record in read] == list(range(1, 361))
    assert len({record.id for record in read}) == 360


_OTHER = """
import sys
from pathlib import Path
from runner.journal.events import RunStuck
from runner.journal.log import Journal
with Journal.open(Path(sys.argv[1])) as journal:
    for number in range(40):
        journal.append(RunStuck(waiting=(sys.argv[2],)))
"""


def test_processes_append_to_one_journal_whole_and_in_order(path):
    with Journal.open(path) as journal:
        mine = [journal.append(RunStuck(waiting=("me",)))]
        others = [
            subprocess.Popen([sys.executable, "-c", _OTHER, str(path), name]) for name in "ab"
        ]
        mine += [journal.append(RunStuck(waiting=("me",))) for _ in range(40)]
        assert [other.wait() for other in others] == [0, 0]
    read = list(read_journal(path))
    assert [record.seq for record in read] == list(range(1, 122))
    assert sorted(record.event.waiting[0] for record in read)[:80] == ["a"] * 40 + ["b"] * 40
    assert [record for record in read if record.event.waiting == ("me",)] == mine


def test_a_journal_that_was_removed_meanwhile_is_no_place_to_write(path):
    with Journal.open(path) as journal:
        journal.append(RunStuck(waiting=()))
        path.unlink()
        with pytest.raises(RunnerError, match="removed or truncated while the runner was writing"):
            journal.append(TaskReopened(), task="A-1")


def test_a_link_or_a_pipe_in_its_place_is_refused(path, tmp_path):
    path.parent.mkdir()
    target = tmp_path / "target"
    target.write_text("precious")
    path.symlink_to(target)
    with pytest.raises(RunnerError, match="not a plain file"):
        Journal.open(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(RunnerError, match="not a plain file"):
        Journal.open(path)
    assert target.read_text() == "precious"


def test_an_event_without_its_fields_is_not_written(path):
    with Journal.open(path) as journal, pytest.raises(TypeError):
        journal.append(TaskDone())
