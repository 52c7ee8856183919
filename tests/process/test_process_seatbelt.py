"""The profile that is written for macOS, read as its kernel would; and that one fails closed.

No macOS is at hand: what is tried is the text, by a reader of these few rules, and the refusal of
a sandbox-exec that does not hold what it was given.
"""

import os
import re
import shlex
from pathlib import Path

import pytest

from runner.errors import RunnerError
from runner.model import Network
from runner.process import sandbox, seatbelt
from runner.process.base import Command, Place

TOKEN = re.compile(r'\(|\)|"(?:[^"\\]|\\.)*"|[^\s()"]+')


def read(profile):
    """The profile's lists: each a list of words and lists."""
    stack = [[]]
    for token in TOKEN.findall(profile):
        if token == "(":
            stack.append([])
        elif token == ")":
            closed = stack.pop()
            stack[-1].append(closed)
        elif token.startswith('"'):
            stack[-1].append(re.sub(r"\\(.)", r"\1", token[1:-1]))
        else:
            stack[-1].append(token)
    assert len(stack) == 1
    return stack[0]


def may(profile, operation, path=None):
    """What the last rule that matches says; denied where there is none."""
    verdict = False
    for word, *rest in read(profile):
        if word not in {"allow", "deny"} or rest == ["default"]:
            continue
        name, *filters = rest
        same = operation.startswith(name[:-1]) if name.endswith("*") else operation == name
        if same and (not filters or any(matches(each, path) for each in filters)):
            verdict = word == "allow"
    return verdict


def matches(condition, path):
    if path is None:
        return False
    if condition[0] == "literal":
        return path == condition[1]
    if condition[0] == "subpath":
        return path == condition[1] or path.startswith(condition[1] + "/")
    return False


@pytest.fixture
def machine(tmp_path):
    top = Path(os.path.realpath(tmp_path))
    for name in ("home/.ssh", "home/.cargo/bin", "home/src/shop", "slots/tree", "slots/box/own"):
        (top / name).mkdir(parents=True)
    return top


def profile_of(top, *, read_only=False, network=Network.NO, extra=()):
    place = Place(top / "slots/tree", top / "home/src/shop", top / "slots/box")
    environ = {"HOME": str(top / "home"), "PATH": "/usr/bin:/bin", "TMPDIR": "/tmp"}
    command = Command("true", place, environ, network=network, reads_only=read_only)
    return seatbelt.write_profile(command, top / "slots/box/own", extra)


def test_everything_is_denied_that_is_not_named(machine):
    profile = profile_of(machine)
    assert read(profile)[:2] == [["version", "1"], ["deny", "default"]]
    for path in ("home/.ssh/id", "home/src/shop/main.py", "home/.zshrc", "other/file"):
        assert not may(profile, "file-read-data", f"{machine}/{path}")
        assert not may(profile, "file-write-create", f"{machine}/{path}")


def test_the_tree_the_box_and_nothing_else_is_written(machine):
    profile = profile_of(machine)
    for path in ("slots/tree/a.py", "slots/box/x", "slots/box/own/tmp/y"):
        assert may(profile, "file-write-create", f"{machine}/{path}")
        assert may(profile, "file-read-data", f"{machine}/{path}")
    for path in ("/usr/lib/x", "/private/tmp/x", "/tmp/x", "/Library/LaunchAgents/x", "/etc/hosts"):
        assert not may(profile, "file-write-create", path)


def test_a_tree_that_is_shown_only_for_reading_is_not_written(machine):
    profile = profile_of(machine, read_only=True)
    assert not may(profile, "file-write-create", f"{machine}/slots/tree/a.py")
    assert may(profile, "file-read-data", f"{machine}/slots/tree/a.py")
    assert may(profile, "file-write-create", f"{machine}/slots/box/x")


def test_tools_below_home_are_read_and_not_written(machine):
    profile = profile_of(machine)
    assert may(profile, "file-read-data", f"{machine}/home/.cargo/bin/rustc")
    assert not may(profile, "file-write-create", f"{machine}/home/.cargo/bin/rustc")
    assert may(
        profile_of(machine, extra=(machine / "home/.ssh",)),
        "file-read-data",
        f"{machine}/home/.ssh/id",
    )


def test_keys_of_the_machine_are_closed_though_its_settings_are_read(machine):
    profile = profile_of(machine)
    assert may(profile, "file-read-data", "/private/etc/hosts")
    assert not may(profile, "file-read-data", "/private/etc/ssh/ssh_host_ed25519_key")
    assert not may(profile, "file-read-data", "/private/etc/master.passwd")


