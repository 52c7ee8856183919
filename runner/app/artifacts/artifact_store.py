"""Artifact stores: a folder or an S3 bucket. A stored object is never overwritten.

The only obstore: its bucket takes an object only where none of that name is (`If-None-Match: *`,
"Conditional writes" in the manual of Amazon S3); a folder takes a second name of a whole file,
which link(2) refuses where one is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from runner import effects
from runner.errors import RunnerError
from runner.text.display import display
from runner.text.wording import install_hint
from runner.writes.safe_io import read_below, write_below

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    T = TypeVar("T")

BUCKET = "s3://"
_SECONDS = 60.0
"""Seconds for one object, including retries; after that the store counts as unreachable."""
_LOGIN = (
    "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, and AWS_ENDPOINT_URL for your own"
    " server, in the environment"
)


class ArtifactStore(Protocol):
    """Objects by their keys, which are relative paths."""

    @property
    def name(self) -> str:
        """Name of the store as the settings have it."""

    def put_new(self, key: str, content: bytes) -> bool:
        """Store it whole where nothing is; False where something is. Raises RunnerError."""

    def get(self, key: str) -> bytes | None:
        """Return an object's bytes; None where there is none. Raises RunnerError."""

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        """Return all keys with this prefix, sorted. Raises RunnerError."""


def open_store(name: str, root: Path, environ: Mapping[str, str]) -> ArtifactStore:
    """Create the artifact store without contacting it. Raises RunnerError without its extra."""
    if name.startswith(BUCKET):
        return _open_bucket(name, environ)
    folder = Path(os.path.expanduser(name))  # noqa: PTH111 - the text may begin with ~
    inside = not folder.is_absolute()
    whole = root / folder if inside else folder
    if inside:
        _require_own_folder(name)
    return FolderStore(name, whole, root if inside else whole, ignored=inside)


def _require_own_folder(name: str) -> None:
    """Raise RunnerError for a folder name that is empty, contains `..` or is below `.git`."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    git = any(part.casefold() == ".git" for part in parts)
    if not parts or ".." in parts or git:
        hint = 'use a folder such as "artifacts/kept", or an absolute path in your own settings'
        raise RunnerError("not a valid folder for artifacts", where=display(name), hint=hint)


# --- a folder -------------------------------------------------------------------------


class FolderStore(Struct, frozen=True):
    """Files below a folder."""

    name: str
    folder: Path
    beneath: Path
    """No link below this is followed: the project for a folder in it, else the folder."""
    ignored: bool = False
    """Whether it is in the work tree, where git has to ignore it."""

    def put_new(self, key: str, content: bytes) -> bool:
        """Write it beside, and give it its name where that is free."""
        path = self._path(key)
        beside = f"{path}.{os.getpid()}.new"
        root = self.beneath
        # Only saves the write: of two concurrent writers, link(2) lets one succeed.
        if (root / path).exists():
            return False
        try:
            if self.ignored:
                self._hide()
            else:
                effects.make_folder(root)
            write_below(root, beside, content, 0o644)
            effects.step("link", root / path)
            os.link(root / beside, root / path, follow_symlinks=False)
        except FileExistsError:
            return False
        except OSError as error:
            raise _away(self.name, error.strerror or str(error)) from error
        finally:
            with suppress(OSError):
                (root / beside).unlink(missing_ok=True)
        return True

    def get(self, key: str) -> bytes | None:
        """Read it."""
        try:
            return read_below(self.beneath, self._path(key))
        except OSError as error:
            raise _away(self.name, error.strerror or str(error)) from error

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        """Return the keys of complete files; partial files of a killed writer are left out."""
        top = self.folder / prefix
        found = [path for path in top.rglob("*") if path.is_file() and not path.is_symlink()]
        names = (path.relative_to(self.folder).as_posix() for path in found)
        return tuple(sorted(name for name in names if not name.endswith(".new")))

    def _path(self, key: str) -> str:
        return (self.folder / key).relative_to(self.beneath).as_posix()

    def _hide(self) -> None:
        path = self._path(".gitignore")
        if not (self.beneath / path).exists():
            write_below(self.beneath, path, b"*\n", 0o644, durable=False)


# --- a bucket -------------------------------------------------------------------------


def _open_bucket(name: str, environ: Mapping[str, str]) -> ArtifactStore:
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise RunnerError(
            "storing artifacts in a bucket needs the package obstore",
            where=name,
            hint=install_hint("artifacts"),
        ) from error
    values = {
        key.lower(): value
        for key, value in environ.items()
        if key.startswith("AWS_") and value and key not in ("AWS_PROFILE", "AWS_CONFIG_FILE")
    }
    known = {key: values[key] for key in _KNOWN if key in values}
    plain = known.get("aws_endpoint_url", "").startswith("http://")
    wait = timedelta(seconds=_SECONDS)
    bucket = S3Store.from_url(
        name,
        config=known,  # type: ignore[arg-type]  # its keys are names of AWS's own variables
        client_options={"allow_http": plain, "connect_timeout": "10s", "timeout": "50s"},
        retry_config={"max_retries": 3, "retry_timeout": wait},
    )
    return BucketStore(name, bucket)


_KNOWN = (
    *("aws_access_key_id", "aws_secret_access_key", "aws_session_token", "aws_region"),
    *("aws_default_region", "aws_endpoint_url", "aws_virtual_hosted_style_request"),
    *("aws_web_identity_token_file", "aws_role_arn", "aws_role_session_name"),
    *("aws_container_credentials_relative_uri", "aws_container_credentials_full_uri"),
)
"""AWS variables that name the bucket's location and the credentials."""


