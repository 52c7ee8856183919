"""Import another tool's tasks into the plan (`runner import`), and mark proven ones (`sync`).

An import changes no byte of the existing plan, and sets only what a closed list allows. A sync
changes only the mark's characters, and only in a file that is unchanged since it was read.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.answer.decision_record import Waive, waive
from runner.app.inspect.view import View
from runner.app.write.other_tools_files import gather, read_text
from runner.errors import ExitCode, RunnerError
from runner.model import Grade, Status
from runner.plan.document import read_plan
from runner.plan.foreign import find_form, read_foreign
from runner.plan.foreign.tasks import ForeignState, Form, NewSection, parses_back, plain_title
from runner.plan.foreign.trackers import parent_of, with_children
from runner.plan.source import line_end_of
from runner.repo.head import PLANS
from runner.report.documents import document
from runner.secrets.redact import redact
from runner.text.display import display
from runner.text.wording import join_few, plural, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.write.other_tools_files import ForeignFile
    from runner.model import Task
    from runner.plan.foreign.tasks import ForeignTask
    from runner.project import Project

WISH = "imported without output files and proof"
"""Why a task that has only a description is BLOCKED."""
MARKED = "unproven: marked as done in "
"""Prefix of a task's note if its source is marked done: a mark is typed, not proven."""


class ImportRequest(Struct, frozen=True):
    """A request to import tasks."""

    source: str
    """File, folder, address, or `-`."""
    form: Form | None = None
    test: str = ""
    """Command that tests every task with code files."""
    accept_done: bool = False
    dry_run: bool = False
    stdin: str = ""


class ImportResult(Struct, frozen=True):
    """The result of an import."""

    plan: str
    """Path of TASK-GRAPH.md, relative to the project."""
    forms: tuple[str, ...]
    added: tuple[NewSection, ...]
    known: tuple[str, ...]
    """Previously imported tasks, by ID."""
    left: tuple[tuple[str, str], ...]
    """Parts that were not imported: `FILE:LINE` and a description."""
    text: str
    """Text appended to the plan."""
    waived: tuple[str, ...] = ()

    @property
    def wishes(self) -> tuple[NewSection, ...]:
        """Those that wait for output files and a proof."""
        return tuple(one for one in self.added if one.note == WISH)

    @property
    def early(self) -> tuple[NewSection, ...]:
        """Those that are marked as done while something that they come after is not."""
        open_ = {one.id for one in self.added if one.status is not Status.DONE}
        return tuple(
            one for one in self.added if one.status is Status.DONE and open_.intersection(one.needs)
        )

    @property
    def without_proof(self) -> tuple[tuple[NewSection, str], ...]:
        """Those with files and no proof, each with the contract it could have."""
        open_ = (one for one in self.added if one.outputs and not one.test)
        return tuple((one, suggest_test(one)) for one in open_ if one.status is Status.PENDING)


def import_tasks(project: Project, request: ImportRequest) -> ImportResult:
    """Append what is new to the plan. Raises RunnerError for what cannot be read."""
    path, data = _plan_of(project)
    old = (
        *read_plan(data, path, prefixes=project.settings.build.id_prefixes).tasks,
        *_drafted(project, path),
    )
    files = gather(project.root, request.source, request.form, request.stdin)
    maker = _Maker(old, _highest(project, old), request)
    for one in files:
        maker.add(one, _tasks_of(one, maker))
    maker.add_parents()
    added = tuple(maker.finish())
    text = _appended(data, added, project.root.name)
    result = ImportResult(
        path, tuple(dict.fromkeys(str(one.form) for one in files)), added,
        tuple(maker.known), tuple(maker.left), text,
    )  # fmt: skip
    if request.dry_run or not added:
        return result
    _write(project, path, data, text)
    return replace(result, waived=_waive_done(project, added) if request.accept_done else ())


def _plan_of(project: Project) -> tuple[str, bytes]:
    """Return the plan's path and bytes; no bytes if it does not exist yet."""
    try:
        return project.plan_path, project.plan_bytes
    except RunnerError:
        named = project.settings.build.task_graph or PLANS[0]
        if (project.root / named).exists():
            raise
        return named, b""


def _drafted(project: Project, path: str) -> Iterator[Task]:
    """Yield the tasks of open drafts for this plan, whose IDs and sources are taken."""
    for one in project.state().open_drafts:
        if one.plan == path:
            yield from read_plan(one.text.encode(), "draft").tasks


def _highest(project: Project, tasks: Iterable[Task]) -> int:
    """Return the highest task number ever used; IDs are not reused."""
    drafts = (id_ for one in project.state().open_drafts for id_ in one.tasks)
    known = (*(task.id for task in tasks), *project.state().tasks, *drafts)
    numbers = (
        read_number(found[1]) for one in known if (found := re.fullmatch(r"TASK-(\d+)", one))
    )
    return max((0, *numbers))


