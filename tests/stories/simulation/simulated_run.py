"""Runs of the real engine, settlement, frontier, claims, board and journal in a simulated world."""

from contextlib import contextmanager
from functools import lru_cache
from random import Random
from types import SimpleNamespace

from settings_of import settings_of
from simulated_crew import SLOTS, SimulatedCrew
from simulated_world import PLAN, PaperDrafts, PaperLander, PaperLog, PaperStaging, World

from runner import effects
from runner.errors import worst
from runner.journal.events import TaskApproved, WriteReviewed
from runner.journal.log import Journal
from runner.journal.records import read_journal
from runner.journal.state import RunState
from runner.model import GateSpec, Resource, Status, digest_of
from runner.plan.document import read_plan as really_read_plan
from runner.plan.graph import TaskGraph
from runner.plan.patterns import PatternIndex
from runner.run import (
    outcome_recorder,
    recovery,
)
from runner.run.engine import Engine
from runner.run.journal_writer import JournalWriter, begin, finish
from runner.run.landing import drafts, moved_branch
from runner.run.landing.moved_branch import PlanConflict
from runner.run.landing.status_writer import StatusWriter, format_note
from runner.run.outcome_recorder import OutcomeRecorder
from runner.run.outcomes import OutcomeHandler
from runner.run.preparation import Preparation
from runner.run.reconcile import Facts
from runner.run.regressions.proof_reuse import ProofReuse
from runner.run.resource_locks import ResourceLocks, capacities, load_owned_paths
from runner.run.review import ChangeReview

read_plan = lru_cache(maxsize=64)(really_read_plan)
"""Parsing the same bytes twice would prove nothing, and is half of the time."""
RESOURCES = (Resource("gpu", "1"),)
LONGEST = 0.25
"""Minutes of one attempt: what is lost for longer is ended."""


def a_random_plan(rng):
    """A plan of three to nine tasks that share files, scarce things and a person's patience."""
    count = rng.randint(3, 9)
    parts = ["# Simulated\n"]
    for number in range(1, count + 1):
        before = range(1, number)
        needs = sorted(rng.sample(before, min(len(before), rng.choice((0, 0, 1, 1, 2)))))
        own = f"`out-{number}.txt`"
        outputs = rng.choice((own, own, own, f"{own}, `shared.txt`", "`docs/*.md`", "any", "none"))
        lines = [
            f"## TASK-{number:03d}: task {number}\n",
            "- Status: PENDING",
            f"- Depends on: {', '.join(f'TASK-{one:03d}' for one in needs) or 'none'}",
            f"- Output files: {outputs}",
            "- Test contracts:\n  - TC-001 (unit): `true`",
        ]
        lines += ["- Command: true"] if outputs != "none" else []
        lines += ["- Uses: gpu 1"] if rng.random() < 0.2 else []
        lines += ["- Review: prompt"] if outputs != "none" and rng.random() < 0.12 else []
        parts.append("\n".join([*lines, f"\nText of task {number}.\n"]))
    return "\n".join(parts)


def a_random_map(rng):
    rows = "".join(
        f"| `out-{n}.txt` | TASK-{m:03d} |\n" for n, m in ((1, 2), (3, 1)) if rng.random() < 0.5
    )
    return f"| File | Tasks |\n|---|---|\n{rows}"


