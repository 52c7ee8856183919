"""The store keeps exact bytes outside of the work tree, and says what is missing."""

from __future__ import annotations

import stat

import pytest
from msgspec.structs import replace

from runner.errors import RunnerError
from runner.held_out.store import (
    ID_FILE,
    FileRecord,
    HeldOutStore,
    make_store_id,
    read_store_id,
)
from runner.model import HeldOutFile, digest_of
from runner.plan.document import read_plan

TEST = b"def test_a1_end():\n    assert False\n"
LISTED = HeldOutFile("tests/test_end.py", digest_of(TEST))


@pytest.fixture
def places(tmp_path):
    common, state = tmp_path / "repo/.git", tmp_path / "state/runner/held-out"
    common.mkdir(parents=True)
    return state, common


@pytest.fixture
def task():
    (task,) = read_plan(b"## TASK-001: Orders\n\n- Output files: `a.py`\n", "P").tasks
    return replace(task, held_out_files=(LISTED,))


def open_store(places):
    make_store_id(places[1])
    return HeldOutStore.open(*places, "TASK-GRAPH.md")


def test_a_store_that_nobody_made_misses_all_files_and_creates_nothing(places, task):
    store = HeldOutStore.open(*places, "TASK-GRAPH.md")
    assert [one.path for one in store.find_missing(task)] == ["tests/test_end.py"]
    assert not places[0].exists()
    assert not (places[1] / ID_FILE).exists()


def test_a_file_comes_back_byte_for_byte_from_a_private_folder(places, task):
    store = open_store(places)
    store.put("TASK-001", "tests/test_end.py", TEST, FileRecord())
    assert store.find_missing(task) == ()
    assert store.read_all(task) == {"tests/test_end.py": TEST}
    assert stat.S_IMODE(places[0].stat().st_mode) == 0o700
    assert stat.S_IMODE(store.folder_of("TASK-001").stat().st_mode) == 0o700


def test_another_content_is_missing_and_the_error_names_the_command(places, task):
    store = open_store(places)
    store.put("TASK-001", "tests/test_end.py", b"assert True\n", FileRecord())
    (found,) = store.find_missing(task)
    assert found.found == digest_of(b"assert True\n")
    with pytest.raises(RunnerError, match=r"tests/test_end.py of TASK-001") as error:
        store.read_all(task)
    assert error.value.hint.startswith("runner hold-out TASK-001 tests/test_end.py --from FOLDER")


def test_a_dropped_file_is_gone_with_its_record(places):
    store = open_store(places)
    store.put("TASK-001", "a/b.py", TEST, FileRecord(held_before=("a/b.py::test_a1_end",)))
    assert (store.folder_of("TASK-001") / "a/b.py").is_file()
    assert store.record_of("TASK-001", "a/b.py").held_before == ("a/b.py::test_a1_end",)
    assert store.drop("TASK-001", "a/b.py")
    assert not (store.folder_of("TASK-001") / "a/b.py").exists()
    assert not store.drop("TASK-001", "a/b.py")


def test_a_file_without_a_record_is_not_independent(places):
    assert open_store(places).record_of("TASK-001", "a.py").once_in_git


def test_the_id_stays_where_the_repository_is_moved(places):
    first = make_store_id(places[1])
    moved = places[1].rename(places[1].parent.parent / "moved")
    assert make_store_id(moved) == first == read_store_id(moved)


@pytest.mark.parametrize("content", ["../../home", "", "0123"])
def test_a_damaged_id_is_an_error_and_no_path(places, content):
    (places[1] / ID_FILE).write_text(content)
    with pytest.raises(RunnerError, match="damaged"):
        read_store_id(places[1])


def test_two_plans_of_a_repository_have_two_folders(places):
    make_store_id(places[1])
    one, two = (HeldOutStore.open(*places, path) for path in ("TASK-GRAPH.md", "api/TASK-GRAPH.md"))
    assert one.folder_of("TASK-001") != two.folder_of("TASK-001")


def test_the_person_s_own_folder_takes_the_place_of_the_store(places, tmp_path):
    own = tmp_path / "private"
    store = HeldOutStore.open(*places, "TASK-GRAPH.md", own)
    store.put("TASK-001", "a.py", TEST, FileRecord())
    assert store.folder_of("TASK-001").is_relative_to(own)


def test_a_link_in_the_store_is_never_followed(places, tmp_path):
    store = open_store(places)
    store.put("TASK-001", "a.py", TEST, FileRecord())
    (tmp_path / "other.py").write_bytes(TEST)
    file = store.folder_of("TASK-001") / "a.py"
    file.unlink()
    file.symlink_to(tmp_path / "other.py")
    with pytest.raises(RunnerError, match="link"):
        store.read("TASK-001", "a.py")
