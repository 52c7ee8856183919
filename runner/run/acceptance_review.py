"""Review by acceptance item: a second reader answers each item, and the runner checks it.

The reader is `review.command`, an agent or a model. Its answer is JSON of one fixed shape. What it
writes is shown and compared; it never changes commands, scope or settings.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from runner.context.tree import fence
from runner.model import Finding, Severity, Usage, digest_of
from runner.model.grades import is_document
from runner.model.words import ITEM_REVIEW
from runner.model.work import AcceptanceRow, Doubt, ItemVerdict, Judge
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from runner.model import Digest, Proof, Task

CHECK = "review"
"""Check name of findings for a reviewer's verdicts."""
_PROMPT = Path(__file__).parent / "prompts" / "review_items.md"
_SENTENCE = 500
_MOST = 20
"""Maximum locations of evidence for one item."""
_MOST_TESTS = 300
_PLACE = re.compile(r"(?P<path>[^\0\n]+):(?P<line>[1-9]\d{0,7})")
_KEYS = frozenset({"verdict", "evidence", "test", "sentence"})


@cache
def load_prompt() -> str:
    """Return the reader's prompt, a file of the product with a version."""
    return _PROMPT.read_text(encoding="utf-8")


@cache
def prompt_digest() -> Digest:
    """Return the digest of the prompt, which evidence names."""
    return digest_of(_PROMPT.read_bytes())


class ReviewFacts(Protocol):
    """The runner's facts about a proposal, to check a reader's answer."""

    def count_lines(self, path: str) -> int:
        """Return the number of lines of a proposed file; 0 if it is not text."""

    def is_changed(self, path: str) -> bool:
        """Return whether the proposal changes a file."""

    def has_passed(self, test: str) -> bool:
        """Return whether a test or contract with this ID ran and passed."""

    def can_fail(self, test: str) -> bool | None:
        """Return whether a test fails on stubbed functions; None if not measured."""


class Reader(Struct, frozen=True):
    """The reader of a review: a command, an agent or a model."""

    name: str
    ask: Callable[[str], ReviewReading]
    model: str = ""
    """Name of the model; empty if unknown."""
    repairs: int = 1
    """How often an invalid answer is returned for repair: a command is not called again."""

    @property
    def shown(self) -> str:
        """`claude (opus-5)`."""
        return f"{self.name} ({self.model})" if self.model else self.name


class ReviewReading(Struct, frozen=True):
    """The result of one question to a reader."""

    text: str
    findings: tuple[Finding, ...] = ()
    """Why the reviewer could not answer, or objections of a command without JSON."""
    usage: Usage = Usage()


class ItemReview(Struct, frozen=True):
    """The result of a review by item: its table, and the reasons against landing."""

    rows: tuple[AcceptanceRow, ...] = ()
    findings: tuple[Finding, ...] = ()
    usage: Usage = field(default_factory=Usage)


def compose_material(
    task: Task,
    items: Mapping[str, str],
    *,
    base: str,
    diff: str,
    tests: Sequence[str],
    proofs: Iterable[Proof],
    facts: Iterable[Finding],
) -> str:
    """Return the prompt with all that a reader may see of a change.

    Of a held-out contract it names the id, the acceptance items, and whether it passed.
    """
    more = [f"… and {len(tests) - _MOST_TESTS} more"] if len(tests) > _MOST_TESTS else []
    parts = (
        load_prompt(),
        f"# The task\n\n{display(task.id)}: {display(task.title)}\n\n"
        + display(task.prose, lines=True),
        _section("Acceptance items", (f"{id_}: {text}" for id_, text in items.items())),
        _section("Files the task may write", task.outputs),
        _section(
            "Results",
            (one.row.words if one.row else f"{one.id} {one.verdict}" for one in proofs),
        ),
        _section("Facts about the change", map(_format_fact, facts)),
        _section("Visible tests that passed", [*tests[:_MOST_TESTS], *more]),
        f"# The change\n\nBase: {base or 'nothing'}\n\n{fence(diff, 'diff')}",
    )
    return redact("\n\n".join(part.strip() for part in parts if part) + "\n")


