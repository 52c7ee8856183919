"""Find the contracts that a change affects, and the promises that it breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runner.contracts.compatibility import Narrowing, compare_documents
from runner.contracts.document import bundle_document
from runner.contracts.entries import Refused, documents, modules, name_checks
from runner.impact.owners import Named
from runner.model import Finding, Severity
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from runner.model import Contract, Task

_SHOWN = 10


class Touching(NamedTuple):
    """A contract that a file is held against, or is the document of."""

    task: str
    name: str
    """Name such as `contract:schema`."""
    is_document: bool


class Held:
    """An index from files to the contracts of some tasks, built once for many changes.

    A file touches a contract when it is its document, one of its instances, or the module whose
    application or type is held against it.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        entries = [(task.id, *entry) for task in tasks for entry in name_checks(task)]
        self._touching = [
            Touching(task, name, is_document)
            for task, name, _ in entries
            for is_document in (True, False)
        ]
        rows = (
            (str(2 * number + part), path)
            for number, (_, _, contract) in enumerate(entries)
            for part, paths in enumerate((documents(contract)[:1], _list_held_files(contract)))
            for path in paths
        )
        self._named = Named(rows)

    def of(self, path: str) -> tuple[Touching, ...]:
        """Return the contracts that a file belongs to, in task order."""
        return tuple(self._touching[number] for number in sorted(map(int, self._named.of(path))))


def _list_held_files(contract: Contract) -> list[str]:
    """Return paths and globs of the files that a contract's document is compared with."""
    found = list(documents(contract)[1:])
    for module in modules(contract):
        stem = module.replace(".", "/")
        found += [f"{top}{stem}{end}" for top in ("", "src/") for end in (".py", "/__init__.py")]
    return found


def is_closed(contract: Contract, is_file: Callable[[str], bool]) -> bool:
    """Return whether a contract's result depends only on its document and the code it names.

    A command may start anything, and code that is not where `_list_held_files` looks is reached by
    no change.
    """
    if contract.kind == "command" or not documents(contract):
        return False
    if contract.kind == "openapi":
        return any(map(is_file, _list_held_files(contract)))
    return not modules(contract) or any(map(is_file, _list_held_files(contract)))


def find_broken_promises(
    check: str,
    kind: str,
    path: str,
    before: Callable[[str], bytes | None],
    after: Callable[[str], bytes | None],
) -> tuple[Finding, ...]:
    """Return a warning for each breaking change of a contract document.

    `before` and `after` give the bytes of a path in each tree.
    """
    if None in (before(path), after(path)) or before(path) == after(path):
        return ()
    try:
        old = bundle_document(path, _make_reader(before))
        new = bundle_document(path, _make_reader(after))
        found = [change for change in compare_documents(kind, old, new) if change.breaking]
    except (Refused, RecursionError):  # a check of the file finds what is wrong with it
        return ()
    more = [f"{plural(len(found) - _SHOWN, 'more breaking change')} of {path}"]
    more = more if found[_SHOWN:] else []
    texts = [*(_format_breach(path, change) for change in found[:_SHOWN]), *more]
    return tuple(
        Finding(
            check=check,
            message=text,
            path=path,
            severity=Severity.WARNING,
            hint="update users of this contract; if they can't change, keep the old part as well",
        )
        for text in texts
    )


def _format_breach(path: str, change: Narrowing) -> str:
    where = f"{change.path}: " if change.path else ""
    return f"breaking change of {path}: {where}{change.text}"


def _make_reader(bytes_of: Callable[[str], bytes | None]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        content = bytes_of(path)
        if content is None:
            raise Refused(f"{path} does not exist", path=path)
        return content

    return read
