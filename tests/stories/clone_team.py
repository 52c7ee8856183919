"""A bare remote and clones of it, as people on several machines have them."""

import contextlib
import json
import os
import stat
import subprocess
import time
from pathlib import Path
from unittest import mock

from workplace import Workplace, a_task

LEASE = "refs/runner/lease/main"
PATIENCE = 60.0


class Team:
    """A bare remote and clones of it, each with a home of its own."""

    def __init__(self, folder):
        self.folder, self.bare = folder, folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", self.bare], check=True)

    def begin(self, *tasks):
        first = Workplace.begin(self.folder / "first", self.folder)
        first.plan(*tasks)
        first.git("remote", "add", "origin", str(self.bare))
        first.git("push", "-q", "-u", "origin", "main")
        return first

    def clone(self, name):
        words = ["git", "clone", "-q", str(self.bare), str(self.folder / name)]
        subprocess.run(words, check=True)
        place = Workplace(self.folder / name, self.folder)
        place.git("config", "user.name", name)
        place.git("config", "user.email", f"{name}@example.org")
        return place

    def start(self, clone, *words, seconds=2, **variables):
        """`runner run` as a process, with a cache of its own as on another machine."""
        told = self.variables(clone, seconds) | variables
        return clone.start(*(words or ("run", "--trust", "--yes")), **told)

    def run(self, clone, *words, seconds=2, **variables):
        """The same in this process, to its end: exit code and everything it said."""
        with mock.patch.dict(os.environ, self.variables(clone, seconds) | variables):
            done = clone.runner(*(words or ("run", "--trust", "--yes")))
        return done.code, done.said

    def variables(self, clone, seconds=2):
        cache = clone.root.parent / f"cache-{clone.root.name}"
        return {
            "RUNNER_GIT_PUBLISH": "origin",
            "RUNNER_GIT_LEASE_SECONDS": str(seconds),
            "XDG_CACHE_HOME": str(cache),
            "LOGNAME": clone.root.name,
        }

    def kill(self, process):
        """Kill a run; a push that it had begun goes on without it, and is waited for."""
        process.kill()
        ended(process)
        until(lambda: not self.is_pushed_to(), "the end of a push")

    def is_pushed_to(self):
        """Whether a process names the remote on its command line, as git does that pushes."""
        words = str(self.bare).encode()
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if words in path.read_bytes():
                    return True
        return False

    def git(self, *words):
        done = subprocess.run(
            ["git", f"--git-dir={self.bare}", *words], capture_output=True, check=False
        )
        return done.stdout.decode().strip()

    def at(self, ref):
        return self.git("rev-parse", "-q", "--verify", ref)

    def said(self, ref=LEASE):
        """What the lease says."""
        message = self.git("log", "-1", "--format=%B", ref)
        return json.loads(message.partition("\n\n")[2]) if message else {}

    @property
    def subjects(self):
        return self.git("log", "--reverse", "--format=%s", "main").splitlines()

    @property
    def landings(self):
        found = self.git("log", "--reverse", "--format=%(trailers:key=Task,valueonly)", "main")
        return [line for line in found.splitlines() if line]

    def hook(self, name, text):
        file = self.bare / "hooks" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)


def ended(process):
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out + err


def until(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError(what)


def tasks(*, gate=None, count=2):
    """A chain of tasks, of which the first waits for a file where `gate` names one."""
    wait = f"touch {gate}.met; while ! test -e {gate}; do sleep 0.05; done; " if gate else ""
    return [
        a_task(
            f"TASK-00{number}",
            outputs=[f"{number}.txt"],
            needs=[f"TASK-00{number - 1}"] if number > 1 else (),
            command=f"{wait if number == 1 else ''}echo {number} > {number}.txt",
            tests=[f"grep -q {number} {number}.txt"],
        )
        for number in range(1, count + 1)
    ]
