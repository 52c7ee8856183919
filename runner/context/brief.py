"""Compose the brief for an implementer: Markdown sections in reading order.

Everything in it is redacted and bounded, and invisible characters are spelled out. If the whole is
too long, its long sections are cut shorter, but never the task's own text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.context.gather import GatheredContext
from runner.context.tree import CHARACTERS_A_TOKEN, BriefBounds, code, fence
from runner.plan.task_types import describe_type
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from runner.context.files import ContextFile
    from runner.context.gather import ProvingText
    from runner.context.patterns import MatchedPattern, Recorded
    from runner.context.skills import Skill
    from runner.journal.task_state import Try
    from runner.model import Finding, GateSpec, Task

_ALL_FINDINGS = 2
"""After this many failed attempts the brief has only the findings that still reject."""
LONGEST_DRAFT = 1 << 20
_SCALES = (1.0, 0.5, 0.25, 0.1, 0.03)
_FINDINGS = 20
_DETAIL = 3_000
_DIFF = 12_000
_PATTERN = 6_000
_DECISIONS = """\
Report each non-obvious choice in its own block, {where}. A blank line ends the block:

```text
DECISION: <title>
Context: <what made a choice necessary>
Decision: <what you chose>
Trade-off: <what it costs>
Pattern: <PATTERN id you followed, or "candidate">
```"""


class BriefPart(NamedTuple):
    """One part of a brief and what it costs."""

    name: str
    """`task`, `acceptance`, `findings`, `files`, `index` …"""
    tokens: int


class Brief(Struct, frozen=True):
    """The brief of one attempt at one task."""

    task: Task
    attempt: int
    findings: tuple[Finding, ...]
    """Findings of the previous attempts."""
    patterns: tuple[MatchedPattern, ...]
    previous: str
    """Diff of the last failed attempt, redacted; empty if there is none or it is too long."""
    text: str
    """The whole brief as Markdown."""
    parts: tuple[BriefPart, ...] = ()
    """Parts of the brief, in order."""
    kind: str = ""
    """Task type and how it was detected, `bugfix (title: fix)`; empty for none."""
    searched: tuple[str, ...] = ()
    """Query of the pattern index; empty if there is no index."""
    skills: tuple[Skill, ...] = ()
    """Skills whose text may be read on demand."""
    warnings: tuple[Finding, ...] = ()
    """Warnings about omitted parts, such as a skill that cannot be read."""

    @property
    def tokens(self) -> int:
        """Approximate tokens of the whole brief."""
        return tokens_of(self.text)


def tokens_of(text: str) -> int:
    """Return the approximate number of tokens of a text."""
    return -(-len(text) // CHARACTERS_A_TOKEN)


class Parts(Struct, frozen=True):
    """The parts of a brief.

    `previous` is the diff of the last failed attempt, `former` that of what the task built before,
    which is in the files. `dependencies` are ids and titles of the tasks it builds on; `gates` are
    the project's for this type of task, beside the task's own; `coverage` is in percent, where it
    is asked for; `around` is what was gathered beside the task.
    """

    task: Task
    attempt: int
    findings: tuple[Finding, ...] = ()
    patterns: tuple[MatchedPattern, ...] = ()
    previous: str = ""
    former: str = ""
    plan_title: str = ""
    dependencies: tuple[tuple[str, str], ...] = ()
    gates: tuple[GateSpec, ...] = ()
    coverage: float | None = None
    around: GatheredContext = field(default_factory=GatheredContext)
    plan: str = ""
    """The approved plan."""
    since: Mapping[str, int] | None = None
    """First attempt in which each check failed."""
    searched: tuple[str, ...] = ()
    """Query of the pattern search."""
    has_variables: bool = True
    """Whether who reads it is a program that gets `$RUNNER_DRAFT` and the like."""


def compose_brief(
    given: Parts,
    *,
    tokens: int = 8000,
    known_secrets: Collection[str] = (),
    failed: int | None = None,
) -> Brief:
    """Compose the brief of an attempt.

    `tokens` bounds the text beside context files and index, which have bounds of their own;
    `known_secrets` are values that must never be shown; `failed` is how many attempts in a row
    failed before this one, else all before it.
    """
    around = given.around
    draft = redact(given.previous, known_secrets)
    parts = replace(
        given,
        findings=_still_open(given.findings, given.attempt - 1 if failed is None else failed),
        previous=draft,
        former=redact(given.former, known_secrets),
        coverage=given.coverage if given.task.coverage is None else given.task.coverage,
    )
    written = _fit_sections(parts, tokens * CHARACTERS_A_TOKEN, tuple(known_secrets))
    return Brief(
        task=parts.task,
        attempt=parts.attempt,
        findings=parts.findings,
        patterns=parts.patterns,
        previous=draft if len(draft) <= LONGEST_DRAFT else "",
        text=redact("\n\n".join(map(str, written)) + "\n", known_secrets),
        parts=tuple(BriefPart(one.name, tokens_of(f"{one}\n\n")) for one in written),
        kind=str(around.work),
        searched=parts.searched,
        skills=around.skills.found,
        warnings=around.skills.warnings,
    )


def _still_open(findings: Sequence[Finding], failed: int) -> tuple[Finding, ...]:
    """Return all findings at first; after the second failure only those that refuse."""
    if failed < _ALL_FINDINGS:
        return tuple(findings)
    return tuple(finding for finding in findings if finding.refuses)


def _fit_sections(
    parts: Parts, most: int, known_secrets: tuple[str, ...]
) -> tuple[BriefSection, ...]:
    """Return the sections at the first scale that fits, else at the smallest.

    Files and index are bounded already, and how to report is short.
    """
    bounded: tuple[BriefSection, ...] = ()
    for scale in _SCALES:
        bounded = task_sections(parts, BriefBounds(scale, known_secrets))
        if sum(len(str(section)) + 2 for section in bounded) <= most:
            break
    return (*bounded, *background_sections(parts, BriefBounds(1.0, known_secrets)))


def open_since(tries: Sequence[Try]) -> dict[str, int]:
    """Return the first attempt of the current failure streak of each check that failed last."""
    since: dict[str, int] = {}
    for one in tries:
        since = {check: since.get(check, one.attempt) for check in one.checks}
    last = tries[-1].attempt if tries else 0
    return {check: first for check, first in since.items() if first < last}


class BriefSection(NamedTuple):
    """One part of a brief; `name` is the word by which its tokens are counted."""

    name: str
    title: str
    text: str

    def __str__(self) -> str:
        """As it stands in the brief."""
        return f"## {self.title}\n\n{self.text}" if self.title else self.text


def task_sections(parts: Parts, bounds: BriefBounds) -> tuple[BriefSection, ...]:
    """Return the sections on the task itself, without empty ones."""
    task, around = parts.task, parts.around
    sections = (
        BriefSection("task", "", _format_opening(parts, bounds)),
        BriefSection("acceptance", "Acceptance", _bullets(map(bounds.whole, task.acceptance))),
        BriefSection("changes", "Requested changes", _quotes(task.changes, bounds)),
        BriefSection("former", "What this task built before", _former(parts.former, bounds)),
        BriefSection("type", "How to work", _how(parts)),
        BriefSection("plan", "The approved plan", _plan(parts.plan, bounds)),
        BriefSection("scope", "Files you may write", _scope(task)),
        BriefSection("inputs", "Files to read", _inputs(parts)),
        BriefSection("proof", "Proof", _proof(parts)),
        BriefSection("tests", "Existing tests", tests(around.tests, bounds)),
        BriefSection("findings", "What failed before", _failures(parts, bounds)),
        BriefSection("draft", "The previous attempt", _draft(parts, bounds)),
        BriefSection("patterns", "Patterns to follow", _patterns(parts, bounds)),
        BriefSection("skills", "Skills", skills(around.skills.found, bounds)),
        BriefSection("decided", "Earlier decisions", decisions(around.decisions, bounds)),
    )
    return tuple(section for section in sections if section.text)


def background_sections(parts: Parts, bounds: BriefBounds) -> tuple[BriefSection, ...]:
    """Return the background sections: files within their own budget, the index, how to report."""
    sections = (
        BriefSection("files", "Context files", files(parts.around.files, bounds)),
        BriefSection(
            "index",
            "File index (path | exported names | lines)",
            index(parts.around.index),
        ),
        BriefSection("reporting", "Decisions", _DECISIONS.replace("{where}", _where(parts))),
    )
    return tuple(section for section in sections if section.text)


def _format_opening(parts: Parts, bounds: BriefBounds) -> str:
    task = parts.task
    facts = [
        f"Plan: {display(parts.plan_title)}" if parts.plan_title else "",
        f"Attempt: {parts.attempt}",
        f"Type: {_type(parts)}" if _type(parts) else "",
        f"Stack: {display(', '.join(task.stack))}" if task.stack else "",
        f"Keywords: {display(', '.join(task.keywords))}" if task.keywords else "",
        _builds_on(parts.dependencies),
    ]
    heading = f"# {display(task.id)}: {display(task.title)}"
    prose = bounds.whole(task.prose)
    return "\n\n".join(filter(None, (heading, _bullets(filter(None, facts)), prose)))


def _type(parts: Parts) -> str:
    """Return the declared type of the task and those detected from its text."""
    return display(describe_type(parts.task.type, parts.around.work))


def _how(parts: Parts) -> str:
    """Return instructions for this type of work; empty if the type is unknown or writes nothing."""
    if not parts.task.writes_anything or not parts.around.work.rows:
        return ""
    asked = (
        "\n- Required here: a test contract, or a test whose name says that old data is still"
        " readable."
        if parts.around.asks_old_data
        else ""
    )
    return parts.around.work.template + asked


def _plan(plan: str, bounds: BriefBounds) -> str:
    if not plan.strip():
        return ""
    held = "If you change a file that the plan does not name, the attempt fails."
    return f"{held}\n\n{fence(bounds.whole(plan), 'markdown')}"


def _inputs(parts: Parts) -> str:
    named = _bullets(map(code, parts.task.inputs))
    left_out = _bullets(f"({display(why)})" for why in parts.around.not_shown)
    return "\n".join(filter(None, (named, left_out)))


def _builds_on(dependencies: tuple[tuple[str, str], ...]) -> str:
    if not dependencies:
        return ""
    named = [f"{display(id_)} {display(title)}".strip() for id_, title in dependencies]
    return f"Builds on finished tasks: {'; '.join(named)}"


def _scope(task: Task) -> str:
    if not task.writes_anything:
        return "None: this task is a check, and any changed file is rejected."
    cannot = (
        "If the task cannot be done as written, change nothing and end with one line:"
        " `I cannot, because …`. That answer is accepted; a workaround is not."
    )
    never = (
        "Never write to TASK-GRAPH.md, runner.toml, `artifacts/build/` or git's internal files. "
        "Work in the current folder, and leave no other files behind."
    )
    if task.writes_everything:
        return f"Any file that the task needs. {never}\n\n{cannot}"
    listed = _bullets(map(code, task.outputs))
    scope = f"{listed}\n\nIf you change any other file, the whole attempt fails. {never}"
    return f"{scope}\n\n{cannot}"


def _proof(parts: Parts) -> str:
    """Return the commands that the runner itself runs as proof."""
    task = parts.task
    own = {gate.name for gate in task.gates}
    gates = (*(gate for gate in parts.gates if gate.name not in own), *task.gates)
    lines = [
        *(
            f"{display(tc.id)} ({tc.shown_level}): {code(tc.command)}"
            for tc in task.test_contracts
            if not tc.held_out
        ),
        *(f"contract {display(entry.kind)}: {code(entry.value)}" for entry in task.contracts),
        *(f"gate {display(gate.name)}: {code(gate.command)}" for gate in gates),
    ]
    if not lines:
        return ""
    intro = (
        "When you finish, the runner runs these on your files; all of them must "
        "pass. Marks that silence a check (`noqa`, `nosec`, skipped tests) are reported."
    )
    aim = ""
    if parts.coverage is not None and task.test_contracts:
        aim = f"\n\nWrite tests that execute at least {parts.coverage:g} % of the lines you write."
    return f"{intro}\n\n{_bullets(lines)}{aim}"


def _failures(parts: Parts, bounds: BriefBounds) -> str:
    """Return the failures, rejecting ones first; program output is quoted."""
    ordered = sorted(parts.findings, key=lambda finding: not finding.refuses)
    listed = ordered[: bounds.count(_FINDINGS)]
    more = len(ordered) - len(listed)
    since = parts.since or {}
    lines = [
        _finding(number, finding, bounds, since.get(finding.check, 0))
        for number, finding in enumerate(listed, 1)
    ]
    return "\n\n".join([*lines, *([f"… and {more} more"] if more else [])])


def _finding(number: int, finding: Finding, bounds: BriefBounds, since: int) -> str:
    place = ":".join(str(part) for part in (finding.path, finding.line, finding.column) if part)
    where = f" at {code(place)}" if place else ""
    open_since = f", open since attempt {since}" if since else ""
    heading = f"### {number}. {display(finding.check)} ({finding.severity}){where}{open_since}"
    hint = f"Hint: {bounds.head(finding.hint, _DETAIL)}" if finding.hint else ""
    detail = fence(bounds.tail(finding.detail, _DETAIL)) if finding.detail.strip() else ""
    message = bounds.head(finding.message, _DETAIL)
    return "\n\n".join(filter(None, (heading, message, hint, detail)))


def _where(parts: Parts) -> str:
    """Return where decisions are reported."""
    if not parts.has_variables:
        return "in your last message"
    return "in your output or in the file\n`$RUNNER_DECISIONS`"


def _draft(parts: Parts, bounds: BriefBounds) -> str:
    previous = parts.previous
    if not previous.strip():
        return ""
    intro = "The last attempt made these changes. They are not in your files"
    if parts.has_variables:
        intro += "; `$RUNNER_DRAFT` is the path of the full patch, if the runner kept it"
    return f"{intro}.\n\n{fence(bounds.head(previous, _DIFF), 'diff')}"


def _former(former: str, bounds: BriefBounds) -> str:
    if not former.strip():
        return ""
    intro = "An earlier build of this task made these changes. They are in your files."
    return f"{intro}\n\n{fence(bounds.head(former, _DIFF), 'diff')}"


def _patterns(parts: Parts, bounds: BriefBounds) -> str:
    """Return the patterns, or that none fits where they had to be searched."""
    if not parts.patterns and parts.searched:
        return f"No pattern fits (searched: {display(', '.join(parts.searched))})."
    return "\n\n".join(_pattern(pattern, bounds) for pattern in parts.patterns)


def _pattern(pattern: MatchedPattern, bounds: BriefBounds) -> str:
    heading = f"### {display(pattern.id)}: {display(pattern.title)}"
    if not pattern.text.strip():
        return f"{heading}\n\n(not shown: {display(pattern.note) or 'its file is empty'})"
    return f"{heading}\n\n{fence(bounds.head(pattern.text, _PATTERN), 'markdown')}"


def _quotes(texts: Iterable[str], bounds: BriefBounds) -> str:
    return "\n\n".join("> " + bounds.whole(text).replace("\n", "\n> ") for text in texts)


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(_indent(lines))


def _indent(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield "- " + line.replace("\n", "\n  ")


# --- brief appendix -------------------------------------------------------------------


_TEST, _TESTS = 6_000, 6
_DECISION, _MOST_DECISIONS = 600, 12
_SKILLS = 24
_LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "cjs": "javascript",
    "jsx": "jsx",
    "ts": "typescript",
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "md": "markdown",
    "sh": "sh",
    "sql": "sql",
    "json": "json",
    "toml": "toml",
    "yml": "yaml",
    "yaml": "yaml",
    "html": "html",
    "css": "css",
}
_BECAUSE = {
    "plan": "named by the plan",
    "task": "named by the task",
    "neighbour": "imports a file of this task, or is imported by one",
    "pattern": "example of a pattern",
    "kind": "nearest file of the same kind",
}


def tests(texts: Sequence[ProvingText], bounds: BriefBounds) -> str:
    """Return the brief's section with the existing tests."""
    shown = texts[: bounds.count(_TESTS)]
    blocks = [
        f"### {display(one.contract)}: {code(one.path)}\n\n"
        f"{fence(bounds.head(one.text, _TEST), _language(one.path))}"
        for one in shown
    ]
    return _with_rest(blocks, [one.path for one in texts[len(shown) :]])