class Simulation:
    """One seed: a world, and as many runs in it as it takes."""

    def __init__(self, seed, root):
        self.seed, self.root = seed, root
        self.world = World(root, Random(seed), has_suite=seed % 4 == 3)
        self.world.plan.write_text(a_random_plan(self.world.rng))
        (root / "FILE_OWNERSHIP_MAP.md").write_text(a_random_map(self.world.rng))
        self.world.head = self.world.commit({})
        self.journal = root / "journal.jsonl"
        self.log = PaperLog()
        self.runs = 0
        self.state = RunState.empty()

    # --- one run ---

    def run(self, named=frozenset()):
        """One run, from reading the plan to the end of its books; its crew and exit code."""
        self.runs += 1
        with Journal.open(self.journal, run=f"run-{self.runs}") as journal:
            writer = JournalWriter(journal, self.state)
            try:
                return self._run(writer, named)
            finally:
                self.state = writer.state

    def _run(self, journal, named):
        world = self.world
        gates = (GateSpec("tests", "true"),) if world.has_suite else ()
        settings = settings_of(
            jobs=SLOTS, resources=RESOURCES, attempt_minutes=LONGEST, gates=gates
        )
        text = world.plan.read_bytes()
        plan = read_plan(text, PLAN)
        tasks = {task.id: task for task in plan.tasks}
        owned, capacity = load_owned_paths(self.root), capacities(RESOURCES)
        begin(journal, head=world.head, branch="main", plan=digest_of(text), settings={})
        began = effects.monotonic()
        before = {id_: known.held for id_, known in journal.state.tasks.items() if known.held}
        prove_first = recovery.reconcile(plan.tasks, journal, Facts(descends=True, landed={}))
        preparation = self._preparation(journal, plan, settings, prove_first)
        recovery.reopen(plan.tasks, journal, named, preparation.find_missing, lambda _: False)
        spans = {task.id: span for task, span in zip(plan.tasks, plan.spans, strict=True)}
        board = StatusWriter(world.plan, (), {text: spans})
        for task in plan.tasks:
            known = journal.state.task(task.id)
            if task.status is not known.status:
                board.say(task.id, known.status, format_note(known, task.note))
        meanwhile = PlanConflict(world.plan, board.is_ours, lambda data: read_plan(data, PLAN))
        workers = SimulatedCrew(world, journal, tasks, owned, capacity)
        settlement = self._settlement(journal, preparation, settings, meanwhile.describe_edit)
        settlement.books.held_before = before
        settlement.cancelled = workers.ended
        engine = Engine(
            tasks=tasks,
            selected=frozenset(tasks),
            weight=TaskGraph.of(plan.tasks).longest_remaining({}),
            journal=journal,
            board=board,
            workers=workers,
            claims=ResourceLocks(capacity, owned),
            preparation=preparation,
            settlement=settlement,
            scans=SimpleNamespace(add=lambda *_: None),
            head=lambda: world.head,
            at_home=lambda: world.ref.endswith("main"),
            edited=meanwhile.describe_edit,
        )
        try:
            codes = engine.run()
        except KeyboardInterrupt:
            codes = frozenset({130})
        code = worst(set(codes))
        finish(journal, exit_code=code, head=world.head, began=began, ids=tuple(tasks))
        return SimpleNamespace(workers=workers, code=code, codes=codes, tasks=tasks, board=board)

    def _preparation(self, journal, plan, settings, prove_first):
        world = self.world
        kept = dict(recovery.resumable(world, journal.state, plan.tasks))

        def carry(id_):  # as `carry_held` does, by whole files
            moved = world.changed_since(journal.state.task(id_).held.base)
            both = [change.path for change in kept[id_] if change.path in moved]
            if both:
                moved_branch._give_back(id_, moved_branch.conflicts(both, world.head), journal)
            return None if both else kept[id_]

        held = {id_: changes for id_ in kept if (changes := carry(id_)) is not None}
        recovery.release_held(held, journal, self.root, terminal=False)
        return Preparation(
            root=self.root,
            settings=settings,
            journal=journal,
            patterns=PatternIndex.read(b""),
            plan_title="Simulated",
            plan_path=PLAN,
            environ={"PATH": "/usr/bin:/bin"},
            base=lambda: world.head,
            prove_first=prove_first,
            held=held,
            held_on=world.head,
            carry=carry,
        )

    def _settlement(self, journal, preparation, settings, edited):
        books = OutcomeRecorder(
            journal=journal,
            repository=self.world,
            staging=PaperStaging(),
            write_log=self.log,
            next_decision=lambda number: number + 1,
            applied=preparation.applied,
        )
        return OutcomeHandler(
            journal=journal,
            lander=PaperLander(self.world, journal),
            preparation=preparation,
            settings=settings,
            review=ChangeReview(journal, None, insisted=False),
            books=books,
            edited=edited,
            standing=ProofReuse(
                lambda *_: "" if self.world.rng.random() < 0.5 else "it was touched"
            ),
        )

    # --- people between two runs ---

    def answer_everything(self):
        """A person tidies up, says yes to what waits, and approves what is STALE."""
        self.world.tidy()
        with Journal.open(self.journal, run="person") as journal:
            writer = JournalWriter(journal, self.state)
            for id_, known in tuple(self.state.tasks.items()):
                for change in self.world.refs.get(known.held.ref, ()) if known.held else ():
                    said = WriteReviewed(change.path, change.before, change.after, "applied", "me")
                    writer.note(said, task=id_, attempt=known.last_attempt, durable=True)
                if known.status is Status.STALE:
                    writer.note(TaskApproved(by="person"), task=id_, durable=True)
            self.state = writer.state

    def records(self):
        return tuple(read_journal(self.journal))


@contextmanager
def virtual_time(world, monkeypatch):
    """Clock, ids, fsync and drafts are the world's; people save the plan between two writes."""

    def watch(kind, target):
        if kind == "open" and target.endswith(PLAN) and not world.calm and world.rng.random() < 0.1:
            world.edit_plan()

    with monkeypatch.context() as patched:
        for name in ("new_id", "timestamp", "monotonic"):
            patched.setattr(effects, name, getattr(world, name))
        patched.setattr(effects, "fsync", lambda _descriptor, _target="": None)
        patched.setattr(effects, "fsync_folder", lambda _folder: None)
        paper = PaperDrafts(world)
        tried = ("keep_tried", "draft_of_tried", "drop_tried")
        for name in ("keep_draft", "hold", "load_held_changes", "let_go", *tried):
            patched.setattr(drafts, name, getattr(paper, name))
        patched.setattr(outcome_recorder, "drop_drafts", paper.drop_drafts)
        effects.watch(watch)
        try:
            yield
        finally:
            effects.unwatch(watch)
