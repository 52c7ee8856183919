"""What an analyser printed, read into findings; a foreign tool's border."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from runner.writes.compile_check import is_missing_tool
from runner.writes.sast_report import (
    MOST_FINDINGS,
    UNSCANNED,
    SastFinding,
    SastReport,
    clean_message,
    gravest,
    make_unlisted,
    make_unscanned,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.model import Digest
    from runner.process.base import Ran
    from runner.writes.scanners import Scanner

_MOST_OUTPUT = 4 << 20
_MOST_STARTS = 20
_LONGEST = 500
_BEGINS = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_WORDS = {
    "error": "high", "critical": "high", "warning": "medium", "2": "high", "1": "medium",
    "info": "low", "inventory": "low",
}  # fmt: skip


def findings_of(tool: Scanner, ran: Ran, folder: str, digests: Mapping[str, Digest]) -> SastReport:
    """What a scanner that ran in a folder said of these files, and of what it did not read."""
    about = next(iter(digests))
    output = _output(ran)
    if is_missing_tool(ran) or "no such command" in output:
        return SastReport()
    try:
        said = tuple(tool.read(_document(output)))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        # Whatever it printed instead of findings, it scanned nothing.
        last = clean_message(output.strip().rpartition("\n")[2])[-_LONGEST:]
        words = f"{tool.tool} said nothing readable (exit {ran.exit})"
        note = make_unscanned(about, f"{words}: {last}" if last else words, tool=tool.tool)
        return SastReport(notes=(note,))
    found = [_finding(tool.tool, one, folder, digests) for one in said]
    notes = [one for one in found if one.rule == UNSCANNED]
    issues = [one for one in found if one.rule != UNSCANNED and one.path in digests]
    if len(issues) > MOST_FINDINGS:
        more = f"{tool.tool} has {len(issues) - MOST_FINDINGS} more findings"
        notes.append(make_unlisted(about, more, tool=tool.tool))
    return SastReport(tuple(gravest(issues)), tuple(notes[:MOST_FINDINGS]))


def _output(ran: Ran) -> str:
    if ran.log is None or not ran.log.is_file():
        return ran.tail
    with ran.log.open("rb") as log:
        return log.read(_MOST_OUTPUT).decode("utf-8", "replace")


def _document(output: str) -> object:
    """The JSON in what a tool printed: warnings may stand on the lines before and after it."""
    decoder = json.JSONDecoder()
    for _, begin in zip(range(_MOST_STARTS), _BEGINS.finditer(output), strict=False):
        try:
            found: object
            found, end = decoder.raw_decode(output, begin.end())
        except ValueError:
            continue
        if output[end : end + 1].strip() == "":
            return found
    raise ValueError("no JSON")


def _finding(
    tool: str, said: Mapping[str, object], folder: str, digests: Mapping[str, Digest]
) -> SastFinding:
    path = _path(str(said.get("path") or ""), folder, digests)
    message = clean_message(" ".join(str(said.get("message", "")).split())[:_LONGEST])
    if said.get("rule") == UNSCANNED:
        return make_unscanned(path, f"{tool} did not read this: {message}", tool=tool)
    return SastFinding(
        path=path,
        line=_number(said.get("line")),
        column=_number(said.get("column")),
        rule=str(said.get("rule", "")),
        severity=_rank(said.get("severity")),
        confidence=_rank(said.get("confidence", "medium")),
        message=message,
        tool=tool,
        digest=digests.get(path, ""),
    )


def _path(named: str, folder: str, digests: Mapping[str, Digest]) -> str:
    """The changed file that is meant: tools name it from their folder, or as a whole path."""
    path = named.removeprefix("./")
    if folder and f"{folder}/{path}" in digests:
        return f"{folder}/{path}"
    ending = (known for known in digests if path.endswith("/" + known))
    return max(ending, key=len, default=path)


def _number(value: object) -> int:
    text = str(value or 0).partition("-")[0]
    return int(text) if text.isdecimal() and len(text) < 10 else 0  # noqa: PLR2004 - no file is longer


def _rank(value: object) -> str:
    word = str(value).lower()
    word = _WORDS.get(word, word)
    return word if word in {"low", "medium", "high", "note"} else "low"
