"""What the tests of a proof are worth to its task: those that ran nothing of it are a command."""

from __future__ import annotations

import re
from dataclasses import replace
from posixpath import basename, dirname, splitext
from typing import TYPE_CHECKING

from runner.model import ProvenBy
from runner.model.grades import proof_kind
from runner.plan.globs import is_glob, matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.model import Observed, Proof, Task

_WORD = re.compile(r"[\w./@+:-]+")
_FILE = re.compile(r"(?:\./)?[\w@+-][\w./@+-]*\.\w{1,5}")


def weigh_proofs(
    task: Task, proofs: Iterable[Proof], observed: Sequence[Observed], written: Iterable[str]
) -> tuple[Proof, ...]:
    """The proofs, each test that has nothing to do with the task's own files as a command.

    What ran is known by what was `observed`, or by a path that the command names. Where nothing
    was measured, a command that names no file at all is taken to run everything.
    """
    own = tuple(dict.fromkeys((*written, *task.outputs)))
    if not own or task.writes_everything:
        return tuple(proofs)
    return tuple(
        replace(proof, by=ProvenBy.COMMAND)
        if proof_kind(proof) is ProvenBy.TESTS and not _is_about(proof, own, observed)
        else proof
        for proof in proofs
    )


def _is_about(proof: Proof, own: Sequence[str], observed: Sequence[Observed]) -> bool:
    if _names(proof.command, own):
        return True
    ran = {one.path for one in observed if one.contract == proof.id}
    if any(_is_own(path, own) for path in ran):
        return True
    seen = {splitext(path)[1] for path in ran}
    if any(splitext(path)[1] in seen for path in own):
        return False  # such files are measured, and none of these ran
    return not _files_in(proof.command)


def _is_own(path: str, own: Iterable[str]) -> bool:
    return any(path == one or (is_glob(one) and matches(one, path)) for one in own)


def _names(command: str, own: Iterable[str]) -> bool:
    """Whether a command names one of these files, the module it is, or a folder it lies in."""
    words = {word.partition("::")[0].strip("./") for word in _WORD.findall(command)}
    for path in own:
        modules = splitext(path)[0].replace("/", ".")
        if words & {path, modules, modules.partition(".")[2] or modules, basename(path)}:
            return True
        folder = dirname(path)
        while folder:
            if folder in words:
                return True
            folder = dirname(folder)
    return False


def _files_in(command: str) -> list[str]:
    return [word for word in command.split() if _FILE.fullmatch(word.partition("::")[0])]
