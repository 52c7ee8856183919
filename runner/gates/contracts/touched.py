"""Contracts that a change touches: whose they are, and what it breaks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.gates.contracts.compatibility import Difference, compare_documents
from runner.gates.contracts.document import bundled
from runner.gates.contracts.entries import documents, modules
from runner.gates.contracts.refusal import Refused
from runner.model import Finding, Severity
from runner.plan.globs import matches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.gates.base import Bench
    from runner.model import Change, Contract, Task

_SHOWN = 10


def touched_contracts(
    changes: Iterable[Change], tasks: Iterable[Task]
) -> tuple[tuple[Task, Contract], ...]:
    """The contracts of these tasks that a change touches, in the order of the tasks.

    A change touches a contract when it changes its document, its instances, or the module whose
    application or type is held against it.
    """
    paths = [change.path for change in changes]
    return tuple(
        (task, contract)
        for task in tasks
        for contract in task.contracts
        if any(matches(glob, path) for glob in _files(contract) for path in paths)
    )


def _files(contract: Contract) -> list[str]:
    """Paths and globs of the files whose change may break a contract."""
    found = list(documents(contract))
    for module in modules(contract):
        stem = module.replace(".", "/")
        found += [f"{top}{stem}{end}" for top in ("", "src/") for end in (".py", "/__init__.py")]
    return found


def broken(check: str, kind: str, path: str, bench: Bench) -> tuple[Finding, ...]:
    """A warning for each thing a change of this contract breaks for those who keep to the old."""
    before, after = bench.before(path), bench.after(path)
    if before is None or after is None or before == after:
        return ()
    try:
        old = bundled(path, _reading(bench.before))
        new = bundled(path, _reading(bench.after))
        found = [change for change in compare_documents(kind, old, new) if change.breaking]
    except (Refused, RecursionError):  # what is wrong with the file is told when it is checked
        return ()
    more = [f"{len(found) - _SHOWN} more breaking changes of {path}"] if found[_SHOWN:] else []
    texts = [*(_said(path, change) for change in found[:_SHOWN]), *more]
    return tuple(
        Finding(
            check=check,
            message=text,
            path=path,
            severity=Severity.WARNING,
            hint="whoever uses this contract has to follow; add beside what is there if none can",
        )
        for text in texts
    )


def _said(path: str, change: Difference) -> str:
    where = f"{change.path}: " if change.path else ""
    return f"a breaking change of {path}: {where}{change.text}"


def _reading(bytes_of: Callable[[str], bytes | None]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        content = bytes_of(path)
        if content is None:
            raise Refused(f"{path} is not there", path=path)
        return content

    return read
