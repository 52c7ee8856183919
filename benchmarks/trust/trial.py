"""One case, run by the real program in a fresh clone; what became of it."""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from grounds import HERE, digest, files_of, ground, tasks_in

if TYPE_CHECKING:
    from pathlib import Path

    from cases import Case
    from grounds import Place

_PLAN_IS_WRONG = 2
_FENCE = "`" * 12


@dataclass(frozen=True)
class Laid:
    """A case, ready to be run in a clone."""

    case: Case
    source: Path
    section: str
    task: str
    key: str
    """Changes with all that the case is made of."""
    gone: tuple[str, ...] = ()
    """Files that a person takes away: then no contract of the plan names them any more."""


@dataclass(frozen=True)
class Result:
    """What became of a case."""

    name: str
    key: str
    half: str
    bad: bool
    ended: str
    """`done`, `refused`, or `broken` where the program itself gave way."""
    named: bool
    """Whether a finding names the fault; of a good case: nothing warns."""
    seconds: float
    findings: tuple[str, ...]
    """`severity check path: message` of each."""
    warns: str = ""

    @property
    def missed(self) -> bool:
        """A fault that became DONE and of which nobody was told as the design says."""
        return self.bad and self.ended == "done" and not (self.warns and self.named)

    @property
    def wrong(self) -> bool:
        """A miss, a false alarm, or a crash."""
        return self.ended == "broken" or self.missed or (not self.bad and self.ended != "done")


def laid(case: Case, place: Place) -> Laid:
    """Work out what the case writes; a case whose edits do not fit is an error here."""
    source = ground(place, case.ground)
    files = files_of(place, source)
    edits = case.edit(files)
    if not edits:
        raise SystemExit(f"error: {case.name} changes nothing")
    file = place.root / "edits" / f"{case.name}.json"
    text = json.dumps(edits, indent=1)
    file.write_text(text, encoding="utf-8")
    number = tasks_in(files) + 1
    by_command = [f"- Command: `python3 {HERE / 'apply.py'} {file}`"]
    section = case.section(number, blocks(edits) if case.by_person else by_command)
    key = digest(text, section, case.by, case.warns)
    gone = tuple(path for path, text in edits.items() if text is None and case.by_person)
    return Laid(case, source, section, f"TASK-{number:03d}", key, gone)


def blocks(edits: dict[str, str | None]) -> list[str]:
    """The files as blocks of the plan."""
    lines = []
    for path, text in edits.items():
        gone = " delete" if text is None else ""
        inside = (text or "").removesuffix("\n").split("\n") if text else []
        lines += ["", f"{_FENCE}text file={path}{gone}", *inside, _FENCE]
    return lines


def clone(one: Laid, place: Place) -> Path:
    """A clone with the new task in its plan; it has the commits' evidence and no journal."""
    folder = place.root / "clones" / one.case.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(exist_ok=True)
    place.must(place.root, "git", "clone", "-q", str(one.source), str(folder))
    plan = folder / "TASK-GRAPH.md"
    lines = plan.read_text(encoding="utf-8").rstrip().splitlines()
    for at, line in enumerate(lines):
        if line.startswith("  - TC-"):
            for path in one.gone:
                lines[at] = lines[at].replace(f" {path}", "")
    plan.write_text("\n".join([*lines, "", one.section]))
    place.must(folder, "git", "commit", "-q", "-a", "-m", f"docs: {one.task} is planned")
    return folder


def tried(one: Laid, place: Place, *, keep: bool = False) -> Result:
    """Run the program on it."""
    folder = clone(one, place)
    began = time.monotonic()
    ran = place.runner(folder, "run", "--trust", "--no-verify-at-end")
    seconds = time.monotonic() - began
    said = f"{ran.stdout}{ran.stderr}"[-1500:]
    mistaken = ran.returncode == _PLAN_IS_WRONG
    result = judged(one, _events(folder), seconds, said, mistaken=mistaken)
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def _events(folder: Path) -> list[dict]:
    journal = folder / "artifacts" / "build" / "journal.jsonl"
    if not journal.exists():
        return []
    return [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]


def judged(one: Laid, events: list[dict], seconds: float, said: str, *, mistaken: bool) -> Result:
    """Read the journal: is the task DONE, and what was found.

    `mistaken`: the plan itself was refused, before anything ran.
    """
    about = [event for event in events if event.get("task") == one.task]
    done = any(event["type"] == "task.done" for event in about)
    finished = [event for event in about if event["type"] == "attempt.finished"]
    found = finished[-1]["findings"] if finished else []
    tried_it = any(event["type"] == "attempt.started" for event in about)
    mistaken = mistaken and not tried_it
    broken = not mistaken and (not (done or found) or not tried_it)
    shown = tuple(_shown(finding) for finding in found)
    case = one.case
    return Result(
        name=case.name,
        key=one.key,
        half=case.half,
        bad=case.bad,
        ended="broken" if broken else "done" if done else "refused",
        named=_is_named(case, found, done=done) or (mistaken and bool(re.search(case.by, said))),
        seconds=round(seconds, 2),
        findings=(said,) if broken or mistaken else shown,
        warns=case.warns,
    )


def _is_named(case: Case, found: list[dict], *, done: bool) -> bool:
    if not case.bad:
        return not any(finding.get("severity", "error") == "warning" for finding in found)
    wanted = "warning" if done else "error"
    return any(
        finding.get("severity", "error") == wanted
        and re.search(case.by, f"{finding['check']}: {finding['message']}\n{finding.get('detail')}")
        for finding in found
    )


def _shown(finding: dict) -> str:
    where = finding.get("path") or ""
    line = f":{finding['line']}" if finding.get("line") else ""
    severity = finding.get("severity", "error")
    detail = " ".join((finding.get("detail") or "").split())[-300:]
    return f"{severity} {finding['check']} {where}{line}: {finding['message']} | {detail}"


def as_line(result: Result) -> str:
    return json.dumps(asdict(result))
