"""Clone a repository to a folder and branch of the runner's own, with the person's login.

A repository that is not on this machine is queried and cloned by its address alone: only by the
person's own configuration, and never by what an address could run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import ExitCode, RunnerError
from runner.repo.git import StoppedError
from runner.repo.remote import Move, OwnGit, Remote, Swap, address_of, lay_apart
from runner.repo.tree_files import walk
from runner.secrets.redact import redact
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from runner.repo.git import GitResult
    from runner.repo.read import Repository

ORIGIN = "origin"
"""Name of a clone's remote."""
_CLONE_SECONDS = 1800.0
_APART = "new-"
_SWITCHING = "runner-switching"
"""File in git's folder during the first checkout of a branch: its commit."""
_LOCKS = ("index.lock", "HEAD.lock")
BEGAN = "refs/runner/began"
"""Branch position at the switch, if everything there belonged to the base."""


def make_clone(source: Repository, remote: str, base: str, place: Path) -> None:
    """Clone the branch `base` of a remote of `source` into `place` atomically.

    Who commits there is who commits in `source`. Raises RunnerError with what git says.
    """
    address, who = address_of(source, remote), source.identity()
    effects.make_folder(place.parent)
    for left in place.parent.glob(f"{_APART}*"):  # of one that was killed
        shutil.rmtree(left, ignore_errors=True)
    new = place.parent / f"{_APART}{effects.new_id()}"
    with TemporaryFolder("clone") as box:
        variables = _tell(source, Path(box), os.environ)
        git = OwnGit(place.parent, variables)
        answer = git.ask(
            # No template, which may contain hooks (git-init(1)), and no submodules, whose addresses
            # come from the content (gitmodules(5)).
            *("-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--template="),
            *("--no-recurse-submodules", "--upload-pack=git-upload-pack", "--origin", ORIGIN),
            *("--config", f"user.name={who.name}", "--config", f"user.email={who.email}"),
            *("--branch", base, "--", address, str(new)),
            seconds=_CLONE_SECONDS,
        )
    if answer.exit:
        raise RunnerError(
            f"branch {base} of {remote} cannot be cloned",
            detail=answer.stderr.strip()[-2000:],
            hint=f"check the address and your login: git ls-remote {remote}",
        )
    effects.step("replace", place)
    # In one step: a process killed before it leaves a folder with another name, which the next
    # clone removes.
    new.rename(place)


def switch_branch(
    repository: Repository, branch: str, base: str, environ: Mapping[str, str]
) -> None:
    """Switch to a branch of the remote, which is created at the tip of `base` if missing.

    A branch that is checked out already stays as it is. Where a kill cut this off, what it left is
    made whole first: nobody has worked in the clone before. Raises RunnerError, exit 6 where the
    remote refuses it.
    """
    ref = f"refs/heads/{branch}"
    if repository.find_head().ref == ref:
        return
    note = repository.folders.git / _SWITCHING
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            tip = repository.git.line("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/{base}")
            made = remote.swap(Move(ref, None, tip, is_branch=True))
            if made.swap is Swap.REFUSED:
                raise make_refusal(f"the branch {branch}", made.output)
            tip = made.seen.get(ref, tip)
    with TemporaryFolder("clone") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_CLONE_SECONDS)
        began = f"refs/remotes/{ORIGIN}/{base}"
        if repository.git.ask("merge-base", "--is-ancestor", tip, began).exit == 0:
            repository.git.run("update-ref", BEGAN, tip)
        checkout = (*quiet, "checkout", "--quiet", "--no-track")
        if note.exists():
            # It writes the files first and HEAD last, so conflicting files may be its own.
            for left in (*_LOCKS, f"{ref}.lock"):
                effects.unlink(repository.folders.git / left)
            for to in (note.read_text("ascii"), tip):
                if git.ask(*checkout, "--force", "-B", branch, to).exit == 0:
                    break
        effects.write_file(note, tip.encode())
        git.run(*checkout, "-B", branch, tip)
        effects.unlink(note)


