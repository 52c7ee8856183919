"""A branch, a plan and the people beside a run, all on one virtual clock and one seed."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from runner.journal.events import TaskLanded, TaskLanding
from runner.model import Action, Change, digest_of
from runner.run.landing.lander import Conflict, ConflictingFiles, Elsewhere, Landed, Link, Moved
from runner.writes import safe_io

PLAN = "TASK-GRAPH.md"
MAIN = "refs/heads/main"


@dataclass
class World:
    """What git, disk and people are to a real run; every choice comes from `rng`."""

    root: object
    rng: object
    calm: bool = False
    """Whether nothing goes wrong any more, and nobody meddles."""
    has_suite: bool = False
    """Whether a test suite of the project runs once for tasks that land together."""
    now: float = 0.0
    ref: str = MAIN
    trees: dict = field(default_factory=dict)
    parents: dict = field(default_factory=dict)
    head: str = ""
    landings: list = field(default_factory=list)
    refs: dict = field(default_factory=dict)
    drafts: set = field(default_factory=set)
    edits: int = 0
    ids: int = 0
    stray: list = field(default_factory=list)

    # --- clock and ids ---

    def new_id(self):
        self.ids += 1
        return f"00000000-0000-7000-8000-{self.ids:012x}"

    def timestamp(self):
        whole = int(self.now * 1e6)
        hours, rest = divmod(whole // 1_000_000, 3600)
        return f"2030-01-01T{hours % 24:02}:{rest // 60:02}:{rest % 60:02}.{whole % 1_000_000:06}Z"

    def monotonic(self):
        self.now += 1e-4  # even looking at the clock takes a while
        return self.now

    # --- git ---

    def commit(self, files, parent=None):
        """A commit on the head, or on another one; None takes a file away."""
        parent = self.head if parent is None else parent
        tree = {**self.trees.get(parent, {}), **files}
        sha = f"{len(self.trees) + 1:040x}"
        self.trees[sha] = {path: content for path, content in tree.items() if content is not None}
        self.parents[sha] = parent
        return sha

    def blob(self, commit, path):
        return self.trees.get(commit, {}).get(path)

    def changed_since(self, base, until=None):
        """Paths that differ between a commit and the head, or another commit."""
        old, new = self.trees.get(base, {}), self.trees.get(until or self.head, {})
        return {path for path in {*old, *new} if old.get(path) != new.get(path)}

    def reaches(self, commit):
        at = self.head
        while at and at != commit:
            at = self.parents[at]
        return at == commit

    # --- people ---

    @property
    def plan(self):
        return self.root / PLAN

    def by_hand(self, files):
        """A person commits, and has the files in the work tree."""
        self.head = self.commit(files)
        for path, content in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(content)

    def edit_plan(self):
        """A person says something more in one task's section, and saves."""
        self.edits += 1
        text = self.plan.read_text()
        at = self.rng.choice([n for n in range(len(text)) if text.startswith("\nText of ", n)])
        end = text.index("\n", at + 1)
        self.plan.write_text(f"{text[:end]} Edit {self.edits}.{text[end:]}")

    def meddle(self, outputs):
        """One thing that a person may do while a run goes on; whether it was Ctrl-C.

        Where no task writes anything, they have a file of their own.
        """
        outputs = outputs or ["theirs.txt"]
        match self.rng.choice(("commit", "commit", "their file", "edit", "edit", "stray", "rare")):
            case "commit":
                self.by_hand({f"notes-{len(self.trees)}.txt": b"mine\n"})
            case "their file":
                path = self.rng.choice(outputs)
                there = self.blob(self.head, path) or b""
                if not (self.root / path).exists() or (self.root / path).read_bytes() == there:
                    self.by_hand({path: b"by hand %d\n" % len(self.trees)})
            case "edit":
                self.edit_plan()
            case "stray":
                path = self.root / self.rng.choice(outputs)
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(b"not committed\n")
                    self.stray.append(path)
            case "rare":
                if self.rng.random() < 0.5:
                    return True
                self.ref = "refs/heads/other"
        return False

    def tidy(self):
        """Between two runs: back on the branch, and strays are gone."""
        self.ref = MAIN
        while self.stray:
            path = self.stray.pop()
            if path.exists() and path.read_bytes() == b"not committed\n":
                path.unlink()


