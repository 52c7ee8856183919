"""Check that a sandbox hides the held-out store: a command in it tries to read a probe file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.process.base import Command
from runner.process.limits import Limits
from runner.process.supervise import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from runner.process.base import Place, Sandbox

_STARTED = "the probe started"
_LIMITS = Limits(soft=0, idle=10, hard=10)


def is_enclosed(
    sandbox: Sandbox, place: Place, environment: Mapping[str, str], folder: Path
) -> bool:
    """Return whether a command in this sandbox cannot read a file in `folder`.

    `folder` is the base of the store. A sandbox that cannot start proves nothing. Without a
    sandbox the answer is no. Raises OSError where the probe cannot be written.
    """
    if not sandbox.encloses:
        return False
    token = effects.random_bytes(16).hex()
    effects.make_folder(folder, mode=0o700)
    probe = folder / f".probe-{token[:8]}"
    effects.write_file(probe, token.encode(), mode=0o600, durable=False)
    try:
        line = ("/bin/sh", "-c", f'echo "{_STARTED}"; cat "$1"', "sh", str(probe))
        ran = run(Command(line, place, environment, limits=_LIMITS), sandbox)
    finally:
        effects.unlink(probe)
    return _STARTED in ran.tail and not ran.passed and token not in ran.tail
