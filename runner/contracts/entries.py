"""Read the entries under Contracts, report unreadable ones, and find missing packages and tools."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from runner.lazy_pattern import regex
from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from runner.model import Contract, Task
    from runner.plan.source import Problem
    from runner.plan.spans import Spans


class Refused(Exception):  # noqa: N818 - an outcome of reading, named as the field names it
    """A contract that cannot be checked, with the reason; `gates` turns it into a finding."""

    def __init__(self, message: str, *, hint: str = "", path: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.line = line


_OPENAPI_HINT = (
    "write it as openapi: `contracts/openapi.yaml` app=`package.module:app`, "
    'or with url=http://127.0.0.1:8001 start="command"'
)
_SCHEMA_HINT = (
    "write it as schema: `contracts/thing.schema.json` = `package.module:Type`, "
    "= `data/*.json` or = `src/thing.ts:ThingSchema`"
)
_ATTRIBUTE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_APP = regex(rf"{_ATTRIBUTE}:{_ATTRIBUTE}(?:\(\))?")
_TYPE = regex(rf"{_ATTRIBUTE}:{_ATTRIBUTE}")
_ZOD = regex(r"(?P<path>.+\.[cm]?[jt]sx?):(?P<name>[A-Za-z_$][\w$]*)")
_SIDES = regex(r"(?P<path>.*?\S)(?:\s*=\s*(?P<target>\S.*))?", re.DOTALL)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class OpenApi(Struct, frozen=True):
    """A document, and the application that must behave as it says."""

    path: str
    app: str = ""
    """ASGI or WSGI application as `module:attribute`; with `()`, a function that makes one."""
    url: str = ""
    start: str = ""
    """Command that serves `url`."""


class ContractKind(StrEnum):
    """The kinds of things that a JSON Schema is compared with."""

    NOTHING = "nothing"
    """Only the schema, which must be valid."""
    TYPE = "type"
    INSTANCES = "instances"
    ZOD = "zod"


class Schema(Struct, frozen=True):
    """A JSON Schema, and what must agree with it."""

    path: str
    kind: ContractKind = ContractKind.NOTHING
    source: str = ""
    """Import path of the type, glob of instances, or module of the Zod schema."""
    name: str = ""
    """Name of the Zod schema in its module."""


def openapi(value: str) -> OpenApi:
    """Read the value of an `openapi:` entry; raises Refused."""
    try:
        words = shlex.split(value)
    except ValueError as problem:
        raise Refused(f"{value!r} has an unclosed quote", hint=_OPENAPI_HINT) from problem
    options = dict(word.partition("=")[::2] for word in words[1:])
    unknown = sorted(options.keys() - {"app", "url", "start"})
    if not words or unknown:
        what = f"has no option {unknown[0]!r}" if unknown else "needs a document"
        raise Refused(f"an openapi contract {what}", hint=_OPENAPI_HINT)
    entry = OpenApi(inside(words[0]), **options)
    _check_target(entry)
    return entry


def _check_target(entry: OpenApi) -> None:
    if bool(entry.app) == bool(entry.url):
        raise Refused("an openapi contract needs either app= or url=", hint=_OPENAPI_HINT)
    if entry.app and not _APP.fullmatch(entry.app):
        raise Refused(f"app={entry.app} is not a valid import path", hint=_OPENAPI_HINT)
    if entry.url:
        _check_url(entry)


def _check_url(entry: OpenApi) -> None:
    try:
        parts = urlsplit(entry.url)
        reachable = parts.scheme == "http" and parts.hostname in _LOOPBACK and parts.port
    except ValueError:
        reachable = False
    if not reachable:
        hint = "write http://127.0.0.1:PORT: the runner calls only this machine"
        raise Refused(f"url={entry.url} is not an http address of this machine", hint=hint)
    if not entry.start:
        hint = 'add start="COMMAND", which starts the server inside the sandbox'
        raise Refused("an openapi contract with url= needs start=", hint=hint)


def schema(value: str) -> Schema:
    """Read the value of a `schema:` entry; raises Refused."""
    match = _SIDES.fullmatch(value.strip())
    if match is None:
        raise Refused("a schema contract needs a schema", hint=_SCHEMA_HINT)
    path, target = inside(match["path"].strip("`")), (match["target"] or "").strip().strip("`")
    if not target:
        return Schema(path)
    zod = _ZOD.fullmatch(target)
    if zod:
        return Schema(path, ContractKind.ZOD, inside(zod["path"]), zod["name"])
    if _TYPE.fullmatch(target):
        return Schema(path, ContractKind.TYPE, target)
    return Schema(path, ContractKind.INSTANCES, inside(target))


def inside(path: str) -> str:
    """Return the normalised path if it stays in the project; raises Refused otherwise."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    bad = not parts or path.startswith(("/", "~")) or ".." in parts or "\\" in path
    if bad or ":" in parts[0] or "\0" in path or ".git" in map(str.casefold, parts):
        hint = "give a path relative to the project's root"
        raise Refused(f"{path!r} is not a path inside the repository", hint=hint)
    return "/".join(parts)