@dataclass
class PaperLander:
    """The real lander's rules on a branch of paper; files and events are real."""

    world: World
    journal: object

    @property
    def repository(self):
        return self.world

    def land(self, task, outcome, review):
        refusal = self.find_refusal(task, outcome, self.world.head)
        return refusal or self.land_chain([self.link(task, outcome, self.world.head, review)])

    def land_chain(self, links):
        world, landed = self.world, []
        for one in links:
            refusal = self.find_refusal(one.task, one.outcome, world.head)
            if refusal is not None and one is links[0]:
                return refusal
            landed.append(self._land_one(one))
        late = tuple(path for one in landed for path in one.late)
        return Landed(landed[-1].commit, landed[-1].tree, late)

    def _land_one(self, link):
        world, outcome, sha = self.world, link.outcome, link.commit
        paths = tuple(change.path for change in outcome.changes)
        landing = TaskLanding(
            tree=link.tree, parent=world.head, commit=sha, paths=paths, review=link.how
        )
        about = {"task": link.task.id, "attempt": outcome.attempt, "durable": True}
        self.journal.note(landing, **about)
        world.head = sha
        world.landings.append((link.task.id, link.task.spec.what, sha))
        late = tuple(one.path for one in safe_io.place(world.root, outcome.changes))
        landed = TaskLanded(commit=sha, tree=link.tree, paths=paths, late=late)
        self.journal.note(landed, **about)
        return Landed(sha, link.tree, late)

    def link(self, task, outcome, parent, how):
        sha = self.propose(outcome, parent)
        return Link(task, outcome, how, sha, f"{int(sha, 16) + 0xF000:040x}")

    def propose(self, outcome, parent=None):
        files = {change.path: change.content for change in outcome.changes}
        return self.world.commit(files, outcome.base if parent is None else parent)

    def head(self):
        return self.world.head

    def find_moved(self, base, tip):
        return self.world.changed_since(base, tip)

    def diff(self, base, commit):
        old, new, changes = self.world.trees[base], self.world.trees[commit], []
        for path in sorted(self.find_moved(base, commit)):
            before, after = old.get(path), new.get(path)
            action = Action.CREATE if before is None else Action.MODIFY
            digests = [None if one is None else digest_of(one) for one in (before, after)]
            changes.append(Change(path, action, 0o100644, *digests, after))
        return tuple(changes)

    def find_refusal(self, _task, outcome, tip):
        world = self.world
        if world.ref != MAIN:
            return Elsewhere("the run began on main; HEAD is now other")
        if tip != outcome.base:
            moved = world.changed_since(outcome.base, tip)
            both = tuple(one.path for one in outcome.changes if one.path in moved)
            if both:
                return Conflict(tip, both)
            if moved and outcome.proofs:
                return Moved(tip)
        blocked = safe_io.in_the_way(world.root, outcome.changes)
        return ConflictingFiles(blocked) if blocked else None


class PaperDrafts:
    """Where `runner.run.landing.drafts` keeps work, in memory."""

    def __init__(self, world):
        self._world = world

    def keep_draft(self, _repository, task, outcome):
        if not outcome.changes:
            return ""
        self._world.drafts.add(task.id)
        return f"draft/{task.id}"

    def hold(self, _repository, task, outcome):
        self._world.refs[f"held/{task.id}"] = outcome.changes
        return f"held/{task.id}"

    def load_held_changes(self, _repository, held):
        return self._world.refs.get(held.ref)

    def let_go(self, _repository, task):
        self._world.refs.pop(f"held/{task}", None)

    def keep_tried(self, _repository, task, outcome):
        if outcome.changes:
            self._world.refs[f"tried/{task.id}"] = outcome.attempt
        return bool(outcome.changes)

    def draft_of_tried(self, _repository, task, attempts):
        if self._world.refs.get(f"tried/{task.id}") not in attempts:
            return ""
        self._world.drafts.add(task.id)
        return f"draft/{task.id}"

    def drop_drafts(self, _repository, task):
        self._world.drafts.discard(task)

    def drop_tried(self, _repository, task):
        self._world.refs.pop(f"tried/{task}", None)


class PaperStaging:
    """Staged writes that nobody reads."""

    def stage(self, *_, **__):
        return ()

    def list(self, _task=""):
        return ()

    def remove(self, _staged):
        return None


class PaperLog:
    """The write log: what was approved, and how each write ended."""

    def __init__(self):
        self.open = set()

    def record(self, _changes, *, task, attempt, **_):
        self.open.add((task, attempt))

    def close(self, *, task, attempt, **_):
        self.open.discard((task, attempt))


def proposal(task, world, base):
    """What a task writes on a base: the same bytes for the same words."""
    paths = [
        f"any-{task.id}.txt" if path == "any" else path.replace("*", task.id)
        for path in task.outputs
    ]
    changes = []
    for path in paths:
        before = world.blob(base, path)
        after = f"{task.id} {task.spec.what}\n".encode()
        if before != after:
            action = Action.CREATE if before is None else Action.MODIFY
            old = None if before is None else digest_of(before)
            changes.append(Change(path, action, 0o100644, old, digest_of(after), after))
    return tuple(changes)


def a_scan():
    return SimpleNamespace(pending=False)