def make_refusal(what: str, output: str) -> RunnerError:
    """Return the error for a push that the remote rejected, with the remote's output."""
    return RunnerError(
        f"{ORIGIN} rejected {what}",
        detail=output,
        hint=f"let the account that git uses here push branches to {ORIGIN}",
        code=ExitCode.CONFLICT,
    )


def delete_own_branch(repository: Repository, branch: str, environ: Mapping[str, str]) -> str:
    """Delete a branch of the remote where all on it was made in this clone, and is here still.

    Why it stays; empty where it is gone. Raises RemoteDownError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
        if tip is None:
            return ""
        if repository.git.ask("rev-parse", "--verify", "--quiet", BEGAN).exit:
            return "it had commits before the work here began"
        here = repository.git.ask("rev-parse", "--verify", "--quiet", ref).out.decode().strip()
        if here != tip:
            return "somebody pushed to it"
        swapped = remote.swap(Move(ref, tip, None))
    match swapped.swap:
        case Swap.DONE:
            return ""
        case Swap.MOVED:
            return "somebody pushed to it"
        case Swap.REFUSED:
            return "the remote refuses to delete it"


def catch_up(repository: Repository, branch: str, environ: Mapping[str, str]) -> bool:
    """Fast-forward the checked-out branch to the remote's; False if that is not possible.

    False where it cannot go forward as it is here. Raises RemoteDownError.
    """
    ref = f"refs/heads/{branch}"
    with Remote(repository, ORIGIN, environ) as remote:
        tip = remote.read(ref).get(ref)
    head = repository.find_head()
    if head.ref != ref or tip is None:
        return False
    with TemporaryFolder("clone") as box:
        git = OwnGit(repository.root, _tell(repository, Path(box), environ))
        quiet = ("-c", "core.hooksPath=/dev/null")
        words = ("--no-tags", "--no-recurse-submodules", "--upload-pack=git-upload-pack")
        git.run(*quiet, "fetch", "--quiet", *words, ORIGIN, tip, seconds=_CLONE_SECONDS)
        return git.ask(*quiet, "merge", "--quiet", "--ff-only", tip).exit == 0


def _tell(repository: Repository, box: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for git with the user's configuration and login only."""
    _, variables = lay_apart(repository, box, environ)
    return {**variables, "GIT_TERMINAL_PROMPT": "0"}


_MIRROR = ".git"
_PAUSE = 0.2
_ROOM = 1 << 20
"""Free bytes required before cloning to a disk."""