@pytest.mark.parametrize(
    ("network", "rules"),
    [(Network.NO, set()), (Network.LOOPBACK, {"localhost:*"}), (Network.YES, {"*:*"})],
)
def test_the_network_is_none_loopback_or_all(machine, network, rules):
    named = {
        condition[-1]
        for word, *rest in read(profile_of(machine, network=network))
        if word == "allow" and rest[0].startswith("network")
        for condition in rest[1:]
        if condition[0] in {"local", "remote"}
    }
    assert named == rules


def test_a_network_held_to_registries_is_refused(machine):
    place = Place(machine / "slots/tree", machine / "home/src/shop", machine / "slots/box")
    command = Command("true", place, {"HOME": str(machine)}, network=Network.REGISTRIES)
    with pytest.raises(ValueError, match="registries"):
        seatbelt.Seatbelt().enclose(command)


def test_tmp_is_named_as_it_really_is(machine):
    """macOS has /tmp as a link to /private/tmp, and its kernel compares real paths."""
    link = machine / "tmp"
    link.symlink_to(machine / "private-tmp")
    (machine / "private-tmp/tree").mkdir(parents=True)
    (machine / "private-tmp/box").mkdir()
    place = Place(link / "tree", machine / "home/src/shop", link / "box")
    profile = seatbelt.write_profile(Command("true", place, {}), link / "box")
    assert may(profile, "file-write-create", f"{machine}/private-tmp/tree/a.py")
    assert f'"{link}' not in profile


def test_a_name_that_ends_the_quotes_opens_nothing(machine):
    evil = machine / 'a") (allow file-write* (subpath "'
    evil.mkdir()
    profile = profile_of(machine, extra=(evil,))
    assert not may(profile, "file-write-create", "/etc/hosts")
    assert may(profile, "file-read-data", f"{evil}/x")


@pytest.mark.parametrize("name", ["line\nbreak", "nul\x01", "\udcff"])
def test_a_name_that_no_profile_can_hold_is_refused(machine, name):
    with pytest.raises(ValueError, match="a sandbox profile cannot contain"):
        profile_of(machine, extra=(machine / name,))


def fake(folder, text):
    program = folder / "sandbox-exec"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def test_a_sandbox_that_holds_nothing_is_none(tmp_path):
    said = seatbelt.probe((), fake(tmp_path, 'shift 2; exec "$@"'))
    assert said == "it did not block a write"


def test_one_that_holds_only_writes_is_none(tmp_path):
    """The command of the second trial is what writes outside."""
    program = fake(tmp_path, 'shift 2; case "$*" in *out/new) exit 1 ;; esac; exec "$@"')
    assert str(seatbelt.probe((), program)).startswith("it did not block a read")


def test_one_that_leaves_the_network_open_is_none(tmp_path):
    program = fake(tmp_path, 'shift 2; case "$*" in */out/*) exit 1 ;; esac; exec "$@"')
    assert seatbelt.probe((), program) == "it did not block a connection"


def test_one_that_refuses_the_profile_is_none(tmp_path):
    said = seatbelt.probe((), fake(tmp_path, "echo 'invalid profile' >&2; exit 65"))
    assert said == "it cannot run a command: invalid profile"


def test_one_that_holds_all_that_is_tried_is_taken(tmp_path):
    inner = 'case "$*" in */out/*|*create_connection*) exit 1 ;; esac; exec "$@"'
    assert isinstance(seatbelt.probe((), fake(tmp_path, f"shift 2; {inner}")), seatbelt.Seatbelt)


def test_without_the_system_s_program_it_is_refused_with_words(tmp_path):
    assert "not found" in seatbelt.probe((), tmp_path / "none")
    if not seatbelt.PROGRAM.exists():
        sandbox._probe.cache_clear()
        with pytest.raises(RunnerError, match="seatbelt does not work here") as caught:
            sandbox.choose_sandbox("seatbelt")
        assert "macOS" in caught.value.hint


def test_the_command_line_names_the_system_s_own_program(machine):
    place = Place(machine / "slots/tree", machine / "home/src/shop", machine / "slots/box")
    prepared = seatbelt.Seatbelt().enclose(Command("echo 'a b'", place, {"HOME": str(machine)}))
    assert prepared.argv[:2] == ("/usr/bin/sandbox-exec", "-p")
    assert prepared.argv[-1] == "echo 'a b'", shlex.join(prepared.argv)
    assert prepared.cwd == place.tree
    own = Path(prepared.env["HOME"]).parent
    assert own.is_dir()
    prepared.leave()
    assert not own.exists()
