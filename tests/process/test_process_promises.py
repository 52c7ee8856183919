"""What a sandbox promises of files and processes, each promise tried by a command that breaks it.

| promise                                         | bubblewrap | Landlock              |
|-------------------------------------------------|------------|-----------------------|
| `~/.ssh` and all of HOME cannot be read          | not there  | refused               |
| another user's file cannot be read               | yes        | yes                   |
| the real repository's own files cannot be read   | not there  | refused               |
| the parent's environment cannot be read          | not there  | refused               |
| nothing is written outside, nor through a link   | yes        | yes                   |
| `.git/hooks` of the repository cannot be written | yes        | yes                   |
| modes of the person's other files stay           | yes        | no                    |
| other processes get no signal                    | not there  | from Linux 6.12       |
| other processes' command lines are not seen      | yes        | no                    |
| what outlives the command is ended               | by kernel  | by us, while we live  |
| no network: TCP, UDP, DNS, AF_VSOCK, abstract    | yes        | yes, by the call filter |
| no network: sockets in the file system           | own mounts | yes, by the call filter |
| loopback alone                                   | yes        | no: as `yes`          |
| a loopback of its own without asking             | yes        | no: `Network: loopback` |
| processes, memory, file size, processor time     | yes        | yes                   |
| room of /tmp and HOME                            | yes        | no                    |

Processes of root and memory of a command together need a cgroup.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from promise_bench import NOBODY, Trial

REFUSED = ("No such file", "Permission denied", "Read-only", "not permitted", "cannot create")


def refused(said) -> bool:
    """Whether it failed, and the output says of what."""
    return said.exit != 0 and any(word in said.tail for word in REFUSED)


# --- reading ---------------------------------------------------------------------------


def test_keys_in_home_cannot_be_read(trial: Trial):
    (trial.home / ".ssh").mkdir()
    (trial.home / ".ssh" / "id").write_text("private")
    said = trial.run(f"cat {trial.home}/.ssh/id")
    assert refused(said)
    assert "private" not in said.tail
    assert refused(trial.run(f"ls {trial.home}/.ssh"))


def test_another_users_file_cannot_be_read(trial: Trial):
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's file")
    with tempfile.TemporaryDirectory(dir="/opt") as folder:
        Path(folder).chmod(0o755)
        theirs = Path(folder, "theirs")
        theirs.write_text("private")
        theirs.chmod(0o600)
        os.chown(theirs, *((NOBODY, NOBODY) if trial.user == "self" else (1, 1)))
        assert refused(trial.run(f"cat {theirs}"))
        theirs.chmod(0o644)
        assert trial.run(f"cat {theirs}").tail == "private"  # it is the mode that kept it


def test_password_digests_cannot_be_read(trial: Trial):
    assert refused(trial.run("cat /etc/shadow")) or trial.run("cat /etc/shadow").tail == ""


def test_the_repositorys_own_files_cannot_be_read(trial: Trial):
    (trial.place.shown / ".env").write_text("private")
    assert refused(trial.run(f"cat {trial.place.shown}/.env"))


def test_the_parents_environment_cannot_be_read(trial: Trial, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hunter2" * 2)
    said = trial.run(
        "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>errors | tr '\\0' '\\n'; "
        f"cat /proc/{os.getpid()}/environ"
    )
    assert refused(said)
    assert "SECRET_OF_THE_PARENT" not in said.tail
    assert "RUNNER_COMMAND" in said.tail  # its own can be read


def test_the_parents_memory_cannot_be_read(trial: Trial):
    code = "import os; os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)"
    mine = trial.runs(
        f"import sys; {code.replace('os.getppid()', 'int(sys.argv[1])')}", os.getpid()
    )
    assert refused(mine)


# --- writing ---------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/etc/x", "/usr/bin/x", "/var/lib/x", "/opt/x", "/x"])
def test_nothing_is_written_outside(trial: Trial, target):
    assert refused(trial.run(f"echo x > {target}"))
    assert not Path(target).exists()


def test_nothing_is_written_or_taken_from_home_and_its_neighbours(trial: Trial):
    kept = trial.home / "kept"
    kept.write_text("kept")
    beside = trial.folder / "beside"
    beside.write_text("kept")
    trial.run(f"echo x > {kept}; rm -f {kept}; mv {kept} moved; ln {kept} linked; echo > {beside}")
    assert (kept.read_text(), beside.read_text()) == ("kept", "kept")
    trial.runs("import os, sys; os.truncate(sys.argv[1], 0)", kept)
    assert kept.read_text() == "kept"


def test_the_real_hooks_cannot_be_written(trial: Trial):
    hooks = trial.place.shown / ".git" / "hooks"
    hooks.mkdir(parents=True)
    trial.run(f"mkdir -p {hooks}; echo evil > {hooks}/post-commit")
    assert list(hooks.iterdir()) == []
    assert not refused(trial.run("mkdir -p .git/hooks && echo mine > .git/hooks/x"))


@pytest.mark.parametrize("link", ["file", "folder"])
def test_nothing_is_written_through_a_link(trial: Trial, link):
    outside = trial.folder / "outside"
    outside.mkdir()
    (outside / "file").write_text("kept")
    target = outside / "file" if link == "file" else outside
    (trial.place.tree / "link").symlink_to(target)
    said = trial.run("echo x > link" if link == "file" else "echo x > link/new")
    assert refused(said)
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "kept"


def test_controls_of_the_kernel_cannot_be_written(trial: Trial):
    code = (
        "import os\n"
        "for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',\n"
        "        '/proc/sysrq-trigger', '/sys/power/state'):\n"
        "    try: os.close(os.open(path, os.O_WRONLY))\n"
        "    except OSError: continue\n"
        "    print(path)\n"
    )
    assert trial.runs(code).tail == ""


def test_its_own_places_can_be_written(trial: Trial):
    said = trial.run('echo a > x; echo b > "$HOME/x"; echo c > "$TMPDIR/x"; cat x ~/x "$TMPDIR/x"')
    assert (said.exit, said.tail) == (0, "a\nb\nc\n")
    assert (trial.place.tree / "x").read_text() == "a\n"
    assert list(trial.home.iterdir()) == []
    assert list(trial.place.box.iterdir()) == []


# --- processes -------------------------------------------------------------------------


def test_other_processes_get_no_signal(trial: Trial):
    user = NOBODY if trial.user == "nobody" else os.geteuid()
    with subprocess.Popen(["sleep", "30"], user=user) as other:
        try:
            said = trial.run(f"kill -KILL {other.pid}")
            assert said.exit != 0
            assert other.poll() is None
        finally:
            other.kill()


def test_what_outlives_its_parent_is_ended(trial: Trial):
    mark = f"4{os.getpid()}.{time.monotonic_ns() % 1000}"
    said = trial.run(f"setsid setsid sleep {mark} >/dev/null 2>&1 & sleep 0.2; echo over")
    assert (said.exit, said.tail) == (0, "over\n")
    assert said.left_behind == 1
    lines = [_command_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert [line for line in lines if mark in line] == []


def _command_line(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
