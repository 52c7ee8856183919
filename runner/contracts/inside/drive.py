"""Test a running application against its OpenAPI document.

Usage: `drive JOB`, a JSON file; its `report` becomes JSON, see `Report`. Runs isolated (`-I`) on
the runner's own Python, in the application's sandbox, and calls nothing but loopback. The
application starts once its output, the named pipe `pipe`, is opened, so a taken port is seen first.

A request that succeeded is sent twice: some answers, such as a conflict, come only then. Random
requests hardly ever repeat.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections import deque
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from runner.contracts.inside.application import (
    AppOutput,
    Inventory,
    only_loopback,
    reachable,
    refuse_taken_port,
)
from runner.contracts.inside.operations import operations_of, references_of, resolve_reference
from runner.contracts.inside.report import (
    DriveEnded,
    Report,
    describe_failure,
    is_reported_otherwise,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


SHOWN_URL = "http://127.0.0.1:8000"
"""Replaces this run's free port, so that findings are the same each time."""
LONGEST_ANSWER = 400
DIED = "the application exited during the test"
CALLS_OF_A_WALK = 5
"""Approximate calls of a walk from one operation to the next: its cost equals the rest."""
MOST_LATE = 3
"""Number of late answers after which the test ends."""
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
)
"""Without `positive_data_acceptance`: rules beyond the schema may reject valid data."""


def main() -> None:
    """Test an application as the job describes."""
    gc.disable()  # until all is loaded, see `Tester.examples`
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    # An audit hook cannot be removed or bypassed from Python (PEP 578).
    sys.addaudithook(only_loopback)
    forget_settings()
    report = Report(job["report"])
    try:
        run(job, report)
    except DriveEnded as stop:
        report.end(stop.ended, stop.message)
    report.leave()


def forget_settings() -> None:
    """Remove variables of the project that change how it is tested."""
    # SCHEMATHESIS_HOOKS names a module to import: project code would run in the judging process.
    for name in [one for one in os.environ if one.startswith(("SCHEMATHESIS_", "OPENAPI_"))]:
        del os.environ[name]


def run(job: dict[str, Any], report: Report) -> None:
    """Validate the document while the application starts, then test it."""
    if job["url"]:
        refuse_taken_port(job["url"])
    output = AppOutput(job["pipe"])
    watch(job["seconds"], output, report)
    try:
        validate(job["document"])
        url, routes = reachable(job, output)
        operations = list(operations_of(job["document"]))
        inventory = Inventory(operations, routes, url, job["answer_seconds"], report)
        Tester(job, url, inventory, output, report).test()
    except DriveEnded as stop:
        report.end(stop.ended, stop.message, log=output.tail())
        return
    report.end("tested", log=output.tail())


def watch(seconds: float, output: AppOutput, report: Report) -> None:
    """Start a timer that reports a timeout and ends the process, even while it waits."""

    def end() -> None:
        report.end("late", f"the test did not finish within {seconds:g} s", log=output.tail())
        report.leave()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def validate(document: dict[str, Any]) -> None:
    """Refuse what is no OpenAPI 3 document, in the validator's words."""
    from openapi_spec_validator import validate as check
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError

    if not str(document.get("openapi")).startswith("3."):
        raise DriveEnded("invalid", "its `openapi` field is not a 3.x version")
    for reference in references_of(document):
        if resolve_reference(document, reference) is None:
            raise DriveEnded("invalid", f"its reference {reference} has no target")
    try:
        check(document)
    except OpenAPIValidationError as problem:
        where = "/".join(map(str, getattr(problem, "absolute_path", ())))
        text = str(getattr(problem, "message", problem)).partition("\n")[0]
        raise DriveEnded("invalid", f"{text}{f' (at {where})' if where else ''}") from None
    except RecursionError:
        raise DriveEnded("invalid", "its references form an endless loop") from None
    except (TypeError, ValueError, LookupError, AttributeError) as problem:
        raise DriveEnded("invalid", f"{type(problem).__name__}: {problem}") from None


