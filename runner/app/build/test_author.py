"""Have a separate author write a task's tests before the task starts.

The author works in a scratch repository of its own, which is deleted once the files are in the
store. The runner checks the tests and writes one contract and the files' digests into the plan.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from runner import effects
from runner.app.build.preconditions import require_trust
from runner.app.build.session import Session
from runner.app.gate.test_suite import join_command
from runner.app.inspect.test_frameworks import NO_COMMAND, find_by_file
from runner.config.stack import detect_stack
from runner.context.brief import Brief
from runner.context.gather import surroundings_at
from runner.context.tree import Tree, fence
from runner.errors import ExitCode, RunnerError
from runner.gates.base import Check, command_limits
from runner.gates.check_run import try_check
from runner.gates.test_paths import holds_tests
from runner.held_out.author import AuthorAnswer, find_misplaced, is_red, parse_answer
from runner.held_out.part import needs_author
from runner.held_out.store import FileRecord, make_store_id
from runner.held_out.workspace import open_folder
from runner.implementers.agents.program import AgentProgram
from runner.implementers.base import Drafter, ImplementerContext, Mode
from runner.implementers.registry import choose
from runner.journal.events import TaskApproved, TaskBlocked
from runner.journal.session_events import AuthorFinished
from runner.model import (
    Ending,
    Finding,
    HeldOutFile,
    Level,
    Outcome,
    Reason,
    ReviewMode,
    Status,
    TestContract,
    Usage,
    digest_of,
)
from runner.model.work import items_of
from runner.plan.held_out import HeldOutLines, write_held_out
from runner.process.sandbox import sandbox_of
from runner.repo.proposal_bounds import ProposalError
from runner.run.acceptance_review import find_object
from runner.run.attempt import make_write_context
from runner.run.limits.budget import RunBudget
from runner.run.proof.prove import make_gate_context
from runner.run.selection import select_ids
from runner.run.worker_assignment import Assignment
from runner.run.worker_setup import WorkerSetup
from runner.run.workers import WorkerPool
from runner.secrets.redact import redact
from runner.text.display import display
from runner.writes.pipeline import WriteRules, admit_writes, compile_writes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.app.build.build_request import BuildRequest
    from runner.app.inspect.test_frameworks import TestFramework
    from runner.app.observer import Observer
    from runner.held_out.store import HeldOutStore
    from runner.journal.state import RunState
    from runner.model import Task
    from runner.project import Project, Reading
    from runner.run.review import Asker
    from runner.run.worker_assignment import WorkerContext

REPAIRS = 2
"""How often work is sent back to its author."""
_PROMPT = Path(__file__).parents[2] / "run" / "prompts" / "write_tests.md"
_SHOWN = 20_000
"""Characters of signatures that an author sees."""


class Authored(NamedTuple):
    """An author's tests, checked."""

    files: dict[str, bytes]
    items: dict[str, tuple[str, ...]]
    held_before: tuple[str, ...]
    """IDs of tests that already pass on the base."""
    command: str


@cache
def load_prompt() -> str:
    """Return the author's prompt, a file of the product with a version."""
    return _PROMPT.read_text(encoding="utf-8")


def find_due(
    project: Project, reading: Reading, request: BuildRequest, tried: frozenset[str]
) -> frozenset[str]:
    """Return the chosen tasks whose author can start.

    It writes tests once all that the task needs is DONE, if it was not tried, and gets the mutants
    that survive these tests.
    """
    state = project.state()
    chosen = select_ids(request.chosen, reading.graph, reading.graph.ids)
    tasks = [task for task in reading.plan.tasks if task.id in chosen]
    first = {one.id for one in tasks if needs_author(one) and _is_due(one, reading, state)}
    return frozenset(first - tried) | {one.id for one in tasks if _gets_mutants(one, state)}


def _gets_mutants(task: Task, state: RunState) -> bool:
    known = state.task(task.id)
    held = known.held is not None and known.held.kind == Reason.TEST_AUTHOR
    return held and known.status is Status.BLOCKED


def _is_due(task: Task, reading: Reading, state: RunState) -> bool:
    known = state.task(task.id)
    waits = known.status is Status.BLOCKED and known.reason is Reason.TEST_AUTHOR
    done = all(state.task(one).status is Status.DONE for one in reading.graph.dependencies(task.id))
    return done and (waits or known.status in (Status.PENDING, Status.STALE))


