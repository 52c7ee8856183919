"""Builders for the stories of this room: changes, rules, and a bench on real folders."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runner.model import Action, Change, digest_of
from runner.process.base import Command, Place, Ran, Sandbox, command_environment
from runner.process.limits import Limits
from runner.process.sandbox import NoSandbox
from runner.process.supervise import run
from runner.writes.analyser_copies import ScanWorkspace
from runner.writes.pipeline import WriteContext, WriteRules
from runner.writes.safe_io import read_below
from runner.writes.staging import Staging

if TYPE_CHECKING:
    from pathlib import Path

    from runner.writes.sast import SastPool


def a_change(path="src/app.py", content=b"value = 1\n", *, mode=0o100644, before=None) -> Change:
    if content is None:
        return Change(path, Action.DELETE, 0, digest_of(before or b""), None)
    action = Action.CREATE if before is None else Action.MODIFY
    old = None if before is None else digest_of(before)
    return Change(path, action, mode, old, digest_of(content), content)


def some_rules(*outputs, **more) -> WriteRules:
    defaults = {"run": "run-1", "task": "TASK-002", "attempt": 1}
    return WriteRules(outputs=outputs, **{**defaults, **more})


def runs_in(tree: Path, sandbox: Sandbox | None = None, *, path=None, heard=None, hard=30.0):
    """A way to run commands in a tree for real; `heard` collects what was asked for."""
    box = tree.parent / "box"
    box.mkdir(exist_ok=True)
    environment = command_environment(os.environ)
    if path is not None:
        environment["PATH"] = path

    def run_command(line, *, stdin=b"", folder="") -> Ran:
        if heard is not None:
            heard.append((line, folder))
        command = Command(
            line,
            Place(tree=tree, shown=tree, box=box),
            environment,
            stdin=stdin,
            limits=Limits(soft=0, idle=20, hard=hard),
            log=box / "output.log",
            folder=folder,
        )
        return run(command, sandbox or NoSandbox("a test"))

    return run_command


def a_bench(
    folder: Path, *, base=None, commands=True, sast: SastPool | None = None
) -> WriteContext:
    """A bench with a real tree, a real repository to stage in, and the base's files."""
    tree, root = folder / "tree", folder / "root"
    tree.mkdir(exist_ok=True)
    root.mkdir(exist_ok=True)
    return WriteContext(
        tree=tree,
        before=(base or {}).get,
        run_command=runs_in(tree) if commands else None,
        staging=Staging(root),
        sast=sast,
    )


def a_laboratory(folder: Path, tools: dict[str, str], *, base=None, tree=None, **more):
    """A laboratory beside a real project; `tools` are shell scripts, the only ones on its PATH."""
    shown, bin_ = folder / "shown", folder / "bin"
    for made in (shown, bin_, folder / "copies"):
        made.mkdir(exist_ok=True)
    put(shown, {**(base or {}), **(tree or {})})
    for name, script in tools.items():
        put(bin_, {name: f"#!/bin/sh\n{script}\n".encode()})
        (bin_ / name).chmod(0o755)
    more.setdefault("sandbox", NoSandbox("a test"))
    return ScanWorkspace(
        folder=folder / "copies",
        tree=shown,
        base=(base or {}).get,
        place=Place(tree=shown, shown=shown, box=folder, shares=more.pop("shares", ())),
        environment={"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(folder)},
        **more,
    )


def put(root: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    return root


def everything_in(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): read_below(root, path.relative_to(root).as_posix())
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