def _tasks_of(one: ForeignFile, maker: _Maker) -> Iterator[ForeignTask]:
    plan = read_foreign(one.text, one.form)
    maker.left += ((f"{one.shown}:{line}", redact(text)) for line, text in plan.left)
    if one.form == "backlog" and (parent := parent_of(one.text)):
        maker.parents.setdefault(parent, []).append(plan.tasks[0].key)
    yield from plan.tasks


class _Maker:
    """Gives ids, and writes down each task once."""

    def __init__(self, old: Sequence[Task], highest: int, request: ImportRequest) -> None:
        self._request = request
        self._number = highest
        self._known = {(_file_of(task.source), task.title): task.id for task in old if task.source}
        self._found: list[tuple[str, ForeignFile, ForeignTask]] = []
        self._ids: dict[tuple[str, str], str] = {}
        self.known: list[str] = []
        self.left: list[tuple[str, str]] = []
        self.parents: dict[str, list[str]] = {}

    def add(self, file: ForeignFile, tasks: Iterable[ForeignTask]) -> None:
        """Add the tasks of one file, each with a new id."""
        for task in tasks:
            space = file.space
            if id_ := self._known.get((file.shown, plain_title(task.title))):
                self.known.append(id_)
            elif task.state is ForeignState.DROPPED:
                self.left.append((f"{file.shown}:{task.line}", f"{task.title}: cancelled"))
                continue
            else:
                self._number += 1
                id_ = f"TASK-{self._number:03d}"
                self._found.append((id_, file, task))
            self._ids[space, task.key] = id_

    def add_parents(self) -> None:
        """Make parents that have a file themselves depend on their children."""
        if self.parents:
            tasks = with_children([task for _, _, task in self._found], self.parents)
            pairs = zip(self._found, tasks, strict=True)
            self._found = [(id_, file, task) for (id_, file, _), task in pairs]

    def finish(self) -> Iterator[NewSection]:
        """Yield the sections in the order of the files."""
        for id_, file, task in self._found:
            section = self._section(id_, file, task)
            # Text of another tool may parse as fields, headings or blocks of a plan, and those run
            # commands.
            if parses_back(section):
                yield section
                continue
            place = f"{file.shown}:{task.line}"
            title = " ".join(re.findall(r"[\w.,-]+", section.title)) or section.id
            plain = replace(section, prose="", acceptance=(), keywords=(), title=title)
            self.left.append((place, f"{id_}: only its text, which contains plan syntax"))
            yield plain if parses_back(plain) else replace(plain, outputs=(), title=id_)

    def _section(self, id_: str, file: ForeignFile, task: ForeignTask) -> NewSection:
        needs = tuple(dict.fromkeys(self._needs(file, task)))
        is_milestone = task.is_group and bool(needs)
        outputs = () if is_milestone else task.paths
        status, note = Status.PENDING, ""
        if task.state is ForeignState.DONE:
            status, note = Status.DONE, f"{MARKED}{file.shown}"
        elif not outputs and not is_milestone:
            status, note = Status.BLOCKED, WISH
        return NewSection(
            id_, redact(task.title), status, note, f"{file.shown}:{task.line}", needs, outputs,
            acceptance=tuple(redact(one) for one in task.acceptance if one.strip()),
            keywords=tuple(one for one in task.keywords if re.fullmatch(r"[\w.-]+", one)),
            priority=task.priority,
            test=self._request.test if outputs and status is Status.PENDING else "",
            prose=redact(task.prose),
            is_milestone=is_milestone,
        )  # fmt: skip

    def _needs(self, file: ForeignFile, task: ForeignTask) -> Iterator[str]:
        for key in task.needs:
            if id_ := self._ids.get((file.space, key)):
                yield id_
            else:
                place = f"{file.shown}:{task.line}"
                self.left.append((place, f"dependency {key} not found"))


def _file_of(source: str) -> str:
    return source.rpartition(":")[0]


def suggest_test(section: NewSection) -> str:
    """Return a test contract suggested by a task's own files, or ""."""
    for path in section.outputs:
        name = path.rpartition("/")[2]
        if re.fullmatch(r"test_.*\.py|.*_test\.py", name):
            return f"python -m pytest -q {path}"
        if re.fullmatch(r".*_test\.go", name):
            return f"go test ./{path.rpartition('/')[0]}"
        if re.fullmatch(r".*\.(?:test|spec)\.[cm]?[jt]sx?", name):
            return f"npx vitest run {path}"
    return ""


# --- the file -------------------------------------------------------------------------


