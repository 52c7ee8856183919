"""Static analysers of other languages, one row each: who calls for them and what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias, cast

from runner.writes.compiles import is_missing_tool
from runner.writes.sast import SastFinding, SastReport, cleaned, unscanned

if TYPE_CHECKING:
    from runner.model import Digest
    from runner.process.command import Ran
    from runner.writes.bench import RunCommand

_MOST_OUTPUT = 4 << 20

Said: TypeAlias = Iterable[Mapping[str, object]]
"""Findings in our own field names, their values as the tool wrote them."""


@dataclass(frozen=True, slots=True)
class Scanner:
    """A scanner's command, the suffixes that call for it, and how its JSON is read."""

    tool: str
    suffixes: tuple[str, ...]
    argv: tuple[str, ...]
    """The changed paths follow where `by_file` is set."""
    read: Callable[[object], Said]
    by_file: bool = True


def scan_with_tools(
    paths: tuple[str, ...], digests: Mapping[str, Digest], run_command: RunCommand
) -> SastReport:
    """Run the scanners these paths call for; a tool that is not there is passed over."""
    report = SastReport()
    for scanner in SCANNERS:
        about = tuple(path for path in paths if PurePosixPath(path).suffix in scanner.suffixes)
        if about:
            report = report.joined(_scan(scanner, about, digests, run_command))
    return report


def _scan(
    scanner: Scanner, paths: tuple[str, ...], digests: Mapping[str, Digest], run_command: RunCommand
) -> SastReport:
    ran = run_command(scanner.argv + (paths if scanner.by_file else ()))
    output = _output(ran)
    if is_missing_tool(ran) or "npx canceled" in output or "no such command" in output:
        return SastReport()
    try:
        said = tuple(scanner.read(json.loads(output)))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        # A foreign tool's border: whatever it printed instead of findings, it scanned nothing.
        return SastReport(notes=(unscanned(paths[0], f"{scanner.tool} said nothing readable"),))
    findings = (_finding(scanner.tool, found, digests) for found in said)
    return SastReport(tuple(found for found in findings if found.path in paths or not found.path))


def _output(ran: Ran) -> str:
    if ran.log is None or not ran.log.is_file():
        return ran.tail
    with ran.log.open("rb") as log:
        return log.read(_MOST_OUTPUT).decode("utf-8", "replace")


def _finding(tool: str, said: Mapping[str, object], digests: Mapping[str, Digest]) -> SastFinding:
    path = str(said.get("path", "")).removeprefix("./")
    path = next((known for known in digests if path.endswith("/" + known)), path)
    return SastFinding(
        path=path,
        line=_number(said.get("line")),
        column=_number(said.get("column")),
        rule=str(said.get("rule", "")),
        severity=_rank(said.get("severity")),
        confidence=_rank(said.get("confidence", "medium")),
        message=cleaned(" ".join(str(said.get("message", "")).split())),
        tool=tool,
        digest=digests.get(path, ""),
    )


def _number(value: object) -> int:
    text = str(value or 0).partition("-")[0]
    return int(text) if text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004 - no file is longer


_WORDS = {"error": "high", "critical": "high", "warning": "medium", "2": "high", "1": "medium"}


def _rank(value: object) -> str:
    word = str(value).lower()
    word = _WORDS.get(word, word)
    return word if word in {"low", "medium", "high"} else "low"


# --- what each tool's JSON looks like ---------------------------------------------------

Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | float | bool | None"


def _rows(value: object) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", value or [])


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value or {})


def _semgrep(document: object) -> Said:
    for row in _rows(_table(document)["results"]):
        extra, start = _table(row["extra"]), _table(row["start"])
        metadata = _table(extra.get("metadata"))
        yield {
            "path": row["path"],
            "line": start["line"],
            "column": start["col"],
            "rule": row["check_id"],
            "severity": extra["severity"],
            "confidence": metadata.get("confidence", "medium"),
            "message": extra["message"],
        }


def _eslint(document: object) -> Said:
    for file in _rows(document):
        for row in _rows(file["messages"]):
            if str(row.get("ruleId") or "").startswith(("security/", "no-eval", "no-implied-eval")):
                yield {**row, "path": file["filePath"], "rule": row["ruleId"]}


def _gosec(document: object) -> Said:
    for row in _rows(_table(document)["Issues"]):
        names = ("line", "column", "severity", "confidence")
        picked = {name: row[name] for name in names}
        yield {**picked, "path": row["file"], "rule": row["rule_id"], "message": row["details"]}


def _cargo_audit(document: object) -> Said:
    for row in _rows(_table(_table(document)["vulnerabilities"])["list"]):
        advisory = _table(row["advisory"])
        yield {
            "path": "Cargo.lock",
            "rule": advisory["id"],
            "severity": "high",
            "confidence": "high",
            "message": advisory["title"],
        }


_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
SCANNERS = (
    # The rules are the repository's own: those of the registry would need the network.
    Scanner(
        "semgrep",
        (*_SCRIPTS, ".go", ".rs", ".java", ".rb", ".php", ".c", ".cpp"),
        (
            "semgrep",
            "scan",
            "--json",
            "--quiet",
            "--metrics=off",
            "--disable-nosem",
            "--disable-version-check",
            "--config",
            ".semgrep.yml",
        ),
        _semgrep,
    ),
    Scanner(
        "eslint",
        _SCRIPTS,
        ("npx", "--no-install", "eslint", "--no-inline-config", "--format", "json"),
        _eslint,
    ),
    Scanner(
        "gosec",
        (".go",),
        ("gosec", "-fmt=json", "-nosec", "-quiet", "./..."),
        _gosec,
        by_file=False,
    ),
    Scanner(
        "cargo-audit",
        (".lock",),
        ("cargo", "audit", "--json", "--no-fetch"),
        _cargo_audit,
        by_file=False,
    ),
)
