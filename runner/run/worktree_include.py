"""Choose the ignored files that a run copies: `.worktreeinclude` and settings.

Only the version of `.worktreeinclude` that is committed when the run starts counts, and the
person's own setting `worktree_include`.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from runner import effects
from runner.lazy_module import lazy_module
from runner.process.environments import IN_REPOSITORY, MODULES
from runner.repo.read import Repository
from runner.secrets.redact import hold_values
from runner.text.display import display

if TYPE_CHECKING:
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.repo import included_files
    from runner.repo.included_files import IncludedFiles, Matches
    from runner.secrets import redact
else:
    included_files = lazy_module("runner.repo.included_files")
    redact = lazy_module("runner.secrets.redact")

FILE_NAME = ".worktreeinclude"

_KEY_FILE = "include.key"
_KEY_BYTES = 32
_DIGESTS = "included-digests.json"
_MOST_RUNS = 1000
_LONGEST_ENV = 1 << 18
_LARGEST_RULES = 1 << 16


def match_included(repository: Repository, settings: Settings) -> Matches | None:
    """Return the ignored files to copy into scratch trees; None if no rule selects any.

    Raises RunnerError where git cannot be asked.
    """
    own = "\n".join(settings.sandbox.worktree_include).encode()
    patterns = read_patterns(repository, repository.head().commit) + b"\n" + own
    if not patterns.strip():
        return None
    is_installed = partial(_is_installed, repository.folders.top)
    return included_files.find_matches(repository, patterns, is_installed)


def read_patterns(repository: Repository, commit: str | None) -> bytes:
    """Return the rules of the include file in a commit; empty without one."""
    path = repository.prefix.inside(FILE_NAME)
    found = repository.blob(commit, path) if commit else None
    return (found or b"")[:_LARGEST_RULES]


def _is_installed(top: Path, path: str) -> bool:
    """Return whether a file belongs to installed dependencies."""
    folders = path.split("/")[:-1]
    return MODULES in folders or any(
        name in IN_REPOSITORY and (top.joinpath(*folders[:end]) / "pyvenv.cfg").is_file()
        for end, name in enumerate(folders, 1)
    )


def match_in(root: Path, settings: Settings) -> Matches | None:
    """Return the ignored files to copy for a project's folder; see `match_included`."""
    with Repository.open(root) as repository:
        return match_included(repository, settings)


def copy_included(
    repository: Repository, matches: Matches | None, folder: Path
) -> IncludedFiles | None:
    """Read the matched files; values in `.env` files are redacted from now on."""
    if matches is None or not matches.groups:
        return None
    files = included_files.IncludedFiles.read(repository.folders.top, matches.paths, folder)
    hide_values(files)
    return files


def hide_values(files: IncludedFiles) -> None:
    """Redact the values of those files that look like `.env`, wherever text leaves the runner."""
    for one in files.files:
        if redact.is_env_file(one.path) and one.size <= _LONGEST_ENV:
            hold_values(redact.read_env_values(files.content(one).decode("utf-8", "replace")))


def record_included(files: IncludedFiles, run: str, state: Path) -> tuple[str, ...]:
    """Save a keyed digest of a run's files in the person's state folder, and return their names.

    Neither the key nor the digest is written anywhere else: they never leave this machine.
    """
    digest = files.digest(_load_key(state / _KEY_FILE))
    digests = {**_load_digests(state), run: digest}
    kept = dict(list(digests.items())[-_MOST_RUNS:])
    effects.write_file(state / _DIGESTS, json.dumps(kept).encode(), mode=0o600)
    return tuple(display(one.path) for one in files.files)


def find_digest(run: str, state: Path) -> str:
    """Return the digest of the files that a run copied; empty if not on this machine."""
    return _load_digests(state).get(run, "")


def _load_digests(state: Path) -> dict[str, str]:
    try:
        found = json.loads((state / _DIGESTS).read_bytes())
        return {str(run): str(digest) for run, digest in found.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def _load_key(file: Path) -> bytes:
    try:
        key = file.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) != _KEY_BYTES:
        key = effects.random_bytes(_KEY_BYTES)
        effects.make_folder(file.parent, mode=0o700)
        effects.write_file(file, key, mode=0o600)
    return key
