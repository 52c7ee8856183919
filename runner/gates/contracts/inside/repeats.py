"""What succeeded is asked for twice in a row: some answers come only then, as of a conflict.

Random requests hardly ever want the same thing twice, so the answer to that would stay untried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
TIMES = 2


class Repeated(NamedTuple):
    """One more call of what succeeded before."""

    case: Any
    response: Any
    failures: tuple[Any, ...]
    request: str
    """All that was asked until this answer came."""


class Repeats:
    """A request of each operation that changes something and said that it did."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def keep(self, case: Any) -> None:
        """Keep the first request of an operation that succeeded."""
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
    """What the checks that are turned on say of an answer."""
    from schemathesis.core.failures import FailureGroup

    try:
        case.validate_response(response)
    except FailureGroup as group:
        return tuple(group.exceptions)
    return ()