def _appended(data: bytes, added: Sequence[NewSection], name: str) -> str:
    """Return the text to append to a plan, in the plan's line endings."""
    end = line_end_of(data).decode()
    body = "\n".join(one.text for one in added)
    between = "\n" if data.endswith(b"\n") else "\n\n"
    return ((between if data else f"# {name}\n\n") + body).replace("\n", end)


def _write(project: Project, path: str, data: bytes, text: str) -> None:
    place = project.root / path
    whole = data + text.encode()
    if not effects.write_file(place, whole, mode=effects.mode_of(place), expected=data):
        raise RunnerError(
            f"{path} changed during the import; nothing was written",
            hint="run the same command again",
            code=ExitCode.CONFLICT,
        )


def _waive_done(project: Project, added: Sequence[NewSection]) -> tuple[str, ...]:
    done = [one for one in added if one.status is Status.DONE and not one.is_milestone]
    for one in done:
        waive(project, Waive(one.id, f"accepted as done by {_file_of(one.source)}"))
    return tuple(one.id for one in done)


def ids_by_source(tasks: Iterable[Task]) -> Mapping[str, list[Task]]:
    """Return the imported tasks of a plan by source file."""
    found: dict[str, list[Task]] = {}
    for task in tasks:
        if task.source:
            found.setdefault(_file_of(task.source), []).append(task)
    return found


def read_lines(done: ImportResult) -> Iterator[str]:
    """Yield the tasks that were read from a list that waits as a draft."""
    yield f"{', '.join(done.forms)}: {plural(len(done.added), 'task')} read"
    if done.known:
        yield f"{plural(len(done.known), 'task')} already imported: {join_few(done.known)}"
    for place, text in done.left:
        yield f"left out, {display(place)}: {display(text)}"
    yield ""


def import_document(done: ImportResult, *, wrote: bool) -> str:
    """Return the imported tasks as one JSON document."""
    suggested = {one.id: test for one, test in done.without_proof}
    return document(
        "import",
        plan=done.plan,
        forms=list(done.forms),
        wrote=wrote,
        added=[
            {
                "id": one.id,
                "title": one.title,
                "status": str(one.status),
                "source": one.source,
                "depends_on": list(one.needs),
                "output_files": list(one.outputs),
                "suggested_test": suggested.get(one.id) or None,
            }
            for one in done.added
        ],
        known=list(done.known),
        left=[{"source": place, "text": text} for place, text in done.left],
        waived=list(done.waived),
    )


def import_lines(done: ImportResult, *, is_dry: bool) -> Iterator[str]:
    """Yield the imported tasks as lines of text."""
    forms = ", ".join(done.forms)
    verb = "would be added" if is_dry else "added"
    if done.added:
        ids = f"{done.added[0].id} to {done.added[-1].id}" if done.added[1:] else done.added[0].id
        yield f"{forms}: {plural(len(done.added), 'task')} {verb} to {done.plan}, as {ids}"
    else:
        yield f"{forms}: no new tasks"
    if done.known:
        yield f"{plural(len(done.known), 'task')} already imported: {join_few(done.known)}"
    for place, text in done.left:
        yield f"left out, {display(place)}: {display(text)}"
    if wishes := [one.id for one in done.wishes]:
        verb = "lacks" if len(wishes) == 1 else "lack"
        yield f"{plural(len(wishes), 'task')} {verb} output files and tests: {join_few(wishes)}"
        yield "  add `- Output files: …` and `- Test contracts:`, and set the Status to PENDING"
    if early := [one.id for one in done.early]:
        yield f"marked as done before their dependencies: {join_few(early)}; not rebuilt"
    if open_ := done.without_proof:
        verb = "has" if len(open_) == 1 else "have"
        yield f"{plural(len(open_), 'task')} {verb} no proof (add one with --test COMMAND):"
        for one, test in open_:
            text = f"`- TC-{one.id.rpartition('-')[2]} (unit): {test}`" if test else "no test found"
            yield f"  {one.id} {display(one.title)}: {display(text)}"
    if done.waived:
        yield f"waived: {join_few(done.waived)}"
    if done.added and not is_dry:
        yield "next: runner validate"


class Drift(Struct, frozen=True):
    """A task whose status here differs from the file's."""

    task: str
    file: str
    line: int
    what: str
    """`proven here`, `marked there`, `gone there`."""
    why: str = ""


PROVEN_HERE, MARKED_THERE, GONE_THERE = "proven here", "marked there", "gone there"


class SyncResult(Struct, frozen=True):
    """Both ways of the drift, and what was written of it."""

    drifts: tuple[Drift, ...]
    files: int = 0
    """Number of files from which the plan's tasks were imported."""
    marked: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()


class _File(Struct, frozen=True):
    path: Path
    shown: str
    text: str
    pairs: tuple[tuple[Task, ForeignTask], ...]


def look(project: Project) -> SyncResult:
    """Return the differences without writing anything."""
    read = list(_read(project))
    return SyncResult(tuple(drift for _, found in read for drift in found), len(read))


