"""A plug-in for pytest: writes what each test came to into the file that OUTCOMES names."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

_FOUND: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The worst of a test's three parts counts."""
    if report.when == "call" or report.outcome != "passed":
        _FOUND[report.nodeid] = report.outcome + ("-x" if hasattr(report, "wasxfail") else "")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write them."""
    del session
    with open(os.environ["OUTCOMES"], "w") as file:  # noqa: PTH123 - no import that costs
        json.dump(_FOUND, file)
