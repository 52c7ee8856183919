"""The store keeps exact bytes outside of the work tree, and no command in a sandbox reads it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

import pytest
from msgspec.structs import replace
from settings_of import settings_of

from runner.errors import RunnerError
from runner.held_out.proof import find_names
from runner.held_out.store import (
    ID_FILE,
    FileRecord,
    HeldOutStore,
    make_store_id,
    read_store_id,
)
from runner.held_out.workspace import is_enclosed
from runner.model import Action, Change, HeldOutFile, digest_of
from runner.plan.document import read_plan
from runner.process.base import Command, Place, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox, sandbox_of
from runner.process.seatbelt import write_profile
from runner.process.supervise import run

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


SECRET = "def test_a1_hidden"


@dataclass
class Machine:
    """A repository's place, and a store in a folder that the person shows to commands."""

    place: Place
    store: object
    word: str

    def sandbox(self, **settings):
        environ = {**os.environ, "XDG_STATE_HOME": str(self.store.parents[1])}
        try:
            return sandbox_of(settings_of(sandbox=self.word, **settings), environ)
        except RunnerError as error:
            pytest.skip(error.message)

    def run(self, line, sandbox):
        environment = command_environment(os.environ)
        limits = Limits(soft=0, idle=20, hard=20)
        return run(Command(line, self.place, environment, limits=limits), sandbox)


@pytest.fixture(params=["bubblewrap", "landlock"])
def machine(request, tmp_path):
    names = {name: tmp_path / name for name in ("tree", "shown", "box")}
    store = tmp_path / "state/runner/held-out"
    for path in (*names.values(), store):
        path.mkdir(parents=True)
    (store / "test_a.py").write_text(SECRET)
    (tmp_path / "state/open.txt").write_text("open")
    return Machine(Place(**names), store, request.param)


def test_a_folder_that_the_person_shows_hides_the_store_in_it(machine, tmp_path):
    sandbox = machine.sandbox(sandbox_read=(str(tmp_path / "state"),))
    assert machine.run(f"cat {tmp_path}/state/open.txt", sandbox).tail.strip() == "open"
    line = f"cat {machine.store}/test_a.py; ls -laR {tmp_path}/state; grep -rs test_a1 {tmp_path}"
    assert SECRET not in machine.run(line, sandbox).tail
    assert "test_a.py" not in machine.run(f"ls -R {tmp_path}/state", sandbox).tail


def test_the_store_itself_cannot_be_shown(machine):
    sandbox = machine.sandbox(sandbox_read=(str(machine.store),))
    assert SECRET not in machine.run(f"cat {machine.store}/test_a.py", sandbox).tail


def test_another_name_of_a_shown_folder_shows_no_store(machine, tmp_path):
    (tmp_path / "alias").symlink_to(tmp_path / "state")
    sandbox = machine.sandbox(sandbox_read=(str(tmp_path / "alias"),))
    assert machine.run(f"cat {tmp_path}/alias/open.txt", sandbox).tail.strip() == "open"
    assert SECRET not in machine.run(f"cat {tmp_path}/alias/runner/held-out/*", sandbox).tail


def test_the_person_s_own_folder_is_hidden_too(machine, tmp_path):
    own = tmp_path / "private"
    own.mkdir()
    (own / "test_b.py").write_text(SECRET)
    sandbox = machine.sandbox(sandbox_read=(str(tmp_path),), held_out_dir=str(own))
    assert SECRET not in machine.run(f"cat {own}/test_b.py", sandbox).tail


def test_a_probe_shows_whether_the_sandbox_hides_the_store(machine, tmp_path):
    environment = command_environment(os.environ)
    hidden = machine.sandbox(sandbox_read=(str(tmp_path / "state"),))
    assert is_enclosed(hidden, machine.place, environment, machine.store)
    shown = choose_sandbox(machine.word, (tmp_path / "state",))
    assert not is_enclosed(shown, machine.place, environment, machine.store)
    none = choose_sandbox("none")
    assert not is_enclosed(none, machine.place, environment, machine.store)
    assert [file.name for file in machine.store.iterdir()] == ["test_a.py"]


def test_seatbelt_closes_the_store_after_all_that_it_opens(tmp_path):
    place = Place(*(tmp_path / name for name in ("tree", "shown", "box")))
    command = Command("true", place, {"HOME": str(tmp_path / "home")})
    store = tmp_path / "state/held-out"
    profile = write_profile(command, tmp_path / "own", (tmp_path / "state",), (store,))
    closed = profile.rindex("deny file-read*")
    assert str(store) in profile[closed:]
    assert profile.rindex("allow file-read*") < closed


# --- a change that names a held-out file is refused -----------------------------------


HELD = "tests/test_acceptance.py"


@pytest.mark.parametrize(
    ("after", "files", "is_named"),
    [
        (f"SKIP = '{HELD}'", (), True),
        ("SKIP = 'test_acceptance.py'", (), True),
        ("SKIP = 'test_acceptance.py'", ("more/test_acceptance.py",), False),
        (f"SKIP = '{HELD}'", ("more/test_acceptance.py",), True),
        ("SKIP = 'my_test_acceptance.py'", (), False),
        (f"# old: {HELD}", (), False),
    ],
)
def test_an_added_line_names_no_held_out_file(after, files, is_named):
    before = f"# old: {HELD}\n".encode()
    change = Change("shop.py", Action.MODIFY, 0o100644, None, None, after.encode())
    found = [one.path for one in find_names([change], lambda _: before, (HELD,), files)]
    assert found == ["shop.py"] * is_named
