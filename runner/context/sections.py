"""The sections of a brief, in the order in which they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from runner.context.bounds import Bounds, code, fenced
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.context.patterns import MatchedPattern
    from runner.model import Finding, GateSpec, Task

_FINDINGS = 20
_DETAIL = 3_000
_DIFF = 12_000
_PATTERN = 6_000

_DECISIONS = """\
Report each choice that is not obvious in a block of its own, in your output or in the file
`$RUNNER_DECISIONS`:

```text
DECISION: <title>
Context: <what made a choice necessary>
Decision: <what you chose>
Trade-off: <what it costs>
Pattern: <PATTERN id you followed, or "candidate">
```"""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a brief is made of."""

    task: Task
    attempt: int
    findings: tuple[Finding, ...]
    patterns: tuple[MatchedPattern, ...]
    previous: str
    former: str
    plan_title: str
    dependencies: tuple[tuple[str, str], ...]
    gates: tuple[GateSpec, ...]
    coverage: float | None


def written(parts: Parts, bounds: Bounds) -> str:
    """The whole text; a section with nothing to say is left out."""
    sections = (
        ("", _opening(parts, bounds)),
        ("Acceptance", _bullets(bounds.whole(entry) for entry in parts.task.acceptance)),
        ("Changes asked for since", _quotes(parts.task.changes, bounds)),
        ("What it built before", _former(parts.former, bounds)),
        ("Files you may write", _scope(parts.task)),
        ("Files to read", _bullets(map(code, parts.task.inputs))),
        ("Proof", _proof(parts)),
        ("What failed before", _failures(parts.findings, bounds)),
        ("The attempt before", _draft(parts.previous, bounds)),
        ("Patterns to follow", _patterns(parts.patterns, bounds)),
        ("Decisions", _DECISIONS),
    )
    return (
        "\n\n".join(f"## {title}\n\n{text}" if title else text for title, text in sections if text)
        + "\n"
    )


def _opening(parts: Parts, bounds: Bounds) -> str:
    task = parts.task
    facts = [
        f"Plan: {display(parts.plan_title)}" if parts.plan_title else "",
        f"Attempt: {parts.attempt}",
        f"Type: {display(task.type)}" if task.type else "",
        f"Stack: {display(', '.join(task.stack))}" if task.stack else "",
        f"Keywords: {display(', '.join(task.keywords))}" if task.keywords else "",
        _builds_on(parts.dependencies),
    ]
    heading = f"# {display(task.id)}: {display(task.title)}"
    prose = bounds.whole(task.prose)
    return "\n\n".join(filter(None, (heading, _bullets(filter(None, facts)), prose)))


def _builds_on(dependencies: tuple[tuple[str, str], ...]) -> str:
    if not dependencies:
        return ""
    named = [f"{display(id_)} {display(title)}".strip() for id_, title in dependencies]
    return f"Builds on what is done: {'; '.join(named)}"


def _scope(task: Task) -> str:
    if not task.writes_anything:
        return "None: this task is a check, and every change of a file is refused."
    never = (
        "TASK-GRAPH.md, runner.toml, `artifacts/build/` and git's own files are never yours to "
        "write. Work in the current folder, and leave no other files behind."
    )
    if task.writes_everything:
        return f"Any file that the task needs. {never}"
    listed = _bullets(map(code, task.outputs))
    return f"{listed}\n\nA change of any other file refuses the whole attempt. {never}"


def _proof(parts: Parts) -> str:
    """The commands the runner runs itself, on exactly the files that are left."""
    task = parts.task
    own = {gate.name for gate in task.gates}
    gates = (*(gate for gate in parts.gates if gate.name not in own), *task.gates)
    lines = [
        *(f"{display(tc.id)} ({tc.level}): {code(tc.command)}" for tc in task.test_contracts),
        *(f"contract {display(entry.kind)}: {code(entry.value)}" for entry in task.contracts),
        *(f"gate {display(gate.name)}: {code(gate.command)}" for gate in gates),
    ]
    if not lines:
        return ""
    told = (
        "When you are done, the runner itself runs these on the files as you leave them; all of "
        "them must pass. Marks that silence a check (`noqa`, `nosec`, skipped tests) are reported."
    )
    aim = ""
    if parts.coverage is not None and task.test_contracts:
        aim = f"\n\nAim at tests that reach {parts.coverage:g} % of the lines you write."
    return f"{told}\n\n{_bullets(lines)}{aim}"


def _failures(findings: tuple[Finding, ...], bounds: Bounds) -> str:
    """What refused first; what programs printed is quoted as such."""
    ordered = sorted(findings, key=lambda finding: not finding.refuses)
    shown = ordered[: bounds.count(_FINDINGS)]
    more = len(ordered) - len(shown)
    told = [_finding(number, finding, bounds) for number, finding in enumerate(shown, 1)]
    return "\n\n".join([*told, *([f"… and {more} more"] if more else [])])


def _finding(number: int, finding: Finding, bounds: Bounds) -> str:
    place = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part)
    where = f" at {code(place)}" if place else ""
    said = f"### {number}. {display(finding.check)} ({finding.severity}){where}"
    hint = f"Hint: {bounds.head(finding.hint, _DETAIL)}" if finding.hint else ""
    detail = fenced(bounds.tail(finding.detail, _DETAIL)) if finding.detail.strip() else ""
    message = bounds.head(finding.message, _DETAIL)
    return "\n\n".join(filter(None, (said, message, hint, detail)))


def _draft(previous: str, bounds: Bounds) -> str:
    if not previous.strip():
        return ""
    told = (
        "This is what the last attempt changed. It is not in your files; where it is kept "
        "whole, `$RUNNER_DRAFT` names the patch."
    )
    return f"{told}\n\n{fenced(bounds.head(previous, _DIFF), 'diff')}"


def _former(former: str, bounds: Bounds) -> str:
    if not former.strip():
        return ""
    told = "This task was built before, and its code is in your files; this is what it changed."
    return f"{told}\n\n{fenced(bounds.head(former, _DIFF), 'diff')}"


def _patterns(patterns: tuple[MatchedPattern, ...], bounds: Bounds) -> str:
    return "\n\n".join(_pattern(pattern, bounds) for pattern in patterns)


def _pattern(pattern: MatchedPattern, bounds: Bounds) -> str:
    heading = f"### {display(pattern.id)}: {display(pattern.title)}"
    if not pattern.text.strip():
        return f"{heading}\n\n(not shown: {display(pattern.note) or 'it is empty'})"
    return f"{heading}\n\n{fenced(bounds.head(pattern.text, _PATTERN), 'markdown')}"


def _quotes(texts: Iterable[str], bounds: Bounds) -> str:
    return "\n\n".join("> " + bounds.whole(text).replace("\n", "\n> ") for text in texts)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_indented(lines))


def _indented(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield "- " + line.replace("\n", "\n  ")
