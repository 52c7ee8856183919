"""One case, run by the real program in a fresh repository; what became of it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from archive import patched
from repositories import (
    APPLY,
    after_of,
    before_of,
    digest,
    edits_file,
    repository,
    with_packages,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from archive import Edits, Texts
    from cases import Change
    from repositories import Place

TASK = "TASK-001"
_LONGEST = 1200.0
"""Seconds of one run."""
_QUESTION = re.compile(r"question (base-tests|integrity|tests)\b")
"""A question for a person that names tests."""
_UNRUN = re.compile(r"error coverage |question mutation .*: no test was seen to run ")
"""What is true of a commit whose tests do not come to all of its code."""
_OWN = ("TC-", "coverage", "compile")
"""Checks whose details hold whole outputs: only what they say themselves is looked at."""


@dataclass(frozen=True)
class Laid:
    """A case, ready to be run."""

    case: Change
    before: Texts
    edits: Edits
    section: str
    key: str
    """Changes with all that the case is made of."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    name: str
    key: str
    setting: str
    family: str
    part: str
    project: str
    ended: str
    """`done`, `waits`, `refused`, or `broken` where the program itself gave way."""
    named: bool
    """Whether a finding names the fault; of a good case: whether nothing at all was found."""
    seconds: float
    findings: tuple[str, ...]
    changes_tests: bool = False

    @property
    def label(self) -> str:
        """The class of the outcome, as the tables have it."""
        if self.ended == "broken":
            return "broken"
        if self.part == "good":
            return self._good
        if self.ended == "done":
            return "warned" if self.named else "silent"
        return "named" if self.named else "unnamed"

    @property
    def _good(self) -> str:
        refusing = [said for said in self.findings if said.startswith(("error ", "question "))]
        if self.ended == "done":
            return "done"
        if self.ended == "waits" and not refusing:
            return "control"
        if refusing and all(said.startswith("error coverage ") for said in refusing):
            return "coverage"
        about = [said for said in refusing if not _UNRUN.match(said)]
        if about and all(_QUESTION.match(said) for said in about):
            return "asks"
        if refusing and not about:
            return "unrun"
        if refusing and all(_QUESTION.match(said) for said in refusing):
            return "asks"
        return "false"


def laid(case: Change, place: Place) -> Laid:
    """Work out what the case writes; a case whose edits do not fit is an error here."""
    before = before_of(place, case)
    edits = _committed(case, place, before) if case.commit else _patched(case, before, "change")
    if not edits:
        raise SystemExit(f"error: {case.name} changes nothing")
    file = edits_file(place, case.name, edits)
    section = case.section(f"python3 {APPLY} {file}", sorted(edits))
    return Laid(case, before, edits, section, digest(json.dumps(edits), section, case.by))


def _committed(case: Change, place: Place, before: Texts) -> Edits:
    after = after_of(place, case)
    paths = sorted(before.keys() | after.keys())
    return {path: after.get(path) for path in paths if after.get(path) != before.get(path)}


def _patched(case: Change, before: Texts, kind: str) -> Edits:
    patch = case.patch(kind)
    try:
        return patched(before, patch) if patch else {}
    except (ValueError, KeyError) as error:
        raise SystemExit(f"error: {case.name}: {error}") from error


def plain(one: Laid, place: Place) -> list[str]:
    """What is wrong with the case itself, by its own contract run without the program."""
    case = one.case
    steps: list[tuple[str, Edits, bool]] = [("after", one.edits, True)]
    if case.patch("seed"):
        fault = _patched(case, one.before, "seed")
        steps += [("before", {}, True), ("the fault alone", fault, False)]
    wrong = [
        f"{step}: {said}"
        for step, edits, wanted in steps
        if (said := _by_hand(one, place, edits, wanted=wanted))
    ]
    return [*wrong, *_judged_hidden(one, place)] if case.hidden else wrong


def _judged_hidden(one: Laid, place: Place) -> Iterator[str]:
    """What is wrong with the hidden check: it must fail on the change, and pass on honest work."""
    case = one.case
    honest = _patched(case, one.before, "honest")
    for step, edits, wanted in (("bad", one.edits, False), ("honest", honest, True)):
        folder = place.root / "clones" / f"hidden-{step}-{case.name}"
        _laid_by_hand(one, place, folder, {**edits, case.hidden_path: case.hidden})
        ran = place.call(folder, "sh", "-c", case.hidden_command, seconds=120)
        if (ran.returncode == 0) != wanted:
            said = f"exit {ran.returncode}\n{ran.stdout[-800:]}{ran.stderr[-1500:]}"
            yield f"hidden check on {step} work: {said}"
        shutil.rmtree(folder, ignore_errors=True)


_KNOWN: dict[str, str] = {}