class CloneCache(Struct, frozen=True):
    """The copies in one folder, shared by the processes of this machine."""

    folder: Path
    most: float
    """Maximum bytes of all of them."""

    def clone(
        self,
        address: str,
        base: str,
        place: Path,
        who: tuple[str, str],
        environ: Mapping[str, str],
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        """Clone `base` into `place` atomically. Raises RunnerError with git's message.

        Raises StoppedError soon after `stopped` says so.
        """
        find_branches(address, environ, stopped)  # one that does not answer costs no copy
        effects.make_folder(self.folder, mode=0o700)
        mirror = self.place_of(address)

        def copy() -> None:
            update_mirror(address, mirror, environ, stopped)
            clone_address(address, base, place, who, environ, mirror, stopped=stopped)

        with _wait_for(mirror, stopped):
            try:
                copy()
            except StoppedError:
                raise
            except RunnerError:  # it answers, so it may be the copy
                shutil.rmtree(mirror, ignore_errors=True)
                copy()
            # Time of its last use, by which `trim` chooses.
            os.utime(mirror)
        self.trim()

    def place_of(self, address: str) -> Path:
        """Return the path of the mirror of an address, which need not exist."""
        digest = hashlib.sha256(address.encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest[:32]}{_MIRROR}"

    def trim(self) -> None:
        """Remove the least recently used mirrors until the rest fits, except those in use."""
        found = sorted(self.folder.glob(f"*{_MIRROR}"), key=find_last_use)
        sizes = {one: measure_folder(one) for one in found}
        for one in found[:-1]:  # the newest one stays, however large
            if sum(sizes.values()) <= self.most:
                break
            # One in use is newer than its time: a cloning process updates that at the end.
            with suppress(BlockingIOError), _lock(one):
                shutil.rmtree(one, ignore_errors=True)
                del sizes[one]


@contextmanager
def _wait_for(mirror: Path, stopped: Callable[[], bool] | None) -> Iterator[None]:
    """Wait for the lock of a mirror and hold it. Raises StoppedError."""
    with ExitStack() as held:
        while True:
            with suppress(BlockingIOError):
                held.enter_context(_lock(mirror))
                break
            if stopped is not None and stopped():
                raise StoppedError
            time.sleep(_PAUSE)
        yield


@contextmanager
def _lock(mirror: Path) -> Iterator[None]:
    """Hold the lock of a mirror. Raises BlockingIOError if another process has it."""
    # Next to the copy and never deleted: a lock in the folder would be deleted with it, and two
    # processes could hold two files of one name.
    with effects.try_lock(mirror.with_suffix(".lock")) as is_ours:
        if not is_ours:
            raise BlockingIOError
        yield


def find_last_use(folder: Path) -> float:
    """When; 0 for one that another process takes away meanwhile."""
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def find_lack(*folders: Path, is_written: bool = False) -> OSError | None:
    """Return the error of a disk that is full or not writable, or None.

    With `is_written` that is tried: git says in many words that it could not, and not always why.
    """
    for folder in folders:
        probe = folder / f".room-{os.getpid()}"
        try:
            effects.make_folder(folder, mode=0o700)
            if shutil.disk_usage(folder).free < _ROOM:
                return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
            if is_written:
                effects.write_file(probe, bytes(_ROOM), mode=0o600)
                effects.unlink(probe)
        except OSError as error:
            return error
    return None


def measure_folder(folder: Path) -> int:
    """Return the total size of a folder's files in bytes; vanished files count as 0."""
    total = 0
    for at, _, names in walk(str(folder)):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(at, name)).st_size  # noqa: PTH118 - text
    return total


PROTOCOLS = "file:git:http:https:ssh"
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
"""`<transport>::<address>` names a program (gitremote-helpers(7))."""
_SSH = re.compile(r"[A-Za-z0-9_.-]+(?:@[A-Za-z0-9_.-]+)?:[^:]")
"""`user@host:path`."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEAD = re.compile(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)
_SECONDS = 120.0
_LONGEST = 2000


def require_address(address: str) -> str:
    """Return a permitted repository address with an absolute path. Raises RunnerError."""
    if not address or address.startswith("-") or not address.isprintable() or " " in address:
        raise _refuse(address, "not a valid repository address")
    if _HELPER.match(address):
        raise _refuse(address, "git would run the program that this address names")
    if "://" in address:
        try:
            parts = urlsplit(address)
        except ValueError as error:  # a bracket without its end, letters that stand for others
            raise _refuse(address, "not a valid repository address") from error
        if parts.scheme not in PROTOCOLS.split(":"):
            raise _refuse(address, f"{parts.scheme} is not a supported protocol")
        if parts.password is not None or redact(address) != address:  # a token as a name, too
            raise _refuse(
                "", "an address must not contain a password: it is stored where others can read it"
            )
        if parts.netloc.startswith("-"):  # ssh would read it as an option
            raise _refuse(address, "not a valid repository address")
        return address
    # Neither raises: a name may be too long for the system, and a user in it unknown.
    if _SSH.match(address) and not os.path.exists(address):  # noqa: PTH110
        return address
    return str(Path(os.path.expanduser(address)).absolute())  # noqa: PTH111


def _refuse(address: str, why: str) -> RunnerError:
    hint = "https://HOST/NAME.git, git@HOST:NAME.git or a path; log in with --credential NAME"
    return RunnerError(why, where=address, hint=hint)


def login_variables(address: str, credential: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables that log git in at an https address with the token in `credential`.

    The token itself stands in no argument and no file, and goes to this one host alone.
    Raises RunnerError where there is no such variable.
    """
    if not credential:
        return {}
    if not address.startswith("https://") or not _VARIABLE.fullmatch(credential):
        raise RunnerError(
            "a credential needs an https address and the name of a variable with a token",
            where=address,
            hint="--credential SHOP_TOKEN; ssh uses your own keys",
        )
    if not environ.get(credential):
        raise RunnerError(
            f"the environment variable {credential} is not set",
            hint=f"set {credential}=… in the environment that builds {address}",
        )
    parts = urlsplit(address)
    # git runs a helper that starts with `!` in a shell (gitcredentials(7), CUSTOM HELPERS), which
    # reads the variable only then.
    helper = f'!f() {{ echo username=x-access-token; echo "password=${credential}"; }}; f'
    count = max(0, read_number(environ.get("GIT_CONFIG_COUNT", "")))
    return {
        "GIT_CONFIG_COUNT": str(count + 1),
        f"GIT_CONFIG_KEY_{count}": f"credential.{parts.scheme}://{parts.netloc}.helper",
        f"GIT_CONFIG_VALUE_{count}": helper,
    }


