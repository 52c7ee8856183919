"""The real command as a process of its own: started, watched from outside, and killed."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from runner.process.sandbox import choose_sandbox

SECONDS = 30.0


def slow(seconds):
    """A plan whose first attempt at the last task sleeps for so long that nobody waits for it."""
    return f"""\
# Slow

## TASK-001: First file

- Status: PENDING
- Output files: `one.txt`

```text file=one.txt
one
```

## TASK-002: The time

- Status: PENDING
- Depends on: TASK-001
- Output files: `out.txt`
- Command: `test $RUNNER_ATTEMPT != 1 || sleep {seconds}; date +%s%N > out.txt`
"""


def has_bubblewrap():
    return choose_sandbox("auto", ()).contains


def processes(word):
    """Ids of the processes that have `word` on their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            if folder.name.isdigit() and word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


def until(said, condition, seconds=SECONDS):
    """Wait until `condition()`; an assertion says what never came."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"after {seconds:g} seconds: {said}")


def end(process, number):
    """Send a signal and hear the process out."""
    process.send_signal(number)
    out, _ = process.communicate(timeout=SECONDS)
    return process.returncode, out


def kill_later(process, seconds):
    """SIGKILL after so long, unless it has ended by then; whether it was killed."""
    with suppress(Exception):
        process.wait(timeout=seconds)
    process.kill()
    process.communicate(timeout=SECONDS)
    return process.returncode == -signal.SIGKILL


def kill_with_all(process, seconds):
    """The same for all that it has started, git in the midst of its work too."""
    with suppress(Exception):
        process.wait(timeout=seconds)
    family = [process.pid, *_descendants(process.pid)]
    for pid in family:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=SECONDS)


def _descendants(pid):
    parents = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, IndexError, ValueError):
            if folder.name.isdigit():
                stat = (folder / "stat").read_text()
                parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    found, pending = [], [pid]
    while pending:
        above = pending.pop()
        below = [one for one, parent in parents.items() if parent == above]
        found += below
        pending += below
    return found


def remove_stale_locks(repo):
    """What git's own message tells a person to do whose git was killed."""
    for lock in (repo / ".git").rglob("*.lock"):
        lock.unlink()