def _section(title: str, lines: Iterable[str]) -> str:
    shown = "\n".join(f"- {display(line)}" for line in lines)
    return f"# {title}\n\n{shown}" if shown else ""


def _format_fact(fact: Finding) -> str:
    where = ":".join(str(part) for part in (fact.path, fact.line) if part)
    return ": ".join(filter(None, (fact.check, where, fact.message)))


# --- the answer -----------------------------------------------------------------------


class AnswerError(ValueError):
    """An answer does not fit the schema; the text says where."""


class ItemAnswer(Struct, frozen=True):
    """A reader's answer for one item, before it is checked."""

    verdict: ItemVerdict
    evidence: tuple[str, ...] = ()
    test: str = ""
    sentence: str = ""


def find_object(text: str) -> str | None:
    """Return the last JSON object in a text; None where there is none."""
    decoder, at, found = json.JSONDecoder(), 0, None
    while (at := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict):
            found = text[at:end]
        at = end
    return found


def parse_answer(text: str, items: Collection[str]) -> dict[str, ItemAnswer]:
    """Return the answers by item. Raises AnswerError."""
    found = find_object(text)
    if found is None:
        raise AnswerError("no JSON object found")
    read = json.loads(found)
    answers = read.get("items")
    if set(read) != {"items"} or not isinstance(answers, dict):
        raise AnswerError('expected {"items": {…}}')
    if missing := sorted(set(items) - answers.keys()):
        raise AnswerError(f"no answer for {', '.join(missing)}")
    if unknown := sorted(answers.keys() - set(items)):
        raise AnswerError(f"unknown item {', '.join(map(display, unknown))}")
    return {item: _parse_item(item, answers[item]) for item in items}


def _parse_item(item: str, row: object) -> ItemAnswer:
    if not isinstance(row, dict) or not row.keys() <= _KEYS:
        raise AnswerError(f"{item} must be an object with verdict, evidence, test and sentence")
    test = "" if row.get("test") is None else row["test"]
    evidence, sentence = row.get("evidence", []), row.get("sentence")
    if row.get("verdict") not in tuple(ItemVerdict):
        raise AnswerError(f"{item}: verdict must be met, not met or cannot tell")
    if not isinstance(evidence, list) or len(evidence) > _MOST:
        raise AnswerError(f"{item}: evidence must be a list of at most {_MOST} entries FILE:LINE")
    if not all(isinstance(one, str) and _PLACE.fullmatch(one) for one in evidence):
        raise AnswerError(f"{item}: evidence must have the form FILE:LINE")
    if not isinstance(test, str) or not isinstance(sentence, str) or not sentence.strip():
        raise AnswerError(f"{item}: test and sentence must be strings, and sentence is required")
    verdict = ItemVerdict(row["verdict"])
    if verdict is not ItemVerdict.CANNOT_TELL and not evidence:
        raise AnswerError(f"{item}: verdict {verdict} needs evidence of the form FILE:LINE")
    text = redact(" ".join(sentence.split()))[:_SENTENCE]
    return ItemAnswer(verdict, tuple(map(redact, evidence)), redact(test), text)


# --- the review -----------------------------------------------------------------------


def review_items(
    reader: Reader, material: str, items: Mapping[str, str], evidence: ReviewFacts, author: str = ""
) -> ItemReview | ReviewReading:
    """Ask a reader about each item and check what it answers.

    `author` is the implementer's model, empty where it is not known. Returns the reading itself
    where the reader could not answer, or where a command printed no JSON object.
    """
    reading = reader.ask(material)
    usage = reading.usage
    for left in range(reader.repairs, -1, -1):
        if reading.findings or (not reader.repairs and find_object(reading.text) is None):
            return replace(reading, usage=usage)
        try:
            answers = parse_answer(reading.text, items)
        except AnswerError as error:
            if not left:
                return ItemReview((), (_does_not_fit(reader, error),), usage)
            reading = reader.ask(f"{material}\n{_REPAIR.format(error=error)}")
            usage += reading.usage
            continue
        doubt = _doubt_of(reader, author)
        judged = [_judge(item, answers[item], reader, evidence, doubt) for item in items]
        rows = tuple(row for row, _ in judged)
        return ItemReview(rows, tuple(found for _, found in judged if found), usage)
    raise AssertionError("the loop returns")