def require_permitted(address: str, credential: str, permitted: Collection[str]) -> None:
    """Refuse to tell a token to a host that its owner did not name: `TOKEN@HOST`.

    Who registers a repository names both; the variable is of whoever builds. Raises RunnerError.
    """
    host = urlsplit(address).netloc.rpartition("@")[2] if "://" in address else ""
    if credential and f"{credential}@{host}" not in permitted:
        raise RunnerError(
            f"your settings do not allow sending {credential} to {host or 'this address'}",
            where=address,
            hint="add this to your own settings: "
            f'team.worker_credentials = ["{credential}@{host or "HOST"}"]',
        )


def require_within(address: str, folders: Collection[str]) -> None:
    """Refuse a repository of this machine that its owner named no folder of. Raises RunnerError.

    Whoever registers an address names a path; what lies there is what this account may read.
    """
    if (place := _find_place(address)) is None:
        return
    kept = (Path(os.path.realpath(os.path.expanduser(one))) for one in folders)  # noqa: PTH111
    if not any(place.is_relative_to(one) for one in kept):
        raise RunnerError(
            "your settings do not allow building a repository in this folder",
            where=address,
            hint=f'set team.worker_folders = ["{place.parent}"] in your own settings',
        )


def _find_place(address: str) -> Path | None:
    """Return the local folder of an address with links resolved; None if it is remote."""
    known = require_address(address)
    scheme, _, rest = known.partition("://") if "://" in known else ("", "", known)
    if scheme.lower() == "file":
        # For git the apparent host is the path's first folder (connect.c, parse_connect_url).
        named = "/" + unquote(rest).lstrip("/")
    else:
        named = rest if not scheme and rest.startswith("/") else ""
    return Path(os.path.realpath(named)) if named else None


def find_branches(
    address: str, environ: Mapping[str, str], stopped: Callable[[], bool] | None = None
) -> tuple[str, dict[str, str]]:
    """Return a remote's default branch, or "", and its branches. Raises RunnerError.

    Raises RunnerError with what git says where it gives no answer, and StoppedError soon after
    `stopped` says so.
    """
    with TemporaryFolder("ask") as box:
        words = ("ls-remote", "--symref", "--upload-pack=git-upload-pack", "--", address)
        answer = _ask(Path(box), environ, *words, "HEAD", "refs/heads/*", stopped=stopped)
    if answer.exit:
        raise RunnerError(
            "the repository does not answer",
            where=address,
            detail=answer.stderr.strip()[-_LONGEST:],
            hint=f"check the address and your login: git ls-remote {address}",
        )
    output = answer.out.decode("utf-8", "replace")
    found = _HEAD.search(output)
    rows = (line.partition("\t") for line in output.splitlines())
    branches = {
        ref.removeprefix("refs/heads/"): commit
        for commit, _, ref in rows
        if ref.startswith("refs/heads/")
    }
    return found[1] if found else "", branches