def write_missing_tests(
    project: Project,
    reading: Reading,
    request: BuildRequest,
    due: frozenset[str],
    observer: Observer,
    asker: Asker | None,
) -> None:
    """Write missing tests of the due tasks in separate sessions and add them to the plan."""
    again = request.trust_command
    require_trust(project, reading.plan, trusted=request.trusted, asker=asker, again=again)
    tasks = [task for task in reading.plan.tasks if task.id in due]
    with Session(project, reading.plan.tasks, (observer.hear,)) as session:
        for task in tasks:
            if _gets_mutants(task, session.journal.state):
                _return_mutants(session, task, observer, asker)
                continue
            observer.say(f"{task.id}: {task.test_author} writes its tests")
            if why := _Author(session, task, observer, asker).work():
                event = TaskBlocked(reason=Reason.TEST_AUTHOR, note=why)
                session.journal.note(event, task=task.id, durable=True)
                observer.say(f"{task.id} waits: {why}")


def _return_mutants(session: Session, task: Task, observer: Observer, asker: Asker | None) -> None:
    """Ask the author for tests that kill surviving mutants; the task continues in any case."""
    held = session.journal.state.task(task.id).held
    mutants = session.project.held_out.store.read_survivors(task.id, held.tree if held else "")
    # Record first: a call cut off by a crash is not repeated.
    event = TaskApproved(by="runner", note="its test author writes tests for surviving mutants")
    session.journal.note(event, task=task.id, durable=True)
    session.project.held_out.store.drop_survivors(task.id)
    observer.say(f"{task.id}: {task.test_author} writes tests for surviving mutants")
    if mutants and (why := _Author(session, task, observer, asker, mutants).work()):
        kept = f"no tests were added for surviving mutants: {why}"
        session.journal.note(TaskApproved(by="runner", note=kept), task=task.id)
        observer.say(f"{task.id}: {kept}")


class WaitsError(Exception):
    """The reason why a task waits for its tests; a value."""


