"""Whether a proof without sandbox imported the repository's own copy, not the scratch tree.

An editable install puts the repository's path into the interpreter's search path. In a sandbox the
scratch tree stands at that path; without one, a broken change would be proven by the good old code.
A module put in front of the interpreter's start-up writes down what was imported from where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner import effects
from runner.model import Finding

if TYPE_CHECKING:
    from pathlib import Path

    from runner.gates.base import Bench
    from runner.process.command import Place
    from runner.process.sandbox import Sandbox

_FOLDER = "watch"
_SEEN = "imported.txt"
_SHOWN = 3

_WATCH = '''\
"""Writes down, at exit, which modules came from the repository's own path."""
import atexit, os, sys


def _tell(root=os.environ["RUNNER_WATCH_ROOT"], out=os.environ["RUNNER_WATCH_OUT"]):
    shared = tuple(p for p in os.environ["RUNNER_WATCH_SHARED"].split(os.pathsep) if p)
    seen = sorted({
        path
        for module in tuple(sys.modules.values())
        for path in (os.path.realpath(getattr(module, "__file__", None) or ""),)
        if path.startswith(root + os.sep) and "site-packages" not in path
        and not path.startswith(shared or ("\\0",))
    })
    if seen:
        with open(out, "a", encoding="utf-8") as file:
            file.write("".join(path + "\\n" for path in seen))


atexit.register(_tell)
_own = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _own]
del sys.modules["sitecustomize"]
try:
    import sitecustomize  # the one that this stands in front of
except ImportError:
    pass
'''


def watching(place: Place, sandbox: Sandbox) -> dict[str, str]:
    """The environment that has Python processes tell; empty where a sandbox makes it needless."""
    if sandbox.contains:
        return {}
    folder = place.box / _FOLDER
    effects.make_folder(folder)
    script = folder / "sitecustomize.py"
    if not script.exists():
        effects.write_file(script, _WATCH.encode())
    effects.unlink(place.box / _SEEN)
    return {
        "PYTHONPATH": str(folder),
        "RUNNER_WATCH_ROOT": str(place.shown.resolve()),
        "RUNNER_WATCH_OUT": str(place.box / _SEEN),
        "RUNNER_WATCH_SHARED": ":".join(str(place.shown / share) for share in place.shares),
    }


def findings(bench: Bench) -> tuple[Finding, ...]:
    """A finding when the proof ran code of the real tree: then it proves nothing."""
    seen = _seen(bench.place.box / _SEEN)
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


def _seen(file: Path) -> list[str]:
    try:
        return sorted(set(file.read_text("utf-8", "replace").splitlines()))
    except FileNotFoundError:
        return []