_REPAIR = """
# Your last answer was not valid

{error}. Answer again, with the JSON object as asked above.
"""


def _does_not_fit(reader: Reader, error: AnswerError) -> Finding:
    return Finding(
        ITEM_REVIEW,
        f"{reader.name} gave no valid answer for the acceptance items",
        severity=Severity.QUESTION,
        hint="review the change yourself, or set another model.review",
        detail=str(error),
    )


def _doubt_of(reader: Reader, author: str) -> Doubt:
    """Return why a reader's verdicts do not count: its model must be known, and be another."""
    if not reader.model or not author:
        return Doubt.UNKNOWN_MODEL
    return Doubt.SAME_MODEL if reader.model == author else Doubt.NONE


def _judge(
    item: str, answer: ItemAnswer, reader: Reader, evidence: ReviewFacts, doubt: Doubt
) -> tuple[AcceptanceRow, Finding | None]:
    """Return the row of one item, and what it asks or refuses."""
    wrong = next(_find_wrong(answer, evidence), None)
    unmeasured = wrong is None and _is_unmeasured(answer, evidence)
    row = AcceptanceRow(
        item=item,
        verdict=answer.verdict,
        judge=Judge.REVIEWER,
        by=reader.shown,
        tests=(answer.test,) if answer.test else (),
        evidence=answer.evidence,
        sentence=answer.sentence,
        doubt=Doubt.UNCHECKED if wrong or unmeasured else doubt,
        prompt=prompt_digest(),
    )
    path, _, line = (answer.evidence or (":0",))[0].rpartition(":")
    # Equal bytes give the same message: a person answers each question once.
    if answer.verdict is ItemVerdict.CANNOT_TELL:
        asked = f"{item}: the reviewer cannot tell whether it is met"
        return row, Finding(ITEM_REVIEW, asked, severity=Severity.QUESTION, detail=answer.sentence)
    if wrong:
        asked = f"{item}: the reviewer's evidence is not valid"
        detail = f"{answer.verdict}: {answer.sentence}\n{wrong}"
        return row, Finding(ITEM_REVIEW, asked, severity=Severity.QUESTION, detail=detail)
    if answer.verdict is ItemVerdict.NOT_MET:
        message = f"{item} is not met: {answer.sentence}"
        return row, Finding(CHECK, message, path=path, line=int(line))
    return row, None


def _find_wrong(answer: ItemAnswer, evidence: ReviewFacts) -> Iterator[str]:
    """Yield what of the evidence is not true."""
    for place in answer.evidence:
        path, _, line = place.rpartition(":")
        count = evidence.count_lines(path)
        if int(line) > count:
            reason = f"has {count} lines" if count else "is not a text file of the proposal"
            yield f"the answer cites {place}, but {path} {reason}"
    if answer.verdict is not ItemVerdict.MET or _is_about_documents(answer, evidence):
        return
    if not answer.test:
        yield "the answer names no test"
    elif not evidence.has_passed(answer.test):
        yield f"{answer.test} is not among the visible tests that passed"
    elif evidence.can_fail(answer.test) is False:
        yield f"{answer.test} also passes if the changed functions raise errors"


def _is_about_documents(answer: ItemAnswer, evidence: ReviewFacts) -> bool:
    """Return whether the evidence consists of changed documents."""
    paths = [place.rpartition(":")[0] for place in answer.evidence]
    return not answer.test and all(is_document(one) and evidence.is_changed(one) for one in paths)


def _is_unmeasured(answer: ItemAnswer, evidence: ReviewFacts) -> bool:
    """Return whether it is not known if the test of an item can fail."""
    if answer.verdict is not ItemVerdict.MET or not answer.test:
        return False
    return evidence.can_fail(answer.test) is None