class _Author(Struct):
    """One task's author, from the first question to the plan's new lines."""

    session: Session
    task: Task
    observer: Observer
    asker: Asker | None
    mutants: str = ""
    """Mutants that survive the author's tests; empty if it wrote none."""

    def work(self) -> str:
        """Return why the task waits; empty where its tests are in the store and in the plan."""
        try:
            drafter, left = self._choose()
            with self._open_slot() as site:
                self._author(site, drafter, left)
        except WaitsError as waits:
            return str(waits)
        except RunnerError as error:
            return error.message
        except KeyboardInterrupt:
            raise RunnerError(
                f"the tests of {self.task.id} were not written: the run was stopped",
                hint="run the same command again",
                code=ExitCode.INTERRUPTED,
            ) from None
        return ""

    # --- before it starts -------------------------------------------------------------

    def _choose(self) -> tuple[Drafter, RunBudget]:
        """Return the author's implementer; raise WaitsError where it cannot start."""
        project, task = self.session.project, self.task
        if not items_of(task):
            raise WaitsError(
                "the field Test author needs Acceptance items with IDs, such as `A1: …`"
            )
        chosen = choose(replace(task, implementer=task.test_author, model=""), project.settings)
        if isinstance(chosen, Finding):
            raise WaitsError(chosen.message)
        if not chosen.is_agent or not isinstance(chosen, Drafter):
            raise WaitsError(f"{chosen.name} cannot write tests; name an agent or a model")
        if isinstance(chosen, AgentProgram):
            lacks = chosen.lacks_program(project.environ, project.root)
            if lacks is not None:
                raise WaitsError(lacks.message)
        if self._is_shown_first and self.asker is None:
            raise WaitsError("its tests need your review: run `runner` in a terminal")
        budget = RunBudget.at(
            self.session.journal, project.settings, {task.id: task}, self.observer.say
        )
        if used := budget.find_exhausted(task, self.session.journal.state.task(task.id)):
            raise WaitsError(f"its budget is used up: {used}")
        return chosen, budget

    @property
    def _is_shown_first(self) -> bool:
        mode = self.session.project.settings.review_of(self.task.review, ReviewMode.OFF)
        return mode is ReviewMode.PROMPT

    @contextmanager
    def _open_slot(self) -> Iterator[WorkerContext]:
        """Yield a scratch repository that every other sandbox masks and that goes at once."""
        project = self.session.project
        with open_folder(project.held_out.workspaces) as folder:
            setup = WorkerSetup(
                root=project.root,
                repository=self.session.repository,
                cache=folder,
                settings=project.settings,
                sandbox=sandbox_of(project.settings, project.environ),
                environ=project.environ,
                say=self.observer.progress,
            )
            workers = WorkerPool(1, setup.site, inline=True)
            try:
                site = setup.site(0, workers)
                try:
                    yield site
                finally:
                    site.close()
            finally:
                workers.close()

    # --- its work ---------------------------------------------------------------------

    def _author(self, site: WorkerContext, drafter: Drafter, budget: RunBudget) -> None:
        """Ask, check, ask again with what is wrong, then keep what passes."""
        journal, usage = self.session.journal, Usage()
        base = self.session.head().commit or ""
        framework = self._find_framework(base)
        store = self._open_store()
        store.keep_refusal(self.task.id, ())
        own = store.read_all(self.task) if self.mutants else {}
        question, wrong = self._compose(base, framework, own), ""
        for number in range(REPAIRS + 1):
            site.reset(base)
            left = budget.allowance(self.task, journal.state.task(self.task.id))
            log, name = store.results_of(self.task.id), "mutants" if self.mutants else "tests"
            context = ImplementerContext(
                place=site.place,
                sandbox=site.sandbox,
                limits=command_limits(self.task, site.settings),
                environment=site.base_environment,
                tell=lambda line: self.observer.progress(self.task.id, line),
                cancelled=site.cancelled,
                log=log / "author" / f"{name}-{number + 1}.log" if log else None,
                network=site.settings.network_for(self.task.network),
                left=left,
                mode=Mode.AUTHOR,
            )
            text = question + (_REPAIR.format(wrong=wrong) if wrong else "")
            brief = Brief(self.task, number + 1, (), (), "", redact(text))
            answer = drafter.answer(brief, context)
            usage += answer.result.usage
            if answer.result.findings:
                self._note(drafter, Usage() + usage, None, number)
                failed = answer.result.findings[0]
                advice = failed.hint and f" ({failed.hint})"
                what = f"{drafter.name} did not write its tests{advice}"
                raise self._refuse(store, what, [failed.message])
            found = self._check(site, base, framework, answer.text, own)
            if isinstance(found, Authored):
                self._note(drafter, usage, found, number)
                self._show_first(found)
                self._keep(store, found)
                return
            wrong = "\n".join(f"- {one}" for one in found)
        self._note(drafter, usage, None, REPAIRS)
        raise self._refuse(
            store, f"its tests are still wrong after {REPAIRS} repairs", wrong.splitlines()
        )

    def _refuse(self, store: HeldOutStore, what: str, why: list[str]) -> WaitsError:
        """Return a reason without a word of the draft; the details stay in the store."""
        store.keep_refusal(self.task.id, why)
        return WaitsError(f"{what}; for details: runner hold-out --show {self.task.id}")

    def _find_framework(self, base: str) -> TestFramework:
        """Return what runs the project's tests; raise WaitsError where that is not known."""
        project = self.session.project
        tree = Tree.of(self.session.repository, base, project.settings)
        found = find_by_file(tree, detect_stack(project.root))
        if found is None:
            raise WaitsError(NO_COMMAND)
        return found

    def _compose(self, base: str, framework: TestFramework, own: Mapping[str, bytes]) -> str:
        """Return all that an author sees: the task, its items, and signatures it builds on.

        Of the work it sees the lines of mutants that survive, and beside them its `own` tests.
        """
        project, task = self.session.project, self.task
        around = surroundings_at(project.root, base, task, project.settings)
        listed = "\n".join(around.index)[:_SHOWN]
        items = "\n".join(f"- {id_}: {display(text)}" for id_, text in items_of(task).items())
        parts = (
            load_prompt(),
            f"# {display(task.id)}: {display(task.title)}\n\n{display(task.prose, lines=True)}",
            f"# Acceptance items\n\n{items}",
            "# Files that the implementer will write\n\n"
            + "\n".join(f"- `{display(one)}`" for one in task.outputs),
            f"# What runs the tests\n\n`{framework.command}` with the paths of your files",
            f"# Existing names (path | names | lines)\n\n{fence(listed)}" if listed else "",
            *(
                f"# Your test file `{display(path)}`\n\n{fence(text.decode('utf-8', 'replace'))}"
                for path, text in own.items()
            ),
            _MUTANTS.format(mutants=fence(self.mutants)) if self.mutants else "",
        )
        return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"

    # --- the check --------------------------------------------------------------------

    def _check(
        self,
        site: WorkerContext,
        base: str,
        framework: TestFramework,
        text: str,
        own: Mapping[str, bytes],
    ) -> Authored | list[str]:
        """Return the tests, or what is wrong with them, a line each."""
        try:
            changes = site.scratch.snapshot().changes
        except ProposalError as error:
            return [error.message]
        answer = json.loads(find_object(text) or "null")
        parsed, wrong = parse_answer(answer, items_of(self.task), adds=bool(own))
        wrong += find_misplaced(changes, own, self._list_taken())
        files = {one.path: one.content or b"" for one in changes}
        if not wrong and set(parsed.files) != files.keys():
            wrong.append(f"`files` must list exactly what you created: {', '.join(sorted(files))}")
        if wrong or not files:
            return wrong or Authored({}, {}, (), "")
        tests = [path for path in files if holds_tests(path)]
        command = join_command(framework, tuple(sorted(tests)))
        assignment = self._assignment(base, tuple(files), command)
        outcome = Outcome(self.task.id, 0, Ending.FAILED, base, tree="", changes=changes)
        judged = make_write_context(assignment, site, outcome)
        compiled = admitted = admit_writes(changes, assignment.rules, judged)
        if admitted.clean:
            compiled = compile_writes(admitted, assignment.rules, judged)
        refused = [one for one in compiled.findings if one.refuses]
        if refused:
            return [f"{one.path}: {one.message}" for one in refused]
        return self._run_on_base(site, assignment, outcome, parsed, command)

    def _list_taken(self) -> dict[str, str]:
        """Return by path the task that writes a file of the plan, or whose tests it has."""
        return {
            path.removeprefix("./"): one.id
            for one in self.session.project.check().plan.tasks
            for path in (*one.outputs, *(file.path for file in one.held_out_files))
        }

    def _run_on_base(
        self,
        site: WorkerContext,
        assignment: Assignment,
        outcome: Outcome,
        parsed: AuthorAnswer,
        command: str,
    ) -> Authored | list[str]:
        """Run the tests where nothing is implemented: of each file one must fail."""
        check = Check("TC-author", "test", command, command_limits(self.task, site.settings))
        context = replace(make_gate_context(assignment, site, outcome), on_base=None)
        store = self._open_store()
        if (folder := store.results_of(self.task.id)) is not None:
            context = replace(context, logs=folder)
        ran = try_check(replace(check, named=True), context)
        tests = ran.results.tests if ran.results else ()
        files = {one.path: one.content or b"" for one in outcome.changes}
        wrong = [
            f"{path}: none of its tests fails yet, and no import is missing"
            for path in files
            if holds_tests(path) and not is_red(path, tests, ran.ran.tail, self.task)
        ]
        named = {test.id.partition("[")[0] for test in tests if not test.unloaded}
        loaded = {test.id.partition("::")[0] for test in tests if not test.unloaded}
        wrong += [
            f"{item}: unknown test {one}"
            for item, ids in parsed.items.items()
            for one in ids
            if one.partition("::")[0] in loaded and one.partition("[")[0] not in named
        ]
        if wrong:
            return wrong
        before = tuple(test.id for test in tests if test.outcome == "passed")
        return Authored(files, parsed.items, before, command)

    def _assignment(self, base: str, outputs: tuple[str, ...], command: str) -> Assignment:
        """Return what write pipeline and gates need to know of the author's files."""
        contract = TestContract("TC-author", Level.UNIT, command)
        task = replace(self.task, outputs=outputs, test_contracts=(contract,), gates=())
        run = self.session.journal.run
        return Assignment(
            task=task,
            attempt=0,
            base=base,
            brief=Brief(task, 0, (), (), "", ""),
            rules=WriteRules(run=run, task=task.id, attempt=0, outputs=outputs),
            implementer=None,
            review=ReviewMode.OFF,
        )

    # --- what is kept -----------------------------------------------------------------

    def _show_first(self, found: Authored) -> None:
        """Show a person the tests, where they review the task's writes; raise WaitsError."""
        if not self._is_shown_first or self.asker is None or not found.files:
            return
        shown = [
            f"{path}\n{display(content.decode('utf-8', 'replace'), lines=True)}"
            for path, content in found.files.items()
        ]
        text = "\n".join([f"{self.task.id}: tests by {self.task.test_author}", *shown])
        if self.asker.choose(text, "hold out these tests? [y]es, or [n]o ")[:1] != "y":
            raise WaitsError("you did not accept its tests; run `runner` for new ones")

    def _open_store(self) -> HeldOutStore:
        project = self.session.project
        if not project.settings.proof.held_out_dir:
            make_store_id(self.session.repository.folders.common)
            project.__dict__.pop("held_out", None)  # it is read again, with the id
        return project.held_out.store

    def _keep(self, store: HeldOutStore, found: Authored) -> None:
        """Save the files to the store first, then add the lines to the plan."""
        project, task = self.session.project, self.task
        if not found.files:
            return
        is_open = project.settings.proof.test_visibility == "visible"
        if self.mutants:  # what its first tests are, these are as well
            is_open = not task.held_out_contracts
        for path, content in found.files.items():
            held = tuple(one for one in found.held_before if one.startswith(path))
            items = tuple(
                (item, mine)
                for item, ids in found.items.items()
                if (mine := tuple(one for one in ids if one.startswith(path)))
            )
            record = FileRecord(held_before=held, items=items)
            store.put(task.id, path, content, record)
        made = (HeldOutFile(path, digest_of(text)) for path, text in sorted(found.files.items()))
        files = (*task.held_out_files, *made)
        reading = project.check()
        now = next((one for one in reading.plan.tasks if one.id == task.id), None)
        if now is None or now.spec.what != task.spec.what:
            raise WaitsError("the plan changed while its tests were written; run `runner` again")
        numbers = [
            int(match[1])
            for one in reading.plan.tasks
            for contract in one.test_contracts
            if (match := re.fullmatch(r"TC-(\d{1,6})", contract.id))
        ]
        contract = f"TC-{max(numbers, default=0) + 1:03d}"
        level = "unit" if is_open else "unit, held out"
        lines = HeldOutLines(files, add=((contract, found.command),), level=level)
        prefixes = project.settings.build.id_prefixes
        data = write_held_out(reading.data, task.id, lines, prefixes)
        file = project.root / project.plan_path
        if not effects.write_file(file, data, expected=reading.data):
            raise WaitsError("the plan changed while its tests were written; run `runner` again")
        if store.was_enclosed(task.id, sorted(one.digest for one in task.held_out_files)):
            # The new files are newer than every attempt.
            store.note_attempt(task.id, sorted(one.digest for one in files), enclosed=True)

    def _note(self, drafter: Drafter, usage: Usage, found: Authored | None, repairs: int) -> None:
        """Record only counts in the journal; names and bytes stay in the store."""
        tests = len({one for ids in found.items.values() for one in ids}) if found else 0
        event = AuthorFinished(
            by=drafter.name,
            files=len(found.files) if found else 0,
            tests=tests,
            held_before=len(found.held_before) if found else 0,
            repairs=repairs,
            prompt=digest_of(_PROMPT.read_bytes()),
            usage=usage if usage != Usage() else None,
        )
        self.session.journal.note(event, task=self.task.id, durable=True)


_MUTANTS = """
# Mutants that no test notices

The tests pass on the finished work. Each change below is one line of it, and no test fails with it.

{mutants}

Add tests in new files that fail with such a change, if a sentence of the task forbids it. Keep to
the task's sentences: the line itself may be wrong. If a change breaks no sentence, write no test
for it. Without new tests answer `{{"files": [], "items": {{}}}}`.
"""
_REPAIR = """
# What is wrong with your last answer

{wrong}

Your files were deleted. Write all of them again, then answer again.
"""
