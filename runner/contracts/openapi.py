"""Test an `openapi:` contract: the running application against its document.

One command in one sandbox starts the application with the project's Python or its `start=` command.
A driver on the runner's Python, where schemathesis is, tests it over loopback and returns JSON of a
fixed shape.

Hypothesis needs a second to compute its Unicode tables. A process of ours makes them once a
machine, in the user's cache, and each check gets a copy. So what runs in the sandbox never writes
what a later check reads.
"""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from runner import effects
from runner.contracts.contract_context import ContractResult
from runner.contracts.document import bundle_document
from runner.contracts.entries import Refused, require_packages, versions
from runner.model import Finding, Severity
from runner.process.tools import capture
from runner.secrets.redact import redact, redact_tail
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from runner.contracts.contract_context import ContractContext
    from runner.contracts.document import Json
    from runner.contracts.entries import OpenApi


SEED = 20_01_1789
START_SECONDS = 30.0
"""Timeout of an application's start."""
ANSWER_SECONDS = 10.0
"""Timeout of one answer."""
_MARGIN = 0.8
"""Share of the hard limit in which the driver must finish, so that its report is kept."""
_LAST = 2000
"""Last characters of the application's output in a failure."""
_SHOWN = 20
"""Problems that become separate findings."""


class OpenapiProblem(NamedTuple):
    """One difference between an application and its document."""

    operation: str
    kind: str
    text: str
    request: str

    @property
    def is_untried(self) -> bool:
        """Whether it is no difference: no request could be made."""
        return self.kind == "error"


class OpenapiReport(NamedTuple):
    """The driver's report of one test."""

    ended: str
    """`tested`, or why not: `invalid`, `not-started`, `taken`, `died`, `late`, `broken`."""
    message: str
    log: str
    operations: int
    requests: int
    problems: tuple[OpenapiProblem, ...]


def test_application(entry: OpenApi, context: ContractContext) -> ContractResult:
    """Run one test; raises Refused where there is nothing that could be run."""
    require_packages("openapi")
    document = bundle_document(entry.path, context.read_source)
    if not isinstance(document, dict):
        hint = "the document must be an object with `openapi`, `info` and `paths`"
        raise Refused(f"{entry.path} is not an OpenAPI document", hint=hint, path=entry.path)
    ran = context.run(_line(entry, context, document))
    report = _report(context.read("report.json"))
    findings = tuple(_findings(context.check, entry, report)) if report else ()
    tools = versions("openapi-spec-validator", "schemathesis")
    return ContractResult(ran, findings, _counts(report), tools, is_silent=report is None)


def _line(entry: OpenApi, place: ContractContext, document: dict[str, Json]) -> str:
    """Return the shell command that starts the application and the driver."""
    put_tables(place.kept, place.folder / "home")
    job = {
        "document": document,
        "home": place.path("home"),
        "pipe": place.path("output"),
        "handshake": place.path("address.json"),
        "report": place.path("report.json"),
        "url": entry.url,
        "prefix": prefix_of(document),
        "seed": SEED,
        "examples": place.examples,
        # Half for the start and an eighth for an answer: even with the maximum of late answers
        # (`drive.MOST_LATE`) there is time left for the report.
        "start_seconds": min(START_SECONDS, place.seconds * _MARGIN / 2),
        "answer_seconds": min(ANSWER_SECONDS, place.seconds * _MARGIN / 8),
        "seconds": place.seconds * _MARGIN,
    }
    driver = place.ours("drive", place.write("job.json", job))
    pipe = shlex.quote(place.path("output"))
    # Opening a pipe blocks until its other end opens (fifo(7)), so the application starts only
    # after the driver has checked that its port is free.
    return (
        f"mkfifo {pipe} && {{ {_start(entry, place)} >{pipe} 2>&1 & "
        f"{driver}; code=$?; kill -9 $! 2>/dev/null; exit $code; }}"
    )


def _start(entry: OpenApi, place: ContractContext) -> str:
    if entry.url:
        return shlex.join(("sh", "-c", entry.start))
    return place.theirs(place.python, "serve", entry.app, place.path("address.json"))


def prefix_of(document: dict[str, Json]) -> str:
    """Return the base path of the document's first server (OpenAPI 3, Server Object)."""
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else None
    url = first.get("url") if isinstance(first, dict) else None
    try:
        path = urlsplit(url).path.rstrip("/") if isinstance(url, str) else ""
    except ValueError:
        return ""
    return path if path.startswith("/") and "{" not in path else ""


# --- the report -----------------------------------------------------------------------


