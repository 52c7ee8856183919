"""The repositories of a team: those that builds may be queued for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import func, select

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.event_rows import ENDS
from runner.extensions.team.tables import builds, repositories
from runner.repo.clone import (
    find_branches,
    login_variables,
    require_address,
    require_permitted,
    require_within,
)
from runner.text.wording import did_you_mean, join_few

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from runner.extensions.team.store_engine import Store

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Registered(Struct, frozen=True):
    """One repository as the store has it."""

    name: str
    url: str
    branch: str
    """Branch from which builds start; empty: the remote's default branch."""
    plan: str
    """Path of the plan; empty: the usual places."""
    credential: str
    """Variable with the login on the build machine; empty: none needed."""
    added: str
    by: str


def add_repository(
    store: Store, asked: Registered, environ: Mapping[str, str]
) -> tuple[Registered, str]:
    """Register it, once it answered; gives it with the commit that its branch is on.

    Raises RunnerError for an address that is none, does not answer, or has no such branch.
    """
    url = require_address(asked.url)
    name = asked.name or url.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    if not _NAME.fullmatch(name):
        raise RunnerError("invalid repository name", where=name, hint="--name shop")
    if asked.plan.startswith(("/", "-")) or ".." in asked.plan.split("/"):
        raise RunnerError(
            "the plan must be in the repository", where=asked.plan, hint="--plan TASK-GRAPH.md"
        )
    made = Registered(
        name, url, asked.branch, asked.plan, asked.credential, effects.timestamp(), asked.by
    )
    branch, commit = try_access(made, environ)
    made = Registered(name, url, branch, made.plan, made.credential, made.added, made.by)
    from sqlalchemy.exc import IntegrityError

    try:
        with store.write() as connection:
            values = asdict(made)
            connection.execute(repositories.insert().values(**values))
    except IntegrityError as error:
        raise RunnerError(
            f"repository {name} already exists",
            hint="use --name OTHER, or runner team repo remove " + name,
            code=ExitCode.CONFLICT,
        ) from error
    return made, commit


def try_access(
    one: Registered,
    environ: Mapping[str, str],
    permitted: Collection[str] | None = None,
    folders: Collection[str] = (),
) -> tuple[str, str]:
    """Return the initial branch and its commit from the remote. Raises RunnerError.

    `permitted` are the tokens that may go to a host that somebody else registered, and
    `folders` where one of this machine may lie; None where the person names it all now. Raises
    RunnerError where the remote does not answer, or has no such branch.
    """
    if permitted is not None:
        require_permitted(one.url, one.credential, permitted)
        require_within(one.url, folders)
    login = login_variables(one.url, one.credential, environ)
    default, branches = find_branches(one.url, {**environ, **login})
    branch = one.branch or default
    if branch not in branches:
        raise _no_such_branch(one.url, branch, sorted(branches))
    return branch, branches[branch]


def _no_such_branch(url: str, branch: str, there: Sequence[str]) -> RunnerError:
    if not there:
        return RunnerError("the repository has no branches", where=url, hint="push a branch to it")
    hint = did_you_mean(branch, there) or f"--branch NAME: {join_few(there)}"
    why = f"unknown branch {branch}" if branch else "the repository's HEAD names no existing branch"
    return RunnerError(why, where=url, hint=hint)


def list_repositories(store: Store) -> tuple[Registered, ...]:
    """Return all registered repositories by name."""
    with store.read() as connection:
        rows = connection.execute(repositories.select().order_by(repositories.c.name)).mappings()
        return tuple(_of_row(row) for row in rows)


def find_repository(store: Store, name: str) -> Registered:
    """Return the repository of this name. Raises RunnerError if it is unknown."""
    known = {one.name: one for one in list_repositories(store)}
    if name not in known:
        hint = did_you_mean(name, known) or "runner team repo list; runner team repo add URL"
        raise RunnerError(f"unknown repository {name!a}", hint=hint)
    return known[name]


def remove_repository(store: Store, name: str) -> None:
    """Remove a repository, so that it cannot be queued; finished builds stay listed.

    Raises RunnerError, exit 6 while builds of it wait or go on.
    """
    find_repository(store, name)
    with store.write() as connection:
        left = select(func.count()).where(builds.c.repository == name, builds.c.state.not_in(ENDS))
        if number := connection.execute(left).scalar():
            raise RunnerError(
                f"{name} has unfinished builds: {number}",
                hint=f"runner team queue list {name}; runner team queue cancel ID",
                code=ExitCode.CONFLICT,
            )
        connection.execute(repositories.delete().where(repositories.c.name == name))


def _of_row(row: Mapping[Any, Any]) -> Registered:
    return Registered(**{field: row[field] for field in Registered.__struct_fields__})
