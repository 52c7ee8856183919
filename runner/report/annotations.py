"""Format a run, and what a change may affect, for a terminal and for GitHub Actions.

Workflow commands and GITHUB_STEP_SUMMARY as in GitHub's "Workflow commands for GitHub Actions".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.model import Severity, Status, Verdict
from runner.report.summary import duration
from runner.text.display import display, escape_annotation, escape_annotation_property
from runner.text.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.impact.answer import Affected, Impacted
    from runner.model import Finding
    from runner.report.results import Results, TaskResult

_LEVELS = {
    Severity.ERROR: "error",
    Severity.QUESTION: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}
_SIGNS = {Status.DONE: "✅", Status.BLOCKED: "❌", Status.STALE: "⚠️"}
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|~>])")
MOST_ROWS = 500
"""Maximum tasks on the page; a page of more than 1 MiB would not be shown at all."""
_MOST_DETAIL = 2_000


def workflow_commands(results: Results) -> Iterator[str]:
    """Yield a workflow command for each finding of this run and each BLOCKED task."""
    for task in results.tasks:
        shown = task.refusals or task.findings
        for finding in shown:
            yield _annotation(results, task, finding)
        if task.status is Status.BLOCKED and not task.refusals:
            yield format_command("error", task.note or "blocked", task.id, results.plan, task.line)


def _annotation(results: Results, task: TaskResult, finding: Finding) -> str:
    path = results.place(finding.path) if finding.path else results.plan
    line = finding.line if finding.path else task.line
    hint = finding.hint and f"hint: {finding.hint}"
    message = "\n".join(filter(None, (finding.message, finding.detail, hint)))
    level = _LEVELS[finding.severity]
    return format_command(level, message, f"{task.id} {finding.check}", path, line, finding.column)


def format_command(
    level: str, message: str, title: str, path: str, line: int, column: int = 0
) -> str:
    """Format a workflow command: `error`, `warning` or `notice`, with an optional path."""
    numbers = [("line", line), ("col", column if line else 0)]
    properties = [
        *([f"file={escape_annotation_property(path)}"] if path else []),
        *(f"{name}={number}" for name, number in numbers if number and path),
        f"title={escape_annotation_property(title)}",
    ]
    return f"::{level} {','.join(properties)}::{escape_annotation(message)}"


def step_summary(results: Results) -> str:
    """Return the summary in GitHub's Markdown: counts, a row per task, and failures."""
    counts = _counts(results)
    lines = [
        f"## {escape_markdown(results.name or 'Task graph')}",
        "",
        f"{counts} in {duration(results.seconds)}",
        "",
        "| Task | Status | Proof | Attempts | Time |",
        "|---|---|---|--:|--:|",
        *(_row(task) for task in results.tasks[:MOST_ROWS]),
    ]
    more = len(results.tasks) - MOST_ROWS
    lines += [f"| … and {more} more | | | | |"] if more > 0 else []
    for task in results.tasks:
        if task.status in (Status.BLOCKED, Status.STALE):
            lines += _open_task(results, task)
    return "\n".join(lines) + "\n"


def _counts(results: Results) -> str:
    statuses = [task.status for task in results.tasks]
    counts = [f"{statuses.count(one)} {one}" for one in Status if one in statuses]
    return f"{plural(len(statuses), 'task')}: {', '.join(counts) or 'none'}"


_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)


def _row(task: TaskResult) -> str:
    good = sum(
        proof.verdict in (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN) for proof in task.proofs
    )
    cells = (
        f"{escape_markdown(task.id)} {escape_markdown(task.title)}",
        f"{_SIGNS.get(task.status, '')} {task.status}".strip(),
        f"{good}/{len(task.proofs)}" if task.proofs else "—",
        str(task.attempts or "—"),
        duration(task.seconds) if task.attempts else "—",
    )
    return f"| {' | '.join(cells)} |"


def _open_task(results: Results, task: TaskResult) -> Iterator[str]:
    yield ""
    yield f"### {escape_markdown(task.id)}: {escape_markdown(task.note) or task.status}"
    for finding in task.refusals:
        yield ""
        place = results.place(finding.path) if finding.path else ""
        place += f":{finding.line}" if place and finding.line else ""
        head = f"{escape_markdown(finding.check)}: {escape_markdown(finding.message)}"
        yield f"- {escape_markdown(place)} {head}" if place else f"- {head}"
        if finding.detail:
            yield from fence_text(finding.detail[-_MOST_DETAIL:])


def fence_text(text: str) -> Iterator[str]:
    """Yield a fenced block (CommonMark 4.5) that its content cannot close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield ""
    # Indented by two blanks, the block belongs to the list item above it (CommonMark 0.31, 5.2).
    yield f"  {fence}text"
    yield from (f"  {display(line)}" for line in text.splitlines())
    yield f"  {fence}"


def escape_markdown(text: str) -> str:
    """Escape one line of text for Markdown, including HTML and mentions."""
    plain = _MARKUP.sub(r"\\\1", display(text).replace("&", "&amp;"))
    return plain.replace("<", "&lt;").replace("@", "&#64;")


_REASONS_SHOWN = 5
"""Reasons of one task shown on a terminal."""


def format_affected(one: Affected) -> Iterator[str]:
    """Yield a task with its test contracts, followed by its reasons."""
    single = dict(one.tests)
    names = [_with_tests(name, single.get(name, ())) for name in one.contracts]
    yield f"{display(one.task)}  {display(', '.join(names) or 'no test contract')}"
    for why in one.reasons[:_REASONS_SHOWN]:
        yield f"  {why.kind:<9}  {display(why.place)}  {display(why.text)}"
    if len(one.reasons) > _REASONS_SHOWN:
        yield f"  and {len(one.reasons) - _REASONS_SHOWN} more reasons (--json shows them)"


def _with_tests(name: str, tests: tuple[str, ...]) -> str:
    return f"{name} ({plural(len(tests), 'test')})" if tests else name


def impact_commands(answer: Impacted) -> Iterator[str]:
    """Yield a workflow command for each reason and doubt at its changed line."""
    for one in answer.affected:
        names = ", ".join(one.contracts)
        for why in one.reasons:
            title = f"{one.task} may be affected" + (f" ({names})" if names else "")
            yield format_command("notice", why.text, title, why.path, why.line)
    for doubt in answer.doubts:
        yield format_command("warning", doubt.text, "not decided", doubt.path, doubt.line)
