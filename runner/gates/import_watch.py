"""Whether a proof without sandbox imported the repository's own copy, not the scratch tree.

An editable install puts the repository's path into the interpreter's search path. In a sandbox the
scratch tree stands at that path; without one, a broken change would be proven by the good old code.
A module put in front of the interpreter's start-up writes down what was imported from where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.gates import shim
from runner.model import Finding

if TYPE_CHECKING:
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.process.base import Place, Sandbox

_SEEN = "imported.txt"
_SHOWN = 3


def watch_environment(place: Place, sandbox: Sandbox) -> dict[str, str]:
    """The environment that has Python processes tell; empty where a sandbox makes it needless."""
    if sandbox.contains:
        return {}
    effects.unlink(place.box / _SEEN)
    return {
        "PYTHONPATH": shim.search_path(shim.write_module(place)),
        "RUNNER_WATCH_ROOT": str(place.shown.resolve()),
        "RUNNER_WATCH_OUT": str(place.box / _SEEN),
        "RUNNER_WATCH_SHARED": ":".join(str(place.shown / share) for share in place.shares),
    }


def findings(bench: GateContext) -> tuple[Finding, ...]:
    """A finding when the proof ran code of the real tree: then it proves nothing."""
    seen = _load_seen(bench.place.box / _SEEN)
    if not seen:
        return ()
    names = [path.removeprefix(f"{bench.place.shown}/") for path in seen]
    shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
    return (
        Finding(
            check="imports",
            message=f"the tests imported the installed copy of {shown}, not the proposed code",
            hint="apt-get install bubblewrap, or uninstall the editable install",
        ),
    )


def _load_seen(file: Path) -> list[str]:
    try:
        return sorted(set(file.read_text("utf-8", "replace").splitlines()))
    except FileNotFoundError:
        return []
