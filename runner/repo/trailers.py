"""Build and parse commit messages that carry a task's evidence."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from runner.lazy_pattern import regex
from runner.model import Coverage, ProvenBy, Verdict
from runner.model.grades import proof_kind
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge
from runner.text.wording import plural, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runner.model import Proof, Spec

UNDOES = "Undoes"
"""`Undoes: TASK-009`: this commit removes the code of this task."""
RESTORES = "Restores"
"""`Restores: TASK-005`: this commit restores the state after that task landed."""
CHECKPOINT = "Checkpoint"
"""Commit whose bytes a restoring commit has."""
FILES = "Files"
"""Digest of the bytes that the other trailers describe (`repo/commit`)."""
WAIVED = "Waived"
"""A person's waiver of a task's proof, in the following record commit."""
PROJECT = "Project"
"""Folder of the plan that has the task (`repo/landed_commits`)."""
HELD_OUT = "Held-out"
"""Held-out file of the commit's proof, and its digest."""
NAMES = (
    *("Task", PROJECT, "Attempt", "Spec", "Proof", HELD_OUT, "Acceptance", "Regression", "Grade"),
    *("Coverage", "Review", "Tools", "Checked", WAIVED, FILES),
)
"""The runner's trailers, in their order."""

STATEMENTS = (*(name for name in NAMES if name != FILES), UNDOES, RESTORES, CHECKPOINT)
"""The trailers that a digest of files covers. Others may be added to a message."""
_ABOUT = frozenset(("Task", "Checked", WAIVED, UNDOES, RESTORES))
"""Every message of the runner has one of these."""
_SUBJECT_WIDTH = 72
_VALUE_WIDTH = 2000
_COMMIT = 12
"""Digits of an abbreviated commit."""
_TYPES = {
    "bugfix": "fix",
    "docs": "docs",
    "test": "test",
    "refactor": "refactor",
    "infra": "build",
}
_TRAILER = regex(r"([A-Za-z][A-Za-z0-9-]*): (.*)")
_PICKED = "(cherry picked from commit "
"""Line that `git cherry-pick -x` adds to the trailers; git ignores it as well."""
# str.splitlines also splits at \x85, U+2028 and U+2029: a value with one would be read back as two
# trailers.
_CONTROL = regex(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


class CommitMessage(Struct, frozen=True):
    """A commit message taken apart."""

    subject: str
    body: str
    trailers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    squashed: bool = False
    """Whether it is one of several messages that a squash combined in one commit."""


def subject(task: str, title: str, task_type: str = "") -> str:
    """Return a Conventional Commits subject of at most 72 characters: `feat(TASK-002): x`."""
    start = f"{_TYPES.get(task_type.lower(), 'feat')}({one_line(task)}): "
    title = one_line(title)
    # lower-case only a plain capital: `SQLite storage` and `API` stay unchanged
    if title[:1].isupper() and not title[1:2].isupper() and title.split()[0][1:].islower():
        title = title[0].lower() + title[1:]
    return shorten(start + (title or "work"), _SUBJECT_WIDTH)


def build_message(subject: str, body: str = "", trailers: Iterable[tuple[str, str]] = ()) -> str:
    """Return a full commit message, with each trailer on one line."""
    lines = [
        f"{name}: {shorten(one_line(value), _VALUE_WIDTH)}".rstrip()
        for name, value in trailers
        if one_line(value)
    ]
    parts = [
        shorten(one_line(subject) or "work", _SUBJECT_WIDTH),
        _plain_body(body),
        "\n".join(lines),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def task_trailers(
    task: str,
    attempt: int,
    spec: Spec,
    proofs: Iterable[Proof] = (),
    **others: str,
) -> tuple[tuple[str, str], ...]:
    """Return the trailers of a task's commit; `others` are Coverage, Review, Tools, Checked.

    Tests of other tasks can be hundreds: they share one line.
    """
    proofs = tuple(proofs)
    given = {name.capitalize(): value for name, value in others.items()}
    given["Regression"] = regression_line(proofs)
    return (
        ("Task", task),
        ("Attempt", str(attempt)),
        ("Spec", f"{spec.what} {spec.proof}"),
        *(
            ("Proof", proof_line(proof))
            for proof in proofs
            if not proof.is_of_another_task and proof.row is None
        ),
        *((HELD_OUT, line) for line in _held_out_lines(proofs)),
        *(("Acceptance", format_row(proof.row, proof.by)) for proof in proofs if proof.row),
        *((name, given[name]) for name in NAMES if name in given),
    )


def _held_out_lines(proofs: Iterable[Proof]) -> tuple[str, ...]:
    """Path and digest of each held-out file, and the ids of the proofs that ran with it."""
    ids: dict[tuple[str, str], list[str]] = {}
    for proof in proofs:
        for file in proof.held_out:
            ids.setdefault(file, []).append(one_line(proof.id).replace(" ", "-"))
    return tuple(f"{path} {digest} {','.join(found)}" for (path, digest), found in ids.items())


def proof_line(proof: Proof) -> str:
    """Format a proof: `TC-002 pass exit=0 passed=3 seconds=0.41 output=sha256:…`.

    `on=` names the commit it ran on, where the branch moved on without touching what it ran;
    `by=` what it shows, where the line by itself would say something else.
    """
    by = proof_kind(proof)
    is_plain = by is proof_kind(replace(proof, command="", by=None))
    counts = [f"{one_line(name).replace(' ', '-')}={number}" for name, number in proof.counts]
    words = [
        *(one_line(proof.id).replace(" ", "-"), str(proof.verdict), f"exit={proof.exit}", *counts),
        *(f"seconds={proof.seconds:.2f}", f"output={proof.output}"),
        *([f"on={one_line(proof.base)[:_COMMIT]}"] if proof.base else []),
        *([f"by={by}"] if by and not is_plain else []),
    ]
    return " ".join(words)


def regression_line(proofs: Iterable[Proof]) -> str:
    """Return `12 test contracts of 5 tasks pass`; empty if none of other tasks were run."""
    verdicts = {proof.id: proof.verdict for proof in proofs if proof.is_of_another_task}
    if not verdicts:
        return ""
    tasks = {id_.partition(":")[2].partition("/")[0] for id_ in verdicts}
    good = sum(one in (Verdict.PASS, Verdict.FLAKY) for one in verdicts.values())
    known = sum(one is Verdict.KNOWN for one in verdicts.values())
    bad = len(verdicts) - good - known
    line = f"{plural(len(verdicts), 'test contract')} of {plural(len(tasks), 'task')}"
    parts = (f"{bad} fail" * bool(bad), f"{known} failing as before" * bool(known))
    more = ", ".join(part for part in parts if part)
    if not more:
        return f"{line} {'passes' if len(verdicts) == 1 else 'pass'}"
    return f"{line}: {good} pass, {more}"


_SENTENCE = 300
"""Maximum characters of a reviewer's sentence in a trailer."""


def format_row(row: AcceptanceRow, by: ProvenBy | None) -> str:
    """Return one row of the acceptance table as the value of a trailer.

    `A1 met 'judge=held-out tests' tests=TC-003 grade=independent`, quoted as a shell quotes words.
    """
    words = [
        *(one_line(row.item) or "-", str(row.verdict), f"judge={row.judge}"),
        *([f"by={row.by}"] if row.by else []),
        *(f"tests={one}" for one in row.tests),
        *(f"evidence={one}" for one in row.evidence),
        *([f"doubt={row.doubt}"] if row.doubt else []),
        *([f"grade={by}"] if by else []),
        *([f"prompt={row.prompt}"] if row.prompt else []),
        *([f"sentence={shorten(row.sentence, _SENTENCE)}"] if row.sentence else []),
    ]
    return shlex.join(map(one_line, words))


def parse_row(line: str) -> tuple[AcceptanceRow, ProvenBy | None] | None:
    """Return the row and the grade of a trailer's value; None for one of another's making."""
    try:
        item, verdict, *words = shlex.split(line)
        fields: dict[str, list[str]] = {}
        for word in words:
            name, _, value = word.partition("=")
            fields.setdefault(name, []).append(value)

        def last(name: str) -> str:
            return fields.get(name, [""])[-1]

        row = AcceptanceRow(
            item,
            ItemVerdict(verdict),
            Judge(last("judge")),
            last("by"),
            tuple(fields.get("tests", ())),
            tuple(fields.get("evidence", ())),
            last("sentence"),
            Doubt(last("doubt")),
            last("prompt"),
        )
        return row, ProvenBy(last("grade")) if "grade" in fields else None
    except ValueError:
        return None


class ProofTrailer(Struct, frozen=True):
    """A proof as a trailer holds it."""

    id: str
    verdict: str
    exit: int
    seconds: float
    output: str
    counts: tuple[tuple[str, int], ...] = ()
    base: str = ""
    by: ProvenBy | None = None


_LARGEST = 10**15


def parse_proof(line: str) -> ProofTrailer | None:
    """Parse a proof trailer; return None if it is not one of the runner's."""
    words = line.split()
    if len(words) < 3 or not all("=" in word for word in words[2:]):  # noqa: PLR2004 - id, verdict, exit
        return None
    fields = dict(word.split("=", 1) for word in words[2:])
    try:
        exit_code, seconds = int(fields.pop("exit")), float(fields.pop("seconds"))
        output, base = fields.pop("output"), fields.pop("on", "")
        by = ProvenBy(fields.pop("by")) if "by" in fields else None
        counts = tuple((name, int(number)) for name, number in fields.items())
    except (KeyError, ValueError):
        return None
    numbers = (exit_code, seconds, *(number for _, number in counts))
    if not all(abs(one) < _LARGEST for one in numbers):  # neither is NaN
        return None
    return ProofTrailer(words[0], words[1], exit_code, seconds, output, counts, base, by)


def coverage_line(coverage: Coverage | None) -> str:
    """Return `84% of 120 lines (threshold 70%)`, as `Coverage.shown`; empty without coverage."""
    if coverage is None:
        return ""
    return f"{coverage.shown} (threshold {coverage.threshold:g}%)"


_COVERAGE = regex(r"(\d{1,3}(?:\.\d+)?)% of (\d{1,9}) lines? \(threshold (\d{1,3}(?:\.\d+)?)%\)")


def parse_coverage(line: str) -> Coverage | None:
    """Parse a coverage trailer; return None if it is not one of the runner's."""
    match = _COVERAGE.fullmatch(line)
    return Coverage(float(match[1]), int(match[2]), float(match[3])) if match else None


def tools_line(tools: Iterable[tuple[str, str]]) -> str:
    """Return tools as `python 3.11.2, pytest 9.0.1`."""
    return ", ".join(f"{_word(name)} {_word(version)}" for name, version in tools)


def parse_tools(line: str) -> tuple[tuple[str, str], ...]:
    """Parse a tools trailer into programs and versions."""
    pairs = (part.strip().partition(" ") for part in line.split(","))
    return tuple((name, version) for name, _, version in pairs if name)


def _word(value: str) -> str:
    """Replace spaces and commas in a text, so that it stays one word."""
    return one_line(value).replace(" ", "-").replace(",", ";")


# --- tasks without a commit of their own ----------------------------------------------

_CHECKED = regex(
    r"(?P<task>\S+) attempt=(?P<attempt>\d{1,9}) spec=(?P<what>\S+) (?P<proof>\S+)"
    r"(?: tree=(?P<tree>[0-9a-f]{40,64}))?(?P<proofs>(?: \| .*)?)"
)
_BETWEEN = " | "
_CUT = "…"


class RecordedCheck(Struct, frozen=True):
    """A record commit's entry about a task that was proven and changed nothing."""

    task: str
    attempt: int
    spec_what: str
    spec_proof: str
    tree: str = ""
    """Tree on which it was proven."""
    proofs: tuple[str, ...] = ()
    """Values of `Proof:` trailers."""
    cut: bool = False
    """Whether there were more of them than a trailer can hold."""


def format_checked(
    task: str, attempt: int, spec: Spec, tree: str = "", proofs: Iterable[Proof] = ()
) -> str:
    """Return the value of a `Checked:` trailer, with as many complete proofs as fit."""
    value = f"{_word(task)} attempt={attempt} spec={spec.what} {spec.proof}"
    value += f" tree={tree}" if tree else ""
    for proof in proofs:
        more = _BETWEEN + proof_line(proof)
        if len(value) + len(more) > _VALUE_WIDTH - len(_BETWEEN + _CUT):
            return value + _BETWEEN + _CUT
        value += more
    return value


def parse_checked(value: str) -> RecordedCheck | None:
    """Parse a `Checked:` trailer; None if it is not one of ours."""
    match = _CHECKED.fullmatch(value)
    if match is None:
        return None
    proofs = match["proofs"].split(_BETWEEN)[1:]
    return RecordedCheck(
        task=match["task"],
        attempt=int(match["attempt"]),
        spec_what=match["what"],
        spec_proof=match["proof"],
        tree=match["tree"] or "",
        proofs=tuple(line for line in proofs if line != _CUT),
        cut=_CUT in proofs,
    )


# --- waivers --------------------------------------------------------------------------


class WaiverTrailer(NamedTuple):
    """A person's waiver of a task, from a record commit; it holds for the files of its tree."""

    task: str
    what: str
    """Digest of the task's specification."""
    reason: str
    commit: str = ""


_WAIVED = regex(r"(?P<task>\S+) (?P<what>sha256:[0-9a-f]{64}) (?P<reason>.+)")


def format_waived(waiver: WaiverTrailer) -> str:
    """Format the value of a `Waived:` trailer."""
    return f"{_word(waiver.task)} {waiver.what} {one_line(waiver.reason)}"


def parse_waived(value: str, commit: str) -> WaiverTrailer | None:
    """Parse the `Waived:` trailer of a commit; None if it is not one of ours."""
    match = _WAIVED.fullmatch(value)
    return WaiverTrailer(match["task"], match["what"], match["reason"], commit) if match else None


# --- a whole message ------------------------------------------------------------------


def parse_message(message: str) -> CommitMessage:
    """Split a message; trailers are the last paragraph if every line of it is one.

    As git-interpret-trailers(1) does for messages of this shape; folded lines continue.
    """
    paragraphs = re.split(r"\n[ \t]*\n", message.strip("\n"))
    head, last = paragraphs[0], paragraphs[-1] if len(paragraphs) > 1 else ""
    trailers = _trailers(last.splitlines()) if last else None
    body = paragraphs[1:-1] if trailers is not None else paragraphs[1:]
    return CommitMessage(" ".join(head.splitlines()), "\n\n".join(body).strip("\n"), trailers or {})


# Indentation, quotes and bullets before the lines of an embedded message.
_LEAD = regex(r"[ \t>*+-]*")


def parse_messages(message: str) -> tuple[CommitMessage, ...]:
    """Parse a commit's message: itself, or the runner's messages that a squash joined in it.

    Of those the last attempts come first. GitHub puts bullets before subjects, `git merge
    --squash` indents all lines, `git rebase` joins messages as they are.
    """
    whole = parse_message(message)
    blocks = _find_blocks(message) if f"{FILES}: " in message else []
    # A task's commit has no body of its own.
    joined = len(blocks) > 1 or FILES not in whole.trailers
    if not blocks or not (joined or (whole.body and "Task" in whole.trailers)):
        return (whole,)
    # A body may contain lines like trailers, which the runner indents: real ones are further left.
    left = min(lead for lead, _ in blocks)
    found = (_trailers(lines) or {} for lead, lines in blocks if lead == left)
    parts = [CommitMessage(whole.subject, "", one, squashed=True) for one in found]
    return tuple(
        sorted(
            parts,
            key=lambda one: read_number(one.trailers.get("Attempt", ("",))[-1]),
            reverse=True,
        )
    )


def _find_blocks(message: str) -> list[tuple[int, list[str]]]:
    """Return the lines of the runner's trailers wherever they are, each with its indentation.

    A block begins with a trailer of the runner and ends with the digest of its files.
    """
    blocks: list[tuple[int, list[str]]] = []
    at, lines = 0, list[str]()
    for line in message.split("\n"):
        lead = _LEAD.match(line).end()  # type: ignore[union-attr]  # it matches the empty text
        trailer = line[lead:].rstrip()
        match = _TRAILER.fullmatch(trailer)
        name = match[1] if match else ""
        is_ours = name == FILES or name in STATEMENTS
        has_task = any(one.startswith("Task: ") for one in lines)
        if not is_ours or lead != at or (name == "Task" and has_task):
            at, lines = lead, []
        if is_ours:
            lines.append(trailer)
        if name == FILES:
            if any(one.partition(":")[0] in _ABOUT for one in lines):
                blocks.append((at, lines))
            lines = []
    return blocks


def value_as_read(value: str) -> str:
    """Return a trailer's value as git returns it, with invalid UTF-8 replaced."""
    return shorten(one_line(value), _VALUE_WIDTH).encode("utf-8", "replace").decode()


def one_line(value: str) -> str:
    """Return text on one line without control characters and repeated spaces."""
    return " ".join(_CONTROL.sub(" ", value).split())


def shorten(value: str, width: int) -> str:
    """Return text of at most `width` characters, with an ellipsis if it was cut."""
    return value if len(value) <= width else value[: width - 1].rstrip() + "…"


def _plain_body(body: str) -> str:
    """Return a body whose paragraphs cannot be parsed as trailers."""
    text = re.sub(r"[^\S\n]+\n", "\n", body.replace("\r\n", "\n").replace("\0", " ")).strip("\n")
    paragraphs = re.split(r"\n{2,}", text) if text else []
    return "\n\n".join(
        "\n".join(f"  {line}" for line in paragraph.splitlines())
        if _trailers(paragraph.splitlines()) is not None
        else paragraph
        for paragraph in paragraphs
    )


def _trailers(lines: list[str]) -> dict[str, tuple[str, ...]] | None:
    found: list[tuple[str, list[str]]] = []  # each value in its parts: one may have a million
    for line in lines:
        match = _TRAILER.fullmatch(line)
        if line.startswith(_PICKED):
            continue
        if match:
            found.append((match[1], [match[2].strip()]))
        elif line[:1] in {" ", "\t"} and found:
            found[-1][1].append(line.strip())
        else:
            return None
    grouped: dict[str, list[str]] = {}
    for name, parts in found:
        grouped.setdefault(name, []).append(" ".join(parts))
    return {name: tuple(values) for name, values in grouped.items()} or None
