"""The people of a team: their roles, permissions and tokens.

A token is shown once, to whoever made it; the store keeps its digest. Each change of people and
tokens is recorded as an act, with who did it and from where.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from runner import effects
from runner.errors import ExitCode, RunnerError
from runner.extensions.team.tables import acts, people, tokens
from runner.text.wording import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from runner.extensions.team.store_engine import Store

ROLES = ("viewer", "reviewer", "operator", "admin")
"""Roles in ascending order; each includes the previous ones."""
PREFIX = "rnr_"
"""Prefix of a token, so that a leaked one is recognisable."""
_BYTES = 32
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_TOKEN_ID = re.compile(r"[0-9a-f]{8}")
_LONGEST_LABEL = 100
_SHOWN = 100


class Token(Struct, frozen=True):
    """One token as the store knows it; what it is in full, nobody does."""

    id: str
    person: str
    label: str
    made: str
    by: str
    ends: str
    """Expiry; empty: never."""
    used: str
    revoked: str
    revoked_by: str

    @property
    def is_live(self) -> bool:
        """Whether it opens something now."""
        return not self.revoked and (not self.ends or effects.timestamp() < self.ends)


class Person(Struct, frozen=True):
    """Somebody of the team."""

    name: str
    role: str
    added: str
    by: str
    tokens: tuple[Token, ...] = ()

    def may(self, role: str) -> bool:
        """Return whether the person has this role or a higher one."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Doer(Struct, frozen=True):
    """The person who acts, and from where: `terminal` or `page`."""

    name: str
    via: str = "terminal"


class Act(Struct, frozen=True):
    """An action on people and tokens."""

    time: str
    kind: str
    by: str
    via: str
    about: str
    note: str


def is_same_person(one: str, other: str) -> bool:
    """Return whether two names belong to one person: `ada@laptop` equals `ada`.

    At a terminal it is `ada@laptop`, at the page `ada`. Two people of one name on two machines are
    taken for one: where that matters, it only refuses.
    """
    return one.partition("@")[0].casefold() == other.partition("@")[0].casefold()


# --- people ---------------------------------------------------------------------------


def add_person(store: Store, name: str, role: str, doer: Doer) -> Person:
    """Add a person. Raises RunnerError for an invalid or known name or an unknown role."""
    if not _NAME.fullmatch(name):
        raise RunnerError("invalid name", where=name, hint="use lowercase letters and digits: ada")
    _require_role(role)
    made = Person(name, role, effects.timestamp(), doer.name)
    row = {"name": name, "role": role, "added": made.added, "by": doer.name}
    try:
        with store.write() as connection:
            connection.execute(people.insert().values(**row))
            _note(connection, "person.added", doer, name, role)
    except IntegrityError:  # not looked for before: of two at once both would find nobody
        raise RunnerError(
            f"{name} already exists", hint="runner team people list", code=ExitCode.CONFLICT
        ) from None
    return made


def list_people(store: Store) -> tuple[Person, ...]:
    """Return all people by name, with their tokens, newest first."""
    with store.read() as connection:
        known = connection.execute(tokens.select().order_by(tokens.c.made.desc())).mappings()
        own = [_token_of(row) for row in known]
        rows = connection.execute(people.select().order_by(people.c.name)).mappings()
        return tuple(_person_of(row, own) for row in rows)


def _hold_person(connection: Connection, name: str) -> Person:
    """Return a person and lock their row until the transaction ends. Raises RunnerError."""
    query = people.select().where(people.c.name == name).with_for_update()
    row = connection.execute(query).mappings().first()
    if row is None:
        raise _make_unknown(name, map(str, connection.execute(select(people.c.name)).scalars()))
    return _person_of(row)


def _make_unknown(name: str, known: Iterable[str]) -> RunnerError:
    hint = did_you_mean(name, known) or "runner team people list; runner team people add NAME"
    return RunnerError(f"unknown person {name!a}", hint=hint)


def set_role(store: Store, name: str, role: str, doer: Doer) -> None:
    """Change a person's role. Raises RunnerError, also for the doer's own role."""
    _require_role(role)
    _require_other(name, doer)
    with store.write() as connection:
        before = _hold_person(connection, name).role
        connection.execute(people.update().where(people.c.name == name).values(role=role))
        _note(connection, "person.role-set", doer, name, f"{before} to {role}")


def remove_person(store: Store, name: str, doer: Doer) -> None:
    """Remove a person and their tokens. Raises RunnerError, also for the doer."""
    _require_other(name, doer)
    with store.write() as connection:
        _hold_person(connection, name)
        connection.execute(people.delete().where(people.c.name == name))
        _note(connection, "person.removed", doer, name, "")


def _require_role(role: str) -> None:
    if role not in ROLES:
        raise RunnerError(f"unknown role {role!a}", hint=f"roles: {', '.join(ROLES)}")


