"""A write that nobody staged, noted by hand as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.write.staged_states import BY_HAND
from runner.errors import RunnerError

if TYPE_CHECKING:
    from runner.app.write.workplace import Workplace
    from runner.model import Change, Digest
    from runner.writes.log import History


def record_write(workplace: Workplace, task: str, file: str) -> Change:
    """Note a file as it stands in the write log, for a task that a person names.

    Raises RunnerError for a file that is not there, and for a path that no log should hold.
    """
    from runner.writes.log import Fate, Review, WriteLog

    path = workplace.path_of(file)
    id_, _ = workplace.task(task)
    log = WriteLog(workplace.root)
    change = _change(workplace, log.show(), path)
    log.record((change,), run="", task=id_, attempt=BY_HAND, review=Review.OFF)
    log.close(run="", task=id_, attempt=BY_HAND, fate=Fate.LANDED)  # it is there as it stands
    return change


def _change(workplace: Workplace, history: History, path: str) -> Change:
    """The file as it stands now, against what was last known of it."""
    from runner.model import Action, Change, digest_of
    from runner.writes.safe_io import mode_beneath, read_beneath

    _check(path)
    content = read_beneath(workplace.root, path)
    before = _last_digest(workplace, history, path)
    if content is None and before is None:
        raise RunnerError(
            "there is no such file",
            where=path,
            hint=f"paths are relative to {workplace.root}",
        )
    if content is None:
        return Change(path, Action.DELETE, 0, before, None)
    action = Action.CREATE if before is None else Action.MODIFY
    mode = mode_beneath(workplace.root, path) or 0
    return Change(path, action, mode, before, digest_of(content), content)


def _check(path: str) -> None:
    """A path that no log should hold: outside, in git's folder, or with a key in its name."""
    from runner.secrets.redact import redact
    from runner.secrets.scan import scan_content
    from runner.writes.paths import check_path

    refused = check_path(path, 0, kind="delete")
    for found in (*((refused,) if refused else ()), *scan_content(b"", path)):
        if found.refuses:
            raise RunnerError(redact(found.message), hint=found.hint)


def _last_digest(workplace: Workplace, history: History, path: str) -> Digest | None:
    """The digest the file had before: as logged last, else as committed."""
    logged = [one for one in history.writes if one.path == path]
    if logged:
        return logged[-1].after or None
    if not workplace.in_git:
        return None
    from runner.model import digest_of
    from runner.repo.read import Repository

    with Repository.open(workplace.root) as repository:
        head = repository.head().commit
        committed = repository.blob(head, path) if head else None
    return None if committed is None else digest_of(committed)
