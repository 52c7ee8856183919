"""`runner import --draft`: have files and tests proposed for tasks of another tool's list.

The list's own words stay: id, title, source and order are not the drafter's to say, and its
criteria only grow. What it could not name stays as a plain import has it. All of it waits as one
draft, so that a crash or a person's no leaves the plan as it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.app.draft.draft_checks import DraftCheck, Target, find_new_problems
from runner.app.draft.draft_prompt import compose_import_question
from runner.app.draft.drafting import (
    Drafted,
    estimate,
    ids_in_use,
    open_rounds,
    propose,
    require_drafter,
    require_drafter_trust,
)
from runner.app.inspect.repository_analysis import analyse
from runner.app.write.import_tasks import ImportRequest, import_tasks
from runner.errors import RunnerError
from runner.journal.session_events import DraftProposed
from runner.model import Status, digest_of
from runner.plan.document import read_plan
from runner.plan.drafted_sections import DraftReading, Remark, number_items, read_draft
from runner.plan.foreign.tasks import parses_back, plain_title
from runner.report.cost import together
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runner.app.inspect.repository_analysis import Analysis
    from runner.app.observer import Observer
    from runner.app.write.import_tasks import ImportResult
    from runner.model import Usage
    from runner.plan.foreign.tasks import NewSection
    from runner.project import Project
    from runner.run.review import Asker

BATCH = 20
"""Tasks in one request."""


class DraftedImport(Struct, frozen=True):
    """The result of importing another tool's list."""

    read: ImportResult
    drafted: Drafted | None
    """None if every task already has a proof, so that no program was called."""


def draft_import(
    project: Project,
    request: ImportRequest,
    observer: Observer,
    asker: Asker | None = None,
    *,
    trusted: bool = False,
    reason: str = "",
) -> DraftedImport:
    """Read a list, ask for what its open tasks lack, and have the whole wait.

    Raises RunnerError as an import and a draft do.
    """
    read = import_tasks(project, replace(request, dry_run=True))
    lacking = (*read.wishes, *(one for one, _ in read.without_proof))
    if not lacking:
        return DraftedImport(read, None)
    drafter = require_drafter(project)
    target = Target.of(project)
    plan = read_plan(target.data, target.path, prefixes=project.settings.build.id_prefixes)
    again = "runner import --draft --trust …"
    require_drafter_trust(project, plan, asker, trusted=trusted, again=again)
    wanted = {one.id for one in lacking}
    sections = {one.id: one for one in read.added}
    asked = [one for one in read.added if one.id in wanted]
    taken_out: list[str] = []
    usages: list[Usage] = []
    rounds = 0
    mistakes: tuple[Remark, ...] = ()
    refused: list[str] = []
    found = analyse(project)
    with open_rounds(project, drafter, observer) as made:
        for at in range(0, len(asked), BATCH):
            batch = asked[at : at + BATCH]
            subject = _Batch(project, found, target, sections, batch, reason)
            reading, checked, times, usage = made.go(subject)
            rounds, usages = rounds + times, [*usages, usage]
            if wrong := (*reading.mistakes, *checked.mistakes):
                # Its tasks stay as imported; the results of other batches are kept.
                mistakes = wrong
                refused += [one.id for one in batch]
                continue
            sections.update((one.id, one) for one in reading.sections)
            taken_out += map(str, reading.taken_out)
    filled = [id_ for id_ in wanted if sections[id_].proofs]
    if not filled:
        return DraftedImport(read, Drafted(None, mistakes or _nothing_named(), rounds))
    text = "\n".join(one.text for one in sections.values())
    event = DraftProposed(
        number=0,
        plan=target.path,
        text=text,
        digest=digest_of(text.encode()),
        tasks=tuple(sections),
        wish=f"the tasks of {request.source}",
        source=request.source,
        asked=tuple(f"{one.title} ({one.source})" for one in asked),
        covered_by=tuple(one.id if sections[one.id].proofs else "" for one in asked),
        taken_out=tuple(taken_out),
        notes=(*_notes(sections, wanted, refused, mistakes), *estimate(project, len(filled))),
        rounds=rounds,
        by=drafter.name,
        usage=together(usages),
        imported=read.forms[0],
    )
    return DraftedImport(read, Drafted(propose(project, event), (), rounds))