def skills(found: Sequence[Skill], bounds: BriefBounds) -> str:
    """Return names and descriptions of the skills."""
    if not found:
        return ""
    shown = found[: bounds.count(_SKILLS)]
    intro = "Read the file of a skill if its description fits your work:"
    lines = [
        f"- {display(one.name)}: {display(bounds.whole(one.description))} ({code(one.path)})"
        for one in shown
    ]
    return "\n".join([f"{intro}\n", *lines, *_and_more(len(found) - len(shown))])


def decisions(found: Sequence[Recorded], bounds: BriefBounds) -> str:
    """Return the earlier decisions about the files of the task; each holds until it is replaced."""
    shown = found[: bounds.count(_MOST_DECISIONS)]
    blocks = [_decision(one, bounds) for one in shown]
    return "\n\n".join([*blocks, *_and_more(len(found) - len(shown))])


def _decision(one: Recorded, bounds: BriefBounds) -> str:
    decision = one.decision
    parts = (
        f"### {one.id}: {display(decision.title)} ({display(one.because)})",
        f"{bounds.head(decision.decision or decision.title, _DECISION)}",
        f"Because: {bounds.head(decision.context, _DECISION)}" if decision.context else "",
        f"Trade-off: {bounds.head(decision.tradeoff, _DECISION)}" if decision.tradeoff else "",
    )
    return "\n\n".join(filter(None, parts))


def files(found: Iterable[ContextFile], bounds: BriefBounds) -> str:
    """Return whole files as of the commit that the work starts on."""
    return "\n\n".join(
        f"### {code(one.path)} ({_BECAUSE[one.because]}{', first part only' if one.is_cut else ''})"
        f"\n\n{fence(bounds.whole(one.text), _language(one.path))}"
        for one in found
    )


def index(lines: Sequence[str]) -> str:
    """Return path, exported names and line count of the relevant files."""
    return fence("\n".join(map(display, lines))) if lines else ""


def _language(path: str) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].casefold(), "text")


def _with_rest(blocks: list[str], rest: list[str]) -> str:
    more = [f"More test files: {', '.join(map(code, rest))}"] if rest else []
    return "\n\n".join([*blocks, *more])


def _and_more(number: int) -> list[str]:
    return [f"… and {number} more"] if number > 0 else []