def clone_address(
    address: str,
    base: str,
    place: Path,
    who: tuple[str, str],
    environ: Mapping[str, str],
    mirror: Path | None = None,
    *,
    stopped: Callable[[], bool] | None = None,
) -> None:
    """Clone the branch `base` into `place` atomically, with `who` as committer.

    What `mirror` has of it is copied from there. Raises RunnerError with what git says, and
    StoppedError soon after `stopped` says so.
    """
    # Dissociated: a borrowing clone loses objects when the copy is trimmed (git-clone(1), the note
    # of --shared).
    borrowed = ("--reference", str(mirror), "--dissociate") if mirror else ()
    effects.make_folder(place.parent, mode=0o700)
    new = place.parent / f"new-{effects.new_id()}"
    answer = _ask(
        place.parent,
        environ,
        *("-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--template="),
        # no hard links to a remote on this disk: damage here would also damage the remote
        *("--no-local", "--no-recurse-submodules", "--upload-pack=git-upload-pack"),
        *("--origin", "origin"),
        *("--config", f"user.name={who[0]}", "--config", f"user.email={who[1]}"),
        *borrowed,
        *("--branch", base, "--", address, str(new)),
        seconds=_CLONE_SECONDS,
        stopped=stopped,
    )
    if answer.exit:
        shutil.rmtree(new, ignore_errors=True)
        raise RunnerError(
            f"branch {base} cannot be cloned",
            where=address,
            detail=answer.stderr.strip()[-_LONGEST:],
            hint=f"check the address and your login: git ls-remote {address}",
        )
    effects.step("replace", place)
    new.rename(place)


def update_mirror(
    address: str,
    mirror: Path,
    environ: Mapping[str, str],
    stopped: Callable[[], bool] | None = None,
) -> None:
    """Fetch all branches of a remote into a bare repository. Raises RunnerError."""
    hooks = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0")
    safe = ("--quiet", "--upload-pack=git-upload-pack")
    if mirror.is_dir():
        words = (f"--git-dir={mirror}", *hooks, "fetch", *safe, "--prune", "--no-tags")
        refs = (*words, "--no-recurse-submodules", "--", address, "+refs/heads/*:refs/heads/*")
        answer = _ask(mirror.parent, environ, *refs, seconds=_CLONE_SECONDS, stopped=stopped)
    else:
        effects.make_folder(mirror.parent, mode=0o700)
        made = ("clone", *safe, "--no-local", "--bare", "--template=", "--", address, str(mirror))
        answer = _ask(
            mirror.parent, environ, *hooks, *made, seconds=_CLONE_SECONDS, stopped=stopped
        )
    if answer.exit:
        raise RunnerError(
            "the repository cannot be cloned",
            where=address,
            detail=answer.stderr.strip()[-_LONGEST:],
            hint=f"check the address and your login: git ls-remote {address}",
        )


def find_identity(environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the committer by the person's own configuration; a default name if none is set."""
    with TemporaryFolder("ask") as box:

        def ask(key: str) -> str:
            return _ask(Path(box), environ, "config", key).out.decode("utf-8", "replace").strip()

        return ask("user.name") or "runner", ask("user.email") or "runner@localhost"


def _ask(
    folder: Path,
    environ: Mapping[str, str],
    *words: str,
    seconds: float = _SECONDS,
    stopped: Callable[[], bool] | None = None,
) -> GitResult:
    """Run git outside of any repository, so that only the person's own configuration applies."""
    kept = {name: value for name, value in environ.items() if not _is_of_a_repository(name)}
    variables = {
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        # An upward search could find a repository that contains the cache folder, with its own
        # settings.
        "GIT_CEILING_DIRECTORIES": os.path.realpath(folder),
        "GIT_DIR": str(folder / "none"),
    }
    if "clone" in words or "config" in words:
        del variables["GIT_DIR"]  # it would be where the clone goes
    return OwnGit(folder, variables, stopped=stopped).ask(*words, seconds=seconds)


def _is_of_a_repository(name: str) -> bool:
    return name in {
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_NAMESPACE"),
        *("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX"),
    }
