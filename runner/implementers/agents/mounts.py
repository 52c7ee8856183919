"""Where a program stands: what of the tree it must not see, and what of the machine it must."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from runner import effects
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from runner.implementers.base import ImplementerContext


def program_outside(name: str, bench: ImplementerContext) -> Path | None:
    """The program on PATH; what lies in the repository is a clone's, and gets no login."""
    path = bench.environment.get("PATH", os.defpath)
    return program_beside(name, path, (bench.place.shown, bench.place.tree))


def program_beside(name: str, path: str, folders_of_it: tuple[Path, ...]) -> Path | None:
    """The program on this PATH, outside these folders."""
    here = tuple(map(os.path.realpath, folders_of_it))
    folders = path.split(os.pathsep)
    outside = [
        folder
        for folder in folders
        if not any((os.path.realpath(folder) + "/").startswith(f"{one}/") for one in here)
    ]
    environ: Mapping[str, str] = {"PATH": os.pathsep.join(outside)}
    return which(name, environ)


def path_with(path: str, program: Path) -> str:
    """PATH with the folders that hold the program itself: what a sandbox shows is told by it.

    A program of npm needs the packages beside its own, up to the outermost `node_modules`.
    """
    real = program.resolve()
    packages = [folder for folder in real.parents if folder.name == "node_modules"]
    return ":".join(dict.fromkeys([*path.split(":"), str(real.parent), *map(str, packages[-1:])]))


@contextlib.contextmanager
def out_of_sight(
    aside: tuple[str, ...], litter: tuple[str, ...], bench: ImplementerContext
) -> Iterator[None]:
    """Take what would configure the program out of the tree, and put it back; sweep up after it."""
    import shutil

    place = bench.place
    folders = place.folders  # a program may look in each, from its own up to the first
    kept = place.box / f"aside-{effects.new_id()}"
    moved: list[tuple[Path, Path]] = []
    try:
        for number, path in enumerate(f / name for f in folders for name in aside):
            if path.is_symlink() or path.exists():
                effects.make_folder(kept)
                effects.step("replace", path)
                moved.append((path, path.rename(kept / f"{number}")))
        before = {f / name for f in folders for name in litter if (f / name).exists()}
        yield
        for path in {f / name for f in place.folders for name in litter} - before:
            if path.is_dir() and not path.is_symlink():
                effects.step("rmtree", path)
                shutil.rmtree(path, ignore_errors=True)
            else:
                effects.unlink(path)
    finally:
        still = place.folders  # without those that are links now: they lead out of the tree
        for path, where in moved:
            if path.parent in still and not (path.is_symlink() or path.exists()):
                effects.step("replace", path)
                where.rename(path)
        if moved:
            effects.step("rmtree", kept)
            shutil.rmtree(kept, ignore_errors=True)