def _parse(contract: Contract) -> OpenApi | Schema | Refused | None:
    """Return a contract's entry, the error of an unreadable one, or None for a command."""
    try:
        if contract.kind == "openapi":
            return openapi(contract.value)
        return schema(contract.value) if contract.kind == "schema" else None
    except Refused as refused:
        return refused


def documents(contract: Contract) -> tuple[str, ...]:
    """Return paths and globs of a contract's documents; empty if it cannot be parsed."""
    match _parse(contract):
        case Schema(path=path, kind=ContractKind.INSTANCES | ContractKind.ZOD, source=source):
            return (path, source)
        case OpenApi(path=path) | Schema(path=path):
            return (path,)
        case _:
            return ()


def modules(contract: Contract) -> tuple[str, ...]:
    """Return the Python modules that an entry is checked against."""
    match _parse(contract):
        case OpenApi(app=target) | Schema(kind=ContractKind.TYPE, source=target) if target:
            return (target.partition(":")[0],)
        case _:
            return ()


def name_checks(task: Task) -> Iterator[tuple[str, Contract]]:
    """Yield each contract with its check ID: `contract:openapi`, `contract:schema-2`."""
    met: Counter[str] = Counter()
    for contract in task.contracts:
        met[contract.kind] += 1
        plain = met[contract.kind] == 1 and contract.kind != "command"
        name = contract.kind if plain else f"{contract.kind}-{met[contract.kind]}"
        yield f"contract:{name}", contract


# --- invalid contracts ----------------------------------------------------------------


def unreadable(tasks: Iterable[Task], places: Spans) -> Iterator[Problem]:
    """Yield an error for each invalid contract at its place in the plan."""
    for task in tasks:
        for contract in task.contracts:
            refused = _parse(contract)
            if isinstance(refused, Refused):
                at = places.at_line(contract.line, contract.value.partition(" ")[0])
                yield places.problem(at, f"{task.id}: {refused.message}", refused.hint)


# --- extra packages -------------------------------------------------------------------


_PACKAGES = {
    "openapi": ("schemathesis", "openapi_spec_validator"),
    "schema": ("jsonschema",),
}
HINT = "pip install 'task-graph-runner[contracts]'"


def find_missing_packages(kind: str) -> tuple[str, ...]:
    """Return the missing packages of the optional extra that this contract kind needs."""
    names = _PACKAGES.get(kind, ())
    return tuple(name.replace("_", "-") for name in names if find_spec(name) is None)


def require_packages(kind: str) -> None:
    """Raise Refused where something is missing that this kind of contract needs."""
    packages = find_missing_packages(kind)
    if packages:
        raise Refused(f"tool missing: {' and '.join(packages)}", hint=HINT)


def versions(*packages: str) -> tuple[tuple[str, str], ...]:
    """Return the installed versions of packages, as evidence."""
    from importlib.metadata import version

    return tuple((name, version(name)) for name in packages)


def find_missing_tools(task: Task, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return missing packages and tools for a task's contracts, as texts for its status note."""
    missing: list[str] = []
    for contract in task.contracts:
        if packages := find_missing_packages(contract.kind):
            needs = " and ".join(packages)
            missing.append(f"{needs}, required by its {contract.kind} contract: {HINT}")
        entry = _parse(contract)
        is_zod = isinstance(entry, Schema) and entry.kind is ContractKind.ZOD
        if is_zod and which("node", environ) is None:
            missing.append("node, required by its Zod contract, is not on PATH")
    return tuple(dict.fromkeys(missing))
