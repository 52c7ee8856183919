"""Static analysers of other languages: one row each with trigger, command and parser.

What an analyser printed, read into findings; a foreign tool's border.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec import Struct

from runner.languages.registry import LANGUAGES, row_named
from runner.lazy_pattern import regex
from runner.secrets.redact import redact
from runner.writes.compile_check import is_missing_tool
from runner.writes.sast_report import (
    MOST_FINDINGS,
    UNSCANNED,
    SastFinding,
    SastReport,
    gravest,
    make_unlisted,
    make_unscanned,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.model import Digest
    from runner.process.base import Ran


Rows: TypeAlias = Iterable[Mapping[str, object]]
"""Findings with our own field names; values as written by the tool."""


class Scanner(Struct, frozen=True):
    """A scanner's command, the files that call for it, and how its JSON is read."""

    tool: str
    endings: tuple[str, ...]
    """Suffixes of the paths that require it."""
    argv: tuple[str, ...]
    """Command; the changed paths follow if `by_file` is set."""
    read: Callable[[object], Rows]
    install: str
    """Command that installs it."""
    by_file: bool = True
    manifest: str = ""
    """A whole project's scanner runs in the nearest parent folder with this file."""
    beside: tuple[str, ...] = ()
    """Globs of files it needs from the folders of changed files and of the manifest."""
    rules: tuple[str, ...] = ()
    """Where a repository keeps its rules, one of which must be there. They are read from the
    base: what is judged does not choose its judge."""
    packages: tuple[str, ...] = ()
    """Node packages that must be installed in the project."""
    own_file: tuple[str, str] = ("", "")
    """Name and text of the runner's configuration file, put next to the copies."""
    also: tuple[str, ...] = ()
    """Suffixes of other paths in its project, which it does not read."""

    @property
    def program(self) -> str:
        """Program that must be installed."""
        return "cargo-audit" if self.tool == "cargo-audit" else self.argv[0]

    @property
    def serves(self) -> tuple[str, ...]:
        """Path endings of the files in projects that it serves."""
        return self.endings + self.also

    @property
    def needs(self) -> str:
        """The program, with what it needs in the project."""
        more = [*self.packages, *(f"a {path}" for path in self.rules[:1])]
        return " with ".join([self.program, *more])

    def select_paths(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return the paths that the scanner supports."""
        return tuple(path for path in paths if path.endswith(self.endings))


def select_scanners(paths: Sequence[str]) -> tuple[Scanner, ...]:
    """Return the scanners for these paths, installed or not."""
    return tuple(scanner for scanner in SCANNERS if scanner.select_paths(paths))


def select_advised(paths: Iterable[str]) -> tuple[Scanner, ...]:
    """Return the scanners recommended for a project with these paths."""
    names = tuple(paths)
    return tuple(one for one in SCANNERS if any(path.endswith(one.serves) for path in names))


def folder_of(path: str) -> str:
    """Return the folder of a path; empty for the project's top."""
    parent = PurePosixPath(path).parent.as_posix()
    return "" if parent == "." else parent


Json: TypeAlias = "Mapping[str, Json] | list[Json] | str | int | float | bool | None"


def _rows(value: object) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", value or [])


def _table(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value or {})


def _make_unscanned(path: object, message: object, line: object = 0) -> Mapping[str, object]:
    at = f"line {line}: " if line else ""
    return {"path": path, "rule": UNSCANNED, "message": f"{at}{message}"}


def _semgrep(document: object) -> Rows:
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
    for error in _rows(_table(document).get("errors")):
        yield _make_unscanned(error.get("path", ""), error.get("message") or error.get("type"))


def _eslint(document: object) -> Rows:
    for file in _rows(document):
        for row in _rows(file["messages"]):
            rule = str(row.get("ruleId") or "")
            if row.get("fatal"):
                yield _make_unscanned(file["filePath"], row["message"], row.get("line"))
            elif rule.startswith("security/") or rule in _EVALS:
                yield {**row, "path": file["filePath"], "rule": rule}


def _gosec(document: object) -> Rows:
    for row in _rows(_table(document)["Issues"]):
        names = ("line", "column", "severity", "confidence")
        picked = {name: row[name] for name in names}
        yield {**picked, "path": row["file"], "rule": row["rule_id"], "message": row["details"]}
    for path, errors in _table(_table(document).get("Golang errors")).items():
        for error in _rows(errors):
            yield _make_unscanned(path, error["error"], error.get("line"))


def _cargo_audit(document: object) -> Rows:
    for row in _rows(_table(_table(document)["vulnerabilities"])["list"]):
        advisory = _table(row["advisory"])
        package = _table(row.get("package"))
        named = f"{package['name']} {package.get('version', '')}: " if "name" in package else ""
        yield {
            "path": "Cargo.lock",
            "rule": advisory["id"],
            "severity": "high",
            "confidence": "high",
            "message": f"{named}{advisory['title']}",
        }


_SCRIPTS = row_named("javascript").code
_READ = tuple(suffix for row in LANGUAGES for suffix in row.code)
_EVALS = ("no-eval", "no-implied-eval", "no-new-func", "no-script-url")
_SEMGREP_RULES = ".runner-semgrep.yml"
# The runner's, not the repository's, so that no task's configuration silences it. TypeScript is
# read if the project has a parser for it; else each such file is a note.
_ESLINT_CONFIG = f"""\
import {{ createRequire }} from "node:module";
const require = createRequire(import.meta.url);
const security = require("eslint-plugin-security");
const optional = (name) => {{ try {{ return require(name); }} catch {{ return undefined; }} }};
const parser =
  optional("@typescript-eslint/parser") ?? optional("typescript-eslint")?.parser;
const rules = {{ ...security.configs.recommended.rules }};
for (const name of {list(_EVALS)}) rules[name] = "error";
const plugins = {{ security }};
const parserOptions = {{ ecmaFeatures: {{ jsx: true }} }};
export default [
  {{ files: ["**/*.{{js,jsx,mjs,cjs}}"], plugins, rules, languageOptions: {{ parserOptions }} }},
  {{ files: ["**/*.{{ts,tsx,mts,cts}}"], plugins, rules,
    languageOptions: parser ? {{ parser, parserOptions }} : {{ parserOptions }} }},
];
"""

SCANNERS = (
    # The rules are the repository's own: those of the registry would need network access.
    Scanner(
        "semgrep",
        (*_READ, ".java", ".kt", ".rb", ".php", ".c", ".cpp", ".cs"),
        (
            *("semgrep", "scan", "--json", "--quiet", "--metrics=off", "--disable-nosem"),
            *("--disable-version-check", "--no-git-ignore", "--config", _SEMGREP_RULES, "--"),
        ),
        _semgrep,
        "pip install semgrep, and commit rules as .semgrep.yml",
        rules=(".semgrep.yml", ".semgrep.yaml"),
        own_file=(_SEMGREP_RULES, ""),
    ),
    Scanner(
        "eslint",
        _SCRIPTS,
        (
            *("eslint", "--config", ".runner-eslint.config.mjs", "--no-inline-config"),
            *("--no-ignore", "--format", "json", "--"),
        ),
        _eslint,
        "npm install --save-dev eslint eslint-plugin-security",
        packages=("eslint-plugin-security",),
        own_file=(".runner-eslint.config.mjs", _ESLINT_CONFIG),
    ),
    Scanner(
        "gosec",
        row_named("go").code,
        ("gosec", "-fmt=json", "-nosec", "-quiet", "./..."),
        _gosec,
        "go install github.com/securego/gosec/v2/cmd/gosec@latest",
        by_file=False,
        manifest="go.mod",
        beside=("*.go", "go.mod", "go.sum"),
    ),
    Scanner(
        "cargo-audit",
        ("Cargo.lock",),
        ("cargo", "audit", "--json", "--no-fetch"),
        _cargo_audit,
        "cargo install cargo-audit",
        by_file=False,
        manifest="Cargo.lock",
        beside=("Cargo.toml",),
        also=(*row_named("rust").code, "Cargo.toml"),
    ),
)


_MOST_OUTPUT = 4 << 20
_MOST_STARTS = 20
_LONGEST = 500
_BEGINS = regex(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_WORDS = {
    "error": "high", "critical": "high", "warning": "medium", "2": "high", "1": "medium",
    "info": "low", "inventory": "low",
}  # fmt: skip


def findings_of(tool: Scanner, ran: Ran, folder: str, digests: Mapping[str, Digest]) -> SastReport:
    """Return a scanner's findings on these files, and the files it did not read."""
    about = next(iter(digests))
    output = _output(ran)
    if is_missing_tool(ran) or "no such command" in output:
        return SastReport()
    try:
        rows = tuple(tool.read(_document(output)))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        # Whatever it printed instead of findings, it scanned nothing.
        last = redact(output.strip().rpartition("\n")[2])[-_LONGEST:]
        words = f"{tool.tool} printed no readable report (exit {ran.exit})"
        note = make_unscanned(about, f"{words}: {last}" if last else words, tool=tool.tool)
        return SastReport(notes=(note,))
    found = [_finding(tool.tool, one, folder, digests) for one in rows]
    notes = [one for one in found if one.rule == UNSCANNED]
    issues = [one for one in found if one.rule != UNSCANNED and one.path in digests]
    if len(issues) > MOST_FINDINGS:
        more = f"{tool.tool} has {len(issues) - MOST_FINDINGS} more findings in these files"
        notes.append(make_unlisted(about, more, tool=tool.tool))
    return SastReport(tuple(gravest(issues)), tuple(notes[:MOST_FINDINGS]))


def _output(ran: Ran) -> str:
    if ran.log is None or not ran.log.is_file():
        return ran.tail
    with ran.log.open("rb") as log:
        return log.read(_MOST_OUTPUT).decode("utf-8", "replace")


def _document(output: str) -> object:
    """Parse the JSON in a tool's output, ignoring other lines. Raises ValueError."""
    decoder = json.JSONDecoder()
    for _, begin in zip(range(_MOST_STARTS), _BEGINS.finditer(output), strict=False):
        try:
            found: object
            found, end = decoder.raw_decode(output, begin.end())
        except ValueError:
            continue
        # `[1]: deprecated` also starts with JSON: a document is followed by a blank or nothing.
        if output[end : end + 1].strip() == "":
            return found
    raise ValueError("no JSON")


def _finding(
    tool: str, row: Mapping[str, object], folder: str, digests: Mapping[str, Digest]
) -> SastFinding:
    path = _path(str(row.get("path") or ""), folder, digests)
    message = redact(" ".join(str(row.get("message", "")).split()))[:_LONGEST]
    if row.get("rule") == UNSCANNED:
        return make_unscanned(path, f"{tool} did not scan this file: {message}", tool=tool)
    return SastFinding(
        path=path,
        line=_number(row.get("line")),
        column=_number(row.get("column")),
        rule=str(row.get("rule", "")),
        severity=_rank(row.get("severity")),
        confidence=_rank(row.get("confidence", "medium")),
        message=message,
        tool=tool,
        digest=digests.get(path, ""),
    )


def _path(named: str, folder: str, digests: Mapping[str, Digest]) -> str:
    """Return the changed file for a path in a tool's output, relative or absolute."""
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
