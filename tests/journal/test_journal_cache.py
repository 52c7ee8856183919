import pytest
from journal_story import whole_story

from runner.errors import RunnerError
from runner.journal import journal_cache
from runner.journal.journal_cache import RecordIndex, select_records
from runner.journal.records import encode


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(journal_cache, "WORTH_SAVING", 1)
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"".join(map(encode, whole_story())))
    return path


def read(path, **which):
    return [one.seq for one in select_records(path, path.parent / "cache", **which)]


def keep(path, number):
    """Keep an index of the first records alone."""
    story = whole_story()
    path.write_bytes(b"".join(map(encode, story[:number])))
    RecordIndex.load(path, path.parent / "cache")
    with path.open("ab") as file:
        file.writelines(map(encode, story[number:]))


@pytest.mark.parametrize(
    "which",
    [
        {},
        {"tasks": ("TASK-001",)},
        {"types": {"task.done", "run.started"}},
        {"types": {"task.done"}, "tasks": ("TASK-001", ""), "after": 5},
        {"tasks": ("TASK-999",)},
    ],
)
def test_an_index_of_any_length_finds_what_a_whole_read_finds(path, which):
    types, tasks = which.get("types"), which.get("tasks")
    wanted = [
        one.seq
        for one in whole_story()
        if one.seq > which.get("after", 0)
        and (types is None or one.type in types)
        and (tasks is None or one.task in tasks)
    ]
    for number in (0, 1, 17, len(whole_story())):
        keep(path, number)
        assert read(path, **which) == wanted


def test_an_index_of_another_journal_is_not_used(path):
    read(path)
    fewer = whole_story()[:9]
    path.unlink()
    path.write_bytes(b"".join(map(encode, fewer)))
    assert read(path) == [one.seq for one in fewer]


def test_a_record_that_was_damaged_since_is_named(path):
    read(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"TASK-001", b"TASK-00X", 1))
    with pytest.raises(RunnerError, match="damaged"):
        read(path)


def test_a_journal_that_does_not_exist_has_none(tmp_path):
    assert not list(select_records(tmp_path / "none.jsonl", tmp_path))