def _report(value: Json) -> OpenapiReport | None:
    """Parse a report; return None if its structure is invalid."""
    match value:
        case {
            "ended": str(ended),
            "message": str(message),
            "log": str(log),
            "operations": int(operations),
            "requests": int(requests),
            "problems": list(problems),
        }:
            found = tuple(_problem(one) for one in problems if isinstance(one, dict))
            return OpenapiReport(ended, message, log, operations, requests, found)
    return None


def _problem(value: dict[str, Json]) -> OpenapiProblem:
    return OpenapiProblem(*(redact(str(value.get(name, ""))) for name in OpenapiProblem._fields))


def _counts(report: OpenapiReport | None) -> tuple[tuple[str, int], ...]:
    if report is None:
        return ()
    return (
        ("operations", report.operations),
        ("requests", report.requests),
        ("problems", len(report.problems)),
    )


def _findings(check: str, entry: OpenApi, report: OpenapiReport) -> Iterator[Finding]:
    if report.ended != "tested":
        yield _not_tested(check, entry, report)
    elif report.operations and not report.requests:
        yield Finding(check=check, message=f"no operation of {entry.path} was called")
    problems = sorted(report.problems, key=lambda one: one.is_untried)
    for problem in problems[:_SHOWN]:
        text = f"could not be tested: {problem.text}" if problem.is_untried else problem.text
        yield Finding(
            check=check,
            message=f"{problem.operation} {text}",
            path=entry.path,
            severity=Severity.WARNING if problem.is_untried else Severity.ERROR,
            hint=_hint(problem, entry),
            detail=_detail(problem, report),
        )
    if more := problems[_SHOWN:]:
        yield Finding(
            check=check,
            message=f"{plural(len(more), 'more difference')} from {entry.path}",
            severity=Severity.WARNING if more[0].is_untried else Severity.ERROR,
        )


def _detail(problem: OpenapiProblem, report: OpenapiReport) -> str:
    """Return the request that shows a problem, with the application's output if it failed."""
    if problem.kind != "ServerError" or not report.log:
        return problem.request
    return f"{problem.request}\n\nlast output:\n{redact_tail(report.log, _LAST)}"


def _not_tested(check: str, entry: OpenApi, report: OpenapiReport) -> Finding:
    name = entry.app or entry.start
    messages = {
        "invalid": f"the document is not valid OpenAPI: {report.message}",
        "not-started": f"{name} does not start: {report.message}",
        "taken": report.message,
        "died": f"{name}: {report.message}",
        "late": f"{name}: {report.message}",
    }
    hints = {
        "invalid": "see the OpenAPI specification for valid documents",
        "taken": "use a free port in start= and url=",
    }
    started = "give the import path of an application: MODULE:NAME" if entry.app else ""
    printed = "read the output of the application" if report.log.strip() else started
    return Finding(
        check=check,
        message=messages.get(report.ended, f"the test was aborted: {report.message}"),
        path=entry.path if report.ended == "invalid" else "",
        hint=hints.get(report.ended, printed),
        detail=redact(report.log),
    )


def _hint(problem: OpenapiProblem, entry: OpenApi) -> str:
    if problem.kind == "error":
        return "test this operation with a `command:` contract"
    if problem.kind == "undocumented-operation":
        return f"describe it in {entry.path}, or remove it from the application"
    if problem.kind == "missing-operation":
        return f"add it to the application, or remove it from {entry.path}"
    return f"fix the application, or {entry.path} if this is intended"


# --- unicode tables -------------------------------------------------------------------


_PATIENCE = 60.0
_MAKE = """
import sys
from hypothesis.configuration import set_hypothesis_home_dir
set_hypothesis_home_dir(sys.argv[1])
from hypothesis.internal import charmap
charmap.charmap()
charmap.intervals_from_codec("utf-8")
"""


def put_tables(kept: Path | None, home: Path) -> None:
    """Copy the saved hypothesis tables below `home`; do nothing if `kept` is None."""
    effects.make_folder(home)
    if kept is None:
        return
    folder = kept.parent / "hypothesis"  # the same for every repository
    tables = _in(folder)
    if not tables:
        effects.make_folder(folder)
        capture((sys.executable, "-I", "-c", _MAKE, str(folder)), folder, {}, _PATIENCE)
        tables = _in(folder)
    for table in tables:
        copy = home / table.relative_to(folder)
        effects.make_folder(copy.parent)
        effects.write_file(copy, table.read_bytes())


def _in(folder: Path) -> list[Path]:
    return sorted(folder.glob("unicode_data/*/*.json.gz"))