class Tester:
    """One run of schemathesis, and what there is to say of it."""

    def __init__(
        self, job: dict[str, Any], url: str, inventory: Inventory, output: AppOutput, report: Report
    ) -> None:
        self.job = job
        self.url = url
        self.inventory = inventory
        self.output = output
        self.report = report
        self.shown = SHOWN_URL + urlsplit(url).path
        self.made: deque[tuple[bytes, Any]] = deque(maxlen=200)
        self.patience = float(job["answer_seconds"])
        self.repeats = Repeats()
        self.late = 0
        self.called: Any = None

    def test(self) -> None:
        """Try every operation, and look which are missing or unknown."""
        self.inventory.compare()
        self.examples()
        self.repeat()
        self.inventory.record_missing_operations()
        self.inventory.report_undocumented()

    def examples(self) -> None:
        """Let schemathesis call the application."""
        import schemathesis
        from hypothesis.configuration import set_hypothesis_home_dir
        from schemathesis.config import SchemathesisConfig
        from schemathesis.engine import events, from_schema

        set_hypothesis_home_dir(self.job["home"])  # nothing is left in the project
        self.follow_calls()
        config = SchemathesisConfig.from_dict(self.settings())
        schema = schemathesis.openapi.from_dict(self.job["document"], config=config)
        if not gc.isenabled():
            # Loaded objects stay: scanning them in each collection, including those hypothesis
            # starts, would be a tenth of all the work.
            gc.freeze()
            gc.enable()
        stream = from_schema(schema).execute()
        for event in stream:
            if isinstance(event, events.PhaseFinished):
                say(f"{event.phase.name.value}: {self.report.requests} requests")
            elif isinstance(event, events.ScenarioFinished):
                self.record_calls(event.recorder)
            elif isinstance(event, events.NonFatalError):
                self.error(event.label, event.value)
            elif isinstance(event, events.FatalError):
                raise DriveEnded("broken", f"schemathesis: {event.exception}")
            self.go_on(stream)

    def repeat(self) -> None:
        """Ask twice for what succeeded."""
        for repeated in self.repeats.calls(self.url, self.patience):
            if not isinstance(repeated, Repeated):
                self.error(*repeated)
                continue
            self.report.requests += 1
            self.answer(repeated.case, repeated.response)
            call = SimpleNamespace(response=repeated.response, request=repeated.response.request)
            for failure in repeated.failures:
                info = SimpleNamespace(failure=failure, code_sample=repeated.request)
                self.record_failure(info, repeated.case, call)
        if self.output.ended:
            raise DriveEnded("died", DIED)

    def settings(self) -> dict[str, Any]:
        """Return the settings of schemathesis: deterministic calls, nothing saved."""
        generation = {"deterministic": True, "no-shrink": True, "database": "none"}
        examples = self.job["examples"]
        walks = {**generation, "max-examples": max(1, examples // CALLS_OF_A_WALK)}
        return {
            "seed": self.job["seed"],
            "base-url": self.url,
            "workers": 1,
            "continue-on-failure": True,
            "request-timeout": self.patience,
            "cache": {"enabled": False},
            "generation": {**generation, "max-examples": examples},
            "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKS}},
            # The inventory tests other methods, because it knows what a missing page looks like.
            "phases": {"coverage": {"unexpected-methods": []}, "stateful": {"generation": walks}},
        }

    def go_on(self, stream: Any) -> None:
        """Stop where nothing more can be learned."""
        if self.output.ended:
            stream.stop()
            raise DriveEnded("died", DIED)

    def follow_calls(self) -> None:
        """Register hooks on calls and responses, so that a missing response is noticed at once."""
        import schemathesis

        @schemathesis.hook
        def before_call(context: Any, case: Any, kwargs: Any) -> None:
            del context, kwargs
            self.call(case)

        @schemathesis.hook
        def after_call(context: Any, case: Any, response: Any) -> None:
            del context, case, response
            self.called = None

    def call(self, case: Any) -> None:
        """Record a call; a previous call without a response counts as late."""
        if self.called is not None:
            self.late += 1
            self.record_unanswered(self.called.operation.label)
        if self.late >= MOST_LATE:
            text = f"{self.late} requests had no response within {self.patience:g} s"
            ended = ("died", "the application exited") if self.output.ended else ("late", text)
            self.report.end(*ended, log=self.output.tail())
            self.report.leave()
        self.called = case

    def record_unanswered(self, label: str) -> None:
        """Record an operation that does not respond."""
        if not self.output.ended:
            self.report.add_problem((label, "late"), f"gives no answer within {self.patience:g} s")

    def record_calls(self, recorder: Any) -> None:
        """Record the calls of one scenario."""
        for case_id, call in recorder.interactions.items():
            self.report.requests += 1
            if call.response is not None:
                self.answer(recorder.cases[case_id].value, call.response)
        for case_id, checks in recorder.checks.items():
            for check in checks:
                if check.failure_info is not None:
                    call = recorder.interactions.get(case_id)
                    self.record_failure(check.failure_info, recorder.cases[case_id].value, call)

    def answer(self, case: Any, response: Any) -> None:
        """Record one response."""
        label, status = case.operation.label, response.status_code
        kind, body = response.headers.get("content-type", [""])[0], response.content or b""
        self.inventory.record_answer(label, status, kind, body)
        well = status // 100 == HTTPStatus.OK // 100
        if well:
            self.repeats.keep(case)
        if well and case.operation.method.upper() in ("POST", "PUT"):
            self.made.append((body, case))

    def error(self, label: str, problem: Exception) -> None:
        """Record the error that kept an operation from being tested."""
        text = str(problem) or type(problem).__name__
        if "timed out" in text.casefold():
            self.record_unanswered(label)
        elif not self.output.ended:
            self.report.add_problem((label, "error", type(problem).__name__), text)

    def record_failure(self, info: Any, case: Any, call: Any) -> None:
        """Record a response that the document does not allow."""
        failure, kind = info.failure, type(info.failure).__name__
        if kind == "UndefinedStatusCode" and is_reported_otherwise(failure.status_code, call):
            return
        what, text = describe_failure(kind, failure)
        request = "\n".join((*self.makes(case), info.code_sample)).replace(self.url, self.shown)
        if call is not None and call.response is not None:
            body = (call.response.content or b"")[:LONGEST_ANSWER].decode("utf-8", "replace")
            request += f"\n# answered {call.response.status_code}: {body}"
        self.report.add_problem((failure.operation or "", kind, what), text, request)

    def makes(self, case: Any) -> list[str]:
        """Return the request that created the resource of this call, as a curl command."""
        for value in (case.path_parameters or {}).values():
            for body, maker in self.made:
                if json.dumps(value).encode() in body:
                    return [maker.as_curl_command()]
        return []


# --- repeats --------------------------------------------------------------------------


CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
TIMES = 2


class Repeated(NamedTuple):
    """One more call of what succeeded before."""

    case: Any
    response: Any
    failures: tuple[Any, ...]
    request: str
    """All requests up to this answer."""


class Repeats:
    """A request of each operation that changes something and answered that it did."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def keep(self, case: Any) -> None:
        """Keep the first successful request of a changing operation."""
        if case.operation.method.upper() in CHANGING:
            self.kept.setdefault(case.operation.label, case)

    def calls(self, url: str, patience: float) -> Iterator[Repeated | tuple[str, Exception]]:
        """Send each of them again; or its operation and what kept it from an answer."""
        from requests import RequestException

        for label, case in self.kept.items():
            curl = case.as_curl_command().rstrip()
            for time in range(1, TIMES + 1):
                try:
                    response = case.call(base_url=url, timeout=patience)
                except RequestException as problem:
                    yield label, problem
                    break
                yield Repeated(case, response, failures(case, response), "\n".join([curl] * time))


def failures(case: Any, response: Any) -> tuple[Any, ...]:
    """Return the failures that the enabled checks find in a response."""
    from schemathesis.core.failures import FailureGroup

    try:
        case.validate_response(response)
    except FailureGroup as group:
        return tuple(group.exceptions)
    return ()
