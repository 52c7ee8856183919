"""A command that is stopped right before its k-th effect, in a child of its own."""

import os
import sys

from runner import effects
from runner.cli import main

STOPPED = 137


def effects_of(place, words):
    """Every effect of a command that nobody stops, in order; it must end well."""
    log = place.root.parent / "effects"
    code = _forked(place, words, None, log)
    assert code == 0, f"{words} ended with {code}"
    return [tuple(line.split("\t", 1)) for line in log.read_text().splitlines()]


def stopped_at(place, words, k):
    """End the command as a power switch would; False where it has fewer effects than that.

    What it reads from the cache the second time spares some of them.
    """
    code = _forked(place, words, k, None)
    assert code in (0, 3, STOPPED), f"{words} ended with {code}"
    return code == STOPPED


def _forked(place, words, k, log):
    pid = os.fork()
    if pid == 0:
        _child(place, words, k, log)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _child(place, words, k, log):
    """Never returns: whatever happens here, no test goes on in the child."""
    code = 99
    try:
        os.chdir(place.root)
        silent = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silent, descriptor)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the child's own
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - the child's own
        seen = []

        def watch(kind, target):
            seen.append(f"{kind}\t{target}")
            if len(seen) == k:
                os._exit(STOPPED)

        effects.watch(watch)
        code = main(words)
        if log:
            log.write_text("\n".join(seen))
    finally:
        os._exit(code)
