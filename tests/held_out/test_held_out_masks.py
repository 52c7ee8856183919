"""No command in a sandbox reads the store, whatever else the person lets it read."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from settings_of import settings_of

from runner.errors import RunnerError
from runner.held_out.proof import find_names
from runner.held_out.workspace import is_enclosed
from runner.model import Action, Change
from runner.process.base import Command, Place, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import choose_sandbox, sandbox_of
from runner.process.seatbelt import write_profile
from runner.process.supervise import run

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
