"""Query and clone a remote by its address alone, without a local repository.

Only by the person's own configuration and login, and never by what an address could run.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from runner import effects
from runner.config.temporary_folders import TemporaryFolder
from runner.errors import RunnerError
from runner.repo.remote import OwnGit
from runner.secrets.redact import redact
from runner.text.wording import read_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from runner.repo.git import GitResult

PROTOCOLS = "file:git:http:https:ssh"
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
"""`<transport>::<address>` names a program (gitremote-helpers(7))."""
_SSH = re.compile(r"[A-Za-z0-9_.-]+(?:@[A-Za-z0-9_.-]+)?:[^:]")
"""`user@host:path`."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEAD = re.compile(r"^ref: refs/heads/(\S+)\tHEAD$", re.MULTILINE)
_SECONDS = 120.0
_LONG = 1800.0
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
        seconds=_LONG,
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
        answer = _ask(mirror.parent, environ, *refs, seconds=_LONG, stopped=stopped)
    else:
        effects.make_folder(mirror.parent, mode=0o700)
        made = ("clone", *safe, "--no-local", "--bare", "--template=", "--", address, str(mirror))
        answer = _ask(mirror.parent, environ, *hooks, *made, seconds=_LONG, stopped=stopped)
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