def sync(project: Project, *, uncheck: bool = False) -> SyncResult:
    """Mark what is proven; with `uncheck` take marks away that nothing here proves.

    Raises RunnerError (exit 6) where a file was saved meanwhile: it is as it was saved.
    """
    drifts: list[Drift] = []
    marked: list[str] = []
    unmarked: list[str] = []
    files = list(_read(project))
    for file, found in files:
        drifts += found
        wanted = {one.task: one.what for one in found}
        edits: list[tuple[int, int, str]] = []
        for task, there in file.pairs if file else ():
            what = wanted.get(task.id)
            if there.mark and what == PROVEN_HERE:
                edits.append((there.mark.start, there.mark.end, there.mark.done))
                marked.append(task.id)
            elif there.mark and what == MARKED_THERE and uncheck:
                edits.append((there.mark.start, there.mark.end, there.mark.open))
                unmarked.append(task.id)
        if file and edits:
            _write_marks(file, edits)
    return SyncResult(tuple(drifts), len(files), tuple(marked), tuple(unmarked))


def _read(project: Project) -> Iterator[tuple[_File | None, list[Drift]]]:
    """Yield each source file of imported tasks with its drift."""
    grades = View.of(project).grades
    proven = {id_ for id_, one in grades.items() if one.grade is Grade.PROVEN}
    why = {id_: one.words for id_, one in grades.items()}
    for shown, tasks in ids_by_source(project.plan(project.plan_bytes).tasks).items():
        path = _inside(project.root, shown)
        if path is None:
            yield None, [Drift(one.id, shown, 0, GONE_THERE, "file not found") for one in tasks]
            continue
        text = read_text(path)
        form = find_form(text)
        there = read_foreign(text, form).tasks if form else ()
        pairs = tuple(_match(tasks, there))
        known = {task.id for task, _ in pairs}
        found = [Drift(one.id, shown, 0, GONE_THERE) for one in tasks if one.id not in known]
        for task, one in pairs:
            is_marked = one.state is ForeignState.DONE
            if task.id in proven and not is_marked and one.state is ForeignState.OPEN:
                found.append(Drift(task.id, shown, one.line, PROVEN_HERE))
            elif is_marked and task.id not in proven:
                note = why.get(task.id, f"it is {task.status}")
                found.append(Drift(task.id, shown, one.line, MARKED_THERE, note))
        yield _File(path, shown, text, pairs), found


def _inside(root: Path, shown: str) -> Path | None:
    """Return the project file that a Source names; None for links and files below `.git`."""
    path = root / shown
    parts = path.relative_to(root).parts if path.is_relative_to(root) else ("..",)
    steps = [root.joinpath(*parts[: at + 1]) for at in range(len(parts))]
    if ".." in parts or ".git" in parts or any(one.is_symlink() for one in steps):
        return None
    return path if path.is_file() else None


def _match(
    tasks: Sequence[Task], there: Iterable[ForeignTask]
) -> Iterator[tuple[Task, ForeignTask]]:
    """Yield pairs of tasks and foreign tasks, matched by line and title or by unique title."""
    by_title: dict[str, list[ForeignTask]] = {}
    for one in there:
        by_title.setdefault(plain_title(one.title), []).append(one)
    for task in tasks:
        same = by_title.get(task.title, [])
        line = task.source.rpartition(":")[2]
        exact = [one for one in same if str(one.line) == line]
        # Two tasks share the title and neither is on that line: a wrong mark would claim a proof.
        if len(exact or same) == 1:
            yield task, (exact or same)[0]


def _write_marks(file: _File, edits: Iterable[tuple[int, int, str]]) -> None:
    parts: list[str] = []
    position = 0
    for start, end, word in sorted(edits):
        parts += (file.text[position:start], word)
        position = end
    parts.append(file.text[position:])
    old = file.text.encode("utf-8", "surrogateescape")
    new = "".join(parts).encode("utf-8", "surrogateescape")
    mode = file.path.stat().st_mode & 0o7777
    if not effects.write_file(file.path, new, mode=mode, expected=old):
        raise RunnerError(
            f"{file.shown} changed during the sync; it was not written",
            hint="runner sync",
            code=ExitCode.CONFLICT,
        )


def drift_lines(found: SyncResult) -> Iterator[str]:
    """Yield where the marks of another tool differ from the proven state."""
    if not found.files:
        yield "no task of this plan was imported: runner import PATH"
    elif not found.drifts:
        yield "the imported files agree with the plan"
    for one in found.drifts:
        place = f"{display(one.file)}:{one.line}" if one.line else display(one.file)
        why = f" ({display(one.why)})" if one.why else ""
        yield f"{one.task} {one.what}{why}: {place}"