def redraft_import(
    project: Project,
    refused: DraftProposed,
    reason: str,
    observer: Observer,
    asker: Asker | None = None,
) -> Drafted:
    """Ask anew about the file of a draft that a person refused, with the reason."""
    if refused.source == "-":
        raise RunnerError(
            "rejected, but not drafted again: its list came from standard input",
            hint="runner import - --draft < LIST",
        )
    came = draft_import(project, ImportRequest(refused.source), observer, asker, reason=reason)
    return came.drafted or Drafted(None, _nothing_named())


def _nothing_named() -> tuple[Remark, ...]:
    return (
        Remark(
            1,
            "no task got output files and a proof",
            "import without --draft, then add them to the plan",
        ),
    )


def _notes(
    sections: Mapping[str, NewSection],
    wanted: set[str],
    refused: Sequence[str],
    mistakes: Sequence[Remark],
) -> tuple[str, ...]:
    done = [one.id for one in sections.values() if one.status is Status.DONE]
    left = [id_ for id_ in sections if id_ in wanted and not sections[id_].proofs]
    notes = []
    if done:
        notes.append(
            f"{join_few(done)}: marked as done in the list, so unproven here and not drafted"
        )
    if left:
        notes.append(f"{join_few(left)}: left as imported, without a proof")
    if refused:
        first = f"; the first problem: {mistakes[0]}" if mistakes else ""
        notes.append(f"answers for {plural(len(refused), 'task')} were not usable{first}")
    return tuple(notes)


class _Batch(Struct):
    """Some tasks of a list that lack files or a proof."""

    project: Project
    found: Analysis
    target: Target
    sections: Mapping[str, NewSection]
    """All sections of the list, with the results of earlier batches."""
    batch: Sequence[NewSection]
    reason: str

    def question(self) -> str:
        return compose_import_question(
            self.found, self.target.path, list(self.sections.values()), self.batch, self.reason
        )

    def read(self, answer: str) -> DraftReading:
        """Parse the answer's sections and merge them with the imported tasks."""
        plan = read_plan(self.target.data, self.target.path)
        ours = {one.id: one for one in self.batch}
        taken = ids_in_use(self.project, self.target, plan) | self.sections.keys()
        reading = read_draft(answer, taken - ours.keys())
        none = {request.strip("` ") for request, ids in reading.asked if not ids}
        mistakes, taken_out, merged = list(reading.mistakes), list(reading.taken_out), []
        for one in reading.sections:
            if (own := ours.get(one.id)) is None:
                why = f"{one.id} is not a task of the request"
                mistakes.append(
                    Remark(reading.line_of(one.id), why, "answer only for tasks of the request")
                )
                continue
            if plain_title(one.title) != plain_title(own.title):
                taken_out.append(Remark(reading.line_of(one.id), f"a different title for {one.id}"))
            whole = _lay_over(own, one, self.sections)
            merged.append(whole)
            if not parses_back(whole):
                why = f"Markdown in the text of {one.id} changes its fields"
                mistakes.append(Remark(reading.line_of(one.id), why, "use plain words and paths"))
        there = {one.id for one in merged}
        for id_ in ours.keys() - there - none:
            why = f"{id_} is not in the answer"
            mistakes.append(Remark(1, why, f"add it, or `- {id_}: none` in the `asked` block"))
        for found in (mistakes, taken_out):
            found.sort(key=lambda one: (one.line, one.text))
        return replace(
            reading,
            sections=tuple(merged),
            mistakes=tuple(mistakes),
            taken_out=tuple(taken_out),
        )

    def check(self, reading: DraftReading) -> DraftCheck:
        """Return the problems that `validate` finds only with the answer in the list."""
        before = "\n".join(one.text for one in self.sections.values())
        after = {**self.sections, **{one.id: one for one in reading.sections}}
        whole = "\n".join(one.text for one in after.values())
        return find_new_problems(self.project, self.target, reading, before, whole)


def _lay_over(own: NewSection, drafted: NewSection, known: Mapping[str, NewSection]) -> NewSection:
    """Return an imported task merged with dependencies, outputs and tests from the draft."""
    needs = (*own.needs, *(one for one in drafted.needs if one in known and one != own.id))
    return replace(
        own,
        status=Status.PENDING,
        note="",
        needs=tuple(dict.fromkeys(needs)),
        outputs=tuple(dict.fromkeys((*own.outputs, *drafted.outputs))),
        inputs=drafted.inputs,
        acceptance=number_items((*own.acceptance, *drafted.acceptance)),
        tests=drafted.proofs,
        type=drafted.type,
        is_milestone=False,
    )
