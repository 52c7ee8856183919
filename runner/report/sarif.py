"""Write findings as SARIF 2.1.0 for code-scanning pages and editors.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", and its JSON
schema. One run a tool; a rule is listed once; lines and columns count from 1, columns in code
points.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from msgspec import Struct

from runner import __version__
from runner.model import Finding, Severity
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runner.report.documents import Json
    from runner.writes.sast_report import SastFinding

    Object: TypeAlias = dict[str, Json]

VERSION = "2.1.0"
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
OWN_TOOL = "runner"
_LEVELS = {
    Severity.ERROR: "error",
    Severity.QUESTION: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "note",
}
_RANKS = {"high": "error", "medium": "warning", "low": "note"}
_SECURITY = {"high": "8.0", "medium": "5.0", "low": "2.0"}
"""Value that GitHub sorts by (`security-severity`), in the middle of its ranges."""
_GUARDS = frozenset(("secret-scan", "sast", "markers"))
"""The runner's security checks; a failed test or a missing file is not one."""
_RULES = {
    "secret-scan": "Text that looks like a secret",
    "sast": "Static analysis",
    "compile": "A file that does not compile",
    "paths": "A path that no task may write",
    "scope": "A write outside the task's Output files",
    "markers": "A comment or setting that turns off a check",
}


class Result(Struct, frozen=True):
    """One finding in SARIF's own words; line and column are 0 where they are not known."""

    tool: str
    rule: str
    level: str
    """Level: `error`, `warning` or `note`."""
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    security: str = ""
    """Security severity from 0 to 10; empty for other findings."""


def of_finding(finding: Finding) -> Result:
    """Convert a check's finding to a SARIF result; the hint becomes part of the message."""
    hint = f" (hint: {finding.hint})" if finding.hint else ""
    return Result(
        tool=OWN_TOOL,
        rule=finding.check,
        level=_LEVELS[finding.severity],
        message=finding.message + hint,
        path=finding.path,
        line=finding.line,
        column=finding.column,
        security=_SECURITY["high" if finding.refuses else "medium"]
        if finding.check in _GUARDS
        else "",
    )


def of_sast(finding: SastFinding) -> Result:
    """Convert a scanner's finding to a SARIF result."""
    return Result(
        tool=finding.tool,
        rule=finding.rule,
        level=_RANKS.get(finding.severity, "note"),
        message=finding.message,
        path=finding.path,
        line=finding.line,
        column=finding.column,
        security=_SECURITY.get(finding.severity, _SECURITY["low"]),
    )


def sarif_document(
    results: Iterable[Result], *, tools: Sequence[str] = (OWN_TOOL,), failures: Sequence[str] = ()
) -> str:
    """Return the SARIF log; `tools` are those that ran, even without findings.

    `failures` say what could not be looked at: the first run then counts as not successful.
    Secrets are blotted out of every text, and what cannot be seen is spelled out.
    """
    by_tool: dict[str, list[Result]] = {tool: [] for tool in tools}
    for result in results:
        by_tool.setdefault(result.tool or OWN_TOOL, []).append(result)
    runs: list[Json] = [_run(tool, found) for tool, found in by_tool.items()]
    if runs and isinstance(runs[0], dict):
        runs[0]["invocations"] = [_invocation(failures)]
    log: Object = {"$schema": _SCHEMA, "version": VERSION, "runs": runs}
    return json.dumps(log, indent=2) + "\n"


def _run(tool: str, found: Sequence[Result]) -> Object:
    rules = list(dict.fromkeys(result.rule for result in found))
    described: list[Json] = [
        _rule(rule, [one.security for one in found if one.rule == rule and one.security])
        for rule in rules
    ]
    driver: Object = {"name": _text(tool), "rules": described}
    if tool == OWN_TOOL:
        driver["version"] = __version__
    return {
        "tool": {"driver": driver},
        # Python counts code points; without this key readers count UTF-16 code units (SARIF 2.1.0,
        # columnKind).
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules.index(one.rule)) for one in found],
    }


def _rule(rule: str, security: Sequence[str]) -> Object:
    described: Object = {
        "id": _text(rule),
        "shortDescription": {"text": _RULES.get(rule, _text(rule)) or "a finding"},
    }
    if security:
        gravest = max(security, key=float)
        described["properties"] = {"tags": ["security"], "security-severity": gravest}
    return described


def _result(one: Result, index: int) -> Object:
    result: Object = {
        "ruleId": _text(one.rule),
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": _text(one.message) or "a finding"},
    }
    if one.path:
        result["locations"] = [{"physicalLocation": _place(one)}]
    return result


def _place(one: Result) -> Object:
    place: Object = {"artifactLocation": {"uri": _uri(one.path)}}
    # A text region starts with its line; a column alone is no region (SARIF 2.1.0, 3.30).
    if one.line > 0:
        region: Object = {"startLine": one.line}
        if one.column > 0:
            region["startColumn"] = one.column
        place["region"] = region
    return place


def _uri(path: str) -> str:
    """Return a path as an escaped URI reference (RFC 3986)."""
    quoted = quote(_redact(path).encode("utf-8", "surrogatepass"), safe="/")
    return f"file://{quoted}" if path.startswith("/") else quoted


def _invocation(failures: Sequence[str]) -> Object:
    return {
        "executionSuccessful": not failures,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": _text(failure)}} for failure in failures
        ],
    }


def _text(text: str) -> str:
    return display(_redact(text), lines=True)


def _redact(text: str) -> str:
    return redact(text)