def _require_other(name: str, doer: Doer) -> None:
    """Raise RunnerError for changes of one's own account, which could lock the last admin out."""
    if name == doer.name:
        raise RunnerError(
            "you cannot change your own role or remove yourself",
            hint="ask another admin, or use a terminal: runner team people --help",
            code=ExitCode.PERSON,
        )


# --- tokens ---------------------------------------------------------------------------


def make_token(
    store: Store, name: str, doer: Doer, *, label: str = "", seconds: float = 0.0
) -> tuple[str, Token]:
    """Create a token and return its secret, which is not stored. Raises RunnerError.

    With `seconds` it opens nothing after that.
    """
    if len(label) > _LONGEST_LABEL:
        raise RunnerError(f"a label has at most {_LONGEST_LABEL} characters")
    secret, now = PREFIX + secrets.token_urlsafe(_BYTES), effects.now()
    ends = _format(now + timedelta(seconds=seconds)) if seconds else ""
    row = {"id": secrets.token_hex(4), "person": name, "label": label, "made": _format(now)}
    row |= {"by": doer.name, "ends": ends, **dict.fromkeys(("used", "revoked", "revoked_by"), "")}
    with store.write() as connection:
        _hold_person(connection, name)
        connection.execute(tokens.insert().values(**row, digest=_digest(secret)))
        _note(connection, "token.made", doer, name, row["id"])
    return secret, Token(**row)


def revoke_token(store: Store, id_: str, doer: Doer) -> Token:
    """Revoke a token and end its sessions. Raises RunnerError for an unknown or revoked token."""
    if not _TOKEN_ID.fullmatch(id_):
        raise RunnerError(f"{id_!a} is not a valid token ID", hint="runner team people list")
    with store.write() as connection:
        known = tokens.select().where(tokens.c.id == id_).with_for_update()
        row = connection.execute(known).mappings().first()
        if row is None:
            raise RunnerError(f"unknown token {id_}", hint="runner team people list")
        if row["revoked"]:
            raise RunnerError(
                f"token {id_} was already revoked at {row['revoked']}",
                hint="runner team people list",
                code=ExitCode.CONFLICT,
            )
        values = {"revoked": effects.timestamp(), "revoked_by": doer.name}
        connection.execute(tokens.update().where(tokens.c.id == id_).values(**values))
        _note(connection, "token.revoked", doer, str(row["person"]), id_)
        return _token_of({**row, **values})


def sign_in(store: Store, secret: str, note: str) -> tuple[Person, Token] | None:
    """Return the owner of a token and record the sign-in; None for an invalid token."""
    # Found by digest: the lookup's duration reveals nothing of the token itself.
    with store.write() as connection:
        of_token = tokens.select().where(tokens.c.digest == _digest(secret))
        row = connection.execute(of_token).mappings().first()
        token = _token_of(row) if row else None
        if token is None or not token.is_live:
            return None
        whose = connection.execute(people.select().where(people.c.name == token.person))
        found = whose.mappings().first()
        if found is None:  # taken away at this moment, and the token with them
            return None
        person = _person_of(found)
        now = effects.timestamp()
        connection.execute(tokens.update().where(tokens.c.id == token.id).values(used=now))
        _note(connection, "person.signed-in", Doer(person.name, "page"), person.name, note)
    return person, token


def find_standing(store: Store, id_: str) -> Person | None:
    """Return the current owner of a token; None if it is expired or revoked."""
    with store.read() as connection:
        query = select(*people.c, tokens.c.revoked, tokens.c.ends)
        query = query.join(tokens, tokens.c.person == people.c.name).where(tokens.c.id == id_)
        row = connection.execute(query).mappings().first()
    if row is None or row["revoked"] or (row["ends"] and row["ends"] <= effects.timestamp()):
        return None
    return _person_of(row)


def list_acts(store: Store) -> tuple[Act, ...]:
    """Return the latest changes of people and tokens, newest first."""
    query = acts.select().order_by(acts.c.id.desc()).limit(_SHOWN)
    with store.read() as connection:
        return tuple(
            Act(**{name: row[name] for name in Act.__struct_fields__})
            for row in connection.execute(query).mappings()
        )


def _note(connection: Connection, kind: str, doer: Doer, about: str, note: str) -> None:
    values = {"id": effects.new_id(), "time": effects.timestamp(), "kind": kind, "by": doer.name}
    connection.execute(acts.insert().values(**values, via=doer.via, about=about, note=note))


def _person_of(row: Mapping[Any, Any], known: Iterable[Token] = ()) -> Person:
    name, role, added, by = (str(row[one]) for one in ("name", "role", "added", "by"))
    return Person(name, role, added, by, tuple(one for one in known if one.person == name))


def _token_of(row: Mapping[Any, Any]) -> Token:
    return Token(**{name: row[name] for name in Token.__struct_fields__})


def _digest(secret: str) -> str:
    # A token has 256 random bits, so a plain digest cannot be reversed by guessing: no salt, no
    # slow hash (those are for chosen passwords).
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _format(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