class BucketStore(Struct, frozen=True):
    """Objects of a bucket, below a prefix."""

    name: str
    bucket: Any  # obstore's S3Store: its stubs name types that its wheel lacks at run time

    def put_new(self, key: str, content: bytes) -> bool:
        """Store an object in one conditional request; return False if the key already exists."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            self._ask(lambda: obstore.put(self.bucket, key, content, mode="create"))
        except (AlreadyExistsError, PreconditionError):
            return False
        return True

    def get(self, key: str) -> bytes | None:
        """Return an object's bytes, or None if it does not exist."""
        import obstore
        from obstore.exceptions import NotFoundError

        try:
            return self._ask(lambda: bytes(obstore.get(self.bucket, key).bytes()))
        except (NotFoundError, FileNotFoundError):
            return None

    def list_keys(self, prefix: str) -> tuple[str, ...]:
        """Return the keys of all listing pages, sorted."""
        import obstore

        def ask() -> list[str]:
            pages = obstore.list(self.bucket, prefix.rstrip("/") or None)
            return [str(one["path"]) for page in pages for one in page]

        return tuple(sorted(self._ask(ask)))

    def _ask(self, call: Callable[[], T]) -> T:
        """Run a call of the store's client in a thread with a timeout, and return its result.

        In a thread: obstore waits outside of Python, where no signal would be heard.
        """
        from obstore.exceptions import (
            AlreadyExistsError,
            BaseError,
            NotFoundError,
            PreconditionError,
        )

        answers: list[T] = []
        raised: list[Exception] = []

        def ask() -> None:
            try:
                answers.append(call())
            except (BaseError, OSError, ValueError) as error:
                raised.append(error)

        thread = Thread(target=ask, daemon=True, name="bucket")
        thread.start()
        # Slightly longer than the client's own retries, whose error is more precise.
        thread.join(_SECONDS + 5)
        if answers:
            return answers[0]
        if not raised:
            raise _away(self.name, f"no answer in {_SECONDS:g} s")
        own = (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError)
        if isinstance(raised[0], own):
            raise raised[0]
        raise _away(self.name, str(raised[0])) from raised[0]


def _away(name: str, message: str) -> RunnerError:
    first = " ".join(message.split())[:200]
    hint = (
        f"{_LOGIN}; then runner team artifacts push"
        if name.startswith(BUCKET)
        else ("make the folder writable, then runner team artifacts push")
    )
    return RunnerError(
        f"cannot read or write the artifact store: {display(first)}",
        where=display(name),
        hint=hint,
    )