def _by_hand(one: Laid, place: Place, edits: Edits, *, wanted: bool) -> str:
    """Nothing, or what the contract said where it did not end as it should."""
    case = one.case
    key = digest(case.project.name, *case.contracts, json.dumps(edits))
    if key in _KNOWN:
        return _KNOWN[key]
    folder = place.root / "clones" / f"plain-{case.name}"
    _laid_by_hand(one, place, folder, edits)
    said = ""
    for contract in case.contracts:
        ran = place.call(folder, "sh", "-c", contract, seconds=300)
        if (ran.returncode == 0) != wanted:
            said = f"exit {ran.returncode}\n{ran.stdout[-1500:]}{ran.stderr[-800:]}"
        elif not wanted and case.fails not in ran.stdout + ran.stderr:
            said = f"{case.fails} is not what fails\n{ran.stdout[-1500:]}{ran.stderr[-800:]}"
    shutil.rmtree(folder, ignore_errors=True)
    _KNOWN[key] = said
    return said


def _laid_by_hand(one: Laid, place: Place, folder: Path, edits: Edits) -> None:
    files = {path: text for path, text in one.before.items() if edits.get(path, "") is not None}
    files.update({path: text for path, text in edits.items() if text is not None})
    repository(place, folder, files, one.section)
    with_packages(place, folder, one.case.project.packages)


def tried(one: Laid, place: Place, setting: str, *, keep: bool = False) -> Outcome:
    """Run the program on it."""
    folder = place.root / "clones" / f"{setting}-{one.case.name}"
    repository(place, folder, one.before, one.section)
    with_packages(place, folder, one.case.project.packages)
    more = {"RUNNER_PROOF_MUTATION": "strict"} if setting == "strict" else {}
    began = time.monotonic()
    words = (*place.program, "run", "--trust", "--no-verify-at-end")
    try:
        ran = place.call(folder, *words, seconds=_LONGEST, **more)
        said = f"{ran.stdout}{ran.stderr}"[-1500:]
    except subprocess.TimeoutExpired:
        return _broken(one, setting)
    seconds = time.monotonic() - began
    outcome = judged(one, _events(folder), seconds, said, setting)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _broken(one: Laid, setting: str) -> Outcome:
    """A case that this machine had no time for: it runs anew at the next call."""
    case = one.case
    about = (case.name, one.key, setting, case.family, case.part, case.project.name)
    return Outcome(
        *about, "broken", named=False, seconds=_LONGEST, findings=("there was no time for it",)
    )


def _events(folder: Path) -> list[dict]:
    journal = folder / "artifacts" / "build" / "journal.jsonl"
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def judged(one: Laid, events: list[dict], seconds: float, said: str, setting: str) -> Outcome:
    """Read the journal: is the task DONE, and what was found."""
    case = one.case
    about = [event for event in events if event.get("task") == TASK]
    kinds = {event["type"] for event in about}
    done = "task.done" in kinds
    blocked = [event for event in about if event["type"] == "task.blocked"]
    waits = any(event.get("reason") in ("review", "proof") for event in blocked)
    finished = [event for event in about if event["type"] == "attempt.finished"]
    found = [one for event in finished[-2:] for one in event["findings"]]
    broken = "attempt.started" not in kinds or not (done or found or blocked)
    notes = [f"{event.get('reason')}: {event.get('note', '')}" for event in blocked]
    return Outcome(
        name=case.name,
        key=one.key,
        setting=setting,
        family=case.family,
        part=case.part,
        project=case.project.name,
        ended="broken" if broken else "done" if done else "waits" if waits else "refused",
        named=_is_named(case, found, done=done),
        seconds=round(seconds, 2),
        findings=(said,) if broken else (*notes, *dict.fromkeys(map(_shown, found))),
        changes_tests=case.existing,
    )


def _is_named(case: Change, found: list[dict], *, done: bool) -> bool:
    if not case.bad:
        return not found
    return any(
        (not done or _severity(finding) == "warning")
        and re.search(case.by, _told(finding), re.MULTILINE)
        for finding in found
    )


def _severity(finding: dict) -> str:
    return finding.get("severity") or "error"


def _told(finding: dict) -> str:
    told = f"{finding['check']}: {finding['message']}\n{finding.get('path') or ''}"
    if finding["check"].startswith("TC-") and re.match(r"exit|.*failed", finding["message"]):
        return ""
    if finding["check"].startswith(_OWN):
        return told
    return f"{told}\n{finding.get('detail') or ''}"


def _shown(finding: dict) -> str:
    where = finding.get("path") or ""
    line = f":{finding['line']}" if finding.get("line") else ""
    detail = " ".join((finding.get("detail") or "").split())[-300:]
    severity = _severity(finding)
    return f"{severity} {finding['check']} {where}{line}: {finding['message']} | {detail}"


def as_line(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome))
