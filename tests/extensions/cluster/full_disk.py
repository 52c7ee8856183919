"""A preload for a worker whose disk is full, from the first thing it wants to write."""

import errno

from runner import effects


def refuse(kind, target):
    if kind in {"open", "write", "mkdir", "scratch"} and "/cluster/" in target:
        raise OSError(errno.ENOSPC, "No space left on device", target)


effects.watch(refuse)
