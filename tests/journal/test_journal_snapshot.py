import pytest
from journal_story import whole_story
from msgspec.structs import replace

from runner.errors import RunnerError
from runner.journal import journal_cache, snapshot
from runner.journal.records import encode, read_places
from runner.journal.snapshot import load_state, read_state, save_state, write_state
from runner.journal.state import PersistentMap, RunState, fold
from runner.journal.task_state import TaskState


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(encode(record) for record in whole_story()))
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def keep_after(path, cache, number):
    """Save the snapshot of the first records alone."""
    for record, place in read_places(path):
        if record.seq == number:
            save_state(path, cache, fold(whole_story()[:number]), place)
    (file,) = cache.iterdir()
    return file


def test_a_snapshot_at_any_record_gives_the_state_of_a_full_fold(path, cache):
    story = whole_story()
    full = fold(story)
    for number in range(1, len(story) + 1):
        keep_after(path, cache, number)
        restored, place = snapshot._read_snapshot(path, cache)
        assert restored == fold(story[:number])
        assert place.seq == number
        assert load_state(path, cache) == full


def test_the_tail_alone_is_read_again(path, cache, monkeypatch):
    keep_after(path, cache, 20)
    read = []
    real = snapshot.read_places
    monkeypatch.setattr(
        snapshot,
        "read_places",
        lambda *a, **k: (read.append(pair[0].seq) or pair for pair in real(*a, **k)),
    )
    assert load_state(path, cache) == fold(whole_story())
    assert read == list(range(21, len(whole_story()) + 1))


def test_a_snapshot_of_a_snapshot_is_the_same(path, cache):
    file = keep_after(path, cache, len(whole_story()))
    content = file.read_bytes()
    restored, place = snapshot._read_snapshot(path, cache)
    save_state(path, cache, restored, place)
    assert file.read_bytes() == content


def test_a_long_tail_is_kept_for_the_next_time(path, cache, monkeypatch):
    load_state(path, cache)
    assert not cache.exists()
    monkeypatch.setattr(snapshot, "WORTH_SAVING", 3)
    load_state(path, cache)
    assert snapshot._read_snapshot(path, cache)[0] == fold(whole_story())


@pytest.mark.no_cover
def test_a_damaged_snapshot_is_ignored_wherever_it_is_damaged(path, cache):
    full = fold(whole_story())
    file = keep_after(path, cache, 20)
    content = file.read_bytes()
    for position in range(0, len(content), 7):
        broken = bytearray(content)
        broken[position] ^= 1
        file.write_bytes(broken)
        assert load_state(path, cache) == full
        file.write_bytes(content[:position])
        assert load_state(path, cache) == full


def test_a_snapshot_of_another_history_is_ignored(path, cache):
    keep_after(path, cache, 20)
    story = whole_story()
    changed = [record._replace(run="other") for record in story[:20]]
    path.write_bytes(b"".join(map(encode, changed)))
    assert load_state(path, cache) == fold(changed)
    path.write_bytes(b"".join(map(encode, story[:5])))
    assert load_state(path, cache) == fold(story[:5])
    path.unlink()
    assert load_state(path, cache) == RunState.empty()


def test_a_snapshot_of_another_version_is_ignored(path, cache, monkeypatch):
    keep_after(path, cache, 20)
    monkeypatch.setattr(journal_cache, "__version__", "0.0.0")
    assert snapshot._read_snapshot(path, cache) is None


def test_a_torn_last_line_is_not_in_the_snapshot(path, cache, monkeypatch):
    monkeypatch.setattr(snapshot, "WORTH_SAVING", 1)
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    assert load_state(path, cache) == fold(whole_story()[:-1])
    path.write_bytes(content)
    assert load_state(path, cache) == fold(whole_story())


def test_damage_behind_the_snapshot_is_still_damage(path, cache):
    keep_after(path, cache, 20)
    content = path.read_bytes().replace(b'"again"', b'"agaim"')
    path.write_bytes(content)
    with pytest.raises(RunnerError) as caught:
        load_state(path, cache)
    line = next(record.seq for record in whole_story() if record.type == "task.reopened")
    assert caught.value.where == f"{path}:{line}"


def test_a_cache_that_cannot_be_written_is_no_failure(path, tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "WORTH_SAVING", 1)
    (tmp_path / "file").write_text("")
    assert load_state(path, tmp_path / "file" / "cache") == fold(whole_story())


@pytest.mark.parametrize("count", [1, 511, 512, 513, 1100])
def test_many_tasks_come_back_as_they_were_whether_alike_or_not(count):
    some = list(fold(whole_story()).tasks.values())
    tasks = [replace(some[number % len(some)], id=f"T{number}") for number in range(count)]
    alike = [TaskState(f"T{number}", note="as all") for number in range(count)]
    for group in (tasks, alike):
        state = RunState(seq=3, tasks=PersistentMap((one.id, one) for one in group))
        body = write_state(state)
        again = read_state(body)
        assert again == state
        assert write_state(again) == body
    assert len(body) < 40 * count + 2_000, "what is the same for all is written once"


def test_a_snapshot_that_lacks_lines_or_tells_of_too_many_tasks_is_none():
    state = fold(whole_story())
    lines = write_state(state).split(b"\n")
    for end in range(1, len(lines)):
        with pytest.raises(ValueError, match="missing"):
            read_state(b"\n".join(lines[:end]))
    with pytest.raises(IndexError):
        read_state(
            b'{"run":{},"landing":"","reviews":[],"tasks":1}\n[[{"id":"a"}],{"proofs":[7]}]\n[]'
        )
