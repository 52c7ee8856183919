"""The clone for one issue: its own folder and branch.

Drafting, building and proving are `runner` in a process of its own, as somebody would type it
there: its lease, its trust, its gates. The forge's token is not in its environment.

The plan in an issue's clone: on its branch, whose its tasks are, which commands ran before.

The plan of an issue on its branch: what a person approved stands there before it is built.

A run commits statuses and what tasks wrote, never a person's edit of the plan. In the clone of an
issue nobody else saves it: without this, what is merged would lack the plan that it was built by.

Which tasks of a clone's plan are its issue's, and how they stand.

Which commands of a draft somebody let run here before: those alone go on without a person.

Known is what stands in the repository's own plan, settings and manifests, word for word, and the
test programs that its analysis finds, called on plain paths.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from runner import effects
from runner.app.draft.draft_answers import approve_draft, decline_draft, find_draft
from runner.app.draft.draft_checks import Target
from runner.app.draft.draft_prompt import read_request_file
from runner.app.draft.drafting import carry_drafter_trust, review_draft
from runner.app.inspect.repository_analysis import analyse
from runner.app.inspect.view import View
from runner.errors import ExitCode, RunnerError
from runner.extensions.bridge.builder import BuildFacts, CommandExit, IssueTask
from runner.extensions.bridge.comment_text import is_branch_of
from runner.journal.lock import RunLock
from runner.journal.records import read_journal
from runner.journal.session_events import DraftProposed, DraftReviewed
from runner.lazy_module import lazy_module
from runner.model import Status, Verdict
from runner.plan.document import read_plan
from runner.plan.edit import find_spans, set_statuses
from runner.process.own_command import (
    OwnCommand,
    end_orphan,
    forget_child,
    read_document,
    record_child,
)
from runner.project import BUILD, JOURNAL, Project
from runner.repo.clone import ORIGIN, delete_own_branch, make_clone, make_refusal, switch_branch
from runner.repo.commit import commit_tree
from runner.repo.head import name_plan
from runner.repo.read import Repository
from runner.repo.remote import Move, Remote, Swap
from runner.run.landing.branch_lease import is_cut_off
from runner.run.landing.git_locks import move_branch, prepare_index
from runner.secrets.redact import redact
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.app.artifacts import artifact_export
    from runner.app.draft.drafting import DraftVerdict
    from runner.app.observer import Observer
    from runner.plan.document import Plan
    from runner.plan.outline import OutlineTask
    from runner.repo.head import Head
else:
    artifact_export = lazy_module("runner.app.artifacts.artifact_export")

TOKEN_NAMES = ("GH_TOKEN", "GITHUB_TOKEN")
"""Variables with the forge's token; child processes don't get them."""
_REVIEWS, _DRAFTS = frozenset({"draft.reviewed"}), frozenset({"draft.proposed"})
_WISH = "issue.md"
CLONE = "repository"
"""Name of the clone in an issue's folder."""
_LONGEST_STDERR = 4000
_TICK = 1.0
"""Seconds between checks of a running command."""
_MOST = 4 << 20

# --- on its branch --------------------------------------------------------------------


MESSAGE = "docs: add the approved plan\n"
_FILE = 0o100644


class IssueClone(Struct):
    """The clone of one issue, below a folder of the user's state."""

    source: Project
    remote: str
    folder: Path
    observer: Observer
    """Receives the progress of a plan review."""
    branch: str = ""
    """Empty until known, which is before anything is built."""
    is_stopped: Callable[[], bool] = lambda: False
    """Called every second while a command runs."""
    on_progress: Callable[[], None] = lambda: None

    @property
    def place(self) -> Path:
        """Path of the clone."""
        return self.folder / CLONE

    @property
    def root(self) -> Path:
        """The project in it: where it is in the repository that we were started in."""
        return self.place / self.source.inside

    @property
    def journal(self) -> Path:
        """Path of the clone's journal, which need not exist."""
        return find_journal(self.folder, self.source.inside)

    @property
    def environ(self) -> dict[str, str]:
        """Return the environment of our commands: no token; they publish what they land."""
        variables = {
            name: value for name, value in self.source.environ.items() if name not in TOKEN_NAMES
        }
        if name_plan(variables):  # as the source has it, from its own folder on
            variables["RUNNER_BUILD_TASK_GRAPH"] = self.source.settings.build.task_graph
        return {**variables, "RUNNER_GIT_PUBLISH": ORIGIN, "RUNNER_GIT_PUBLISH_AT": "task"}

    # --- what it begins with ------------------------------------------------------------

    def read_request_text(self) -> str:
        """Return the saved request text; empty if there is none."""
        try:
            return (self.folder / _WISH).read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def save_request_text(self, text: str) -> None:
        """Save the request text durably."""
        effects.make_folder(self.folder, mode=0o700)
        effects.write_file(self.folder / _WISH, text.encode("utf-8", "replace"), mode=0o600)

    def find_branch(self, number: int) -> str:
        """Return the issue's first remote branch by name. Raises RunnerError if unreachable."""
        with (
            Repository.open(self.source.root) as source,
            Remote(source, self.remote, self.environ) as remote,
        ):
            there = remote.list_branches(f"runner/{number}", f"runner/{number}-*")
        return next((one for one in sorted(there) if is_branch_of(number, one)), "")

    def prepare(self, base: str) -> None:
        """Clone and switch to the issue's branch. Raises RunnerError if the remote refuses.

        What a bridge that was killed left going on here is ended first.
        """
        end_orphan(self.folder)
        if not self.place.is_dir():
            with Repository.open(self.source.root) as source:
                make_clone(source, self.remote, base, self.place)
        with Repository.open(self.place) as repository:
            switch_branch(repository, self.branch, base, self.environ)
        project = self._open()
        with project.open_repository() as repository:
            publish_plan(project, repository)
        carry_drafter_trust(self.source, project, _read_plan(project))

    def _open(self) -> Project:
        return Project.open(self.root, self.environ, plan_needed=False)

    # --- how it stands ------------------------------------------------------------------

    def look(self) -> BuildFacts:
        """Read the clone's journal and plan, and the remote. Raises RunnerError."""
        if not self.place.is_dir():
            return BuildFacts()
        project = self._open()
        state = project.state()
        with Repository.open(project.root) as repository:
            base = read_base(project, repository)
            ref = f"refs/heads/{self.branch}"
            with Remote(repository, ORIGIN, self.environ) as remote:
                tip = remote.read(ref).get(ref, "")
            head = repository.find_head()
            is_left = is_cut_off(repository, head, tip) if tip else False
        return BuildFacts(
            state.open_drafts[-1] if state.open_drafts else None,
            state.drafts,
            find_rows(project, base),
            head.commit or "",
            tip,
            is_left,
            RunLock(project.root / BUILD).holder() is not None,
            "" if state.failed_tree else state.whole_head,
            place_inside(project, Target.of(project).path),
            self._is_planned(state.drafts),
            _find_artifacts(project),
        )

    def _is_planned(self, drafts: int) -> bool:
        """Return whether the last draft covers the current request; ignore manual drafts."""
        wish = self.folder / _WISH
        if not drafts or not wish.is_file():
            return True
        events = (record.event for record in read_journal(self.journal, wanted=_DRAFTS))
        ours = [one for one in events if isinstance(one, DraftProposed) and one.source == _WISH]
        try:
            return not ours or ours[-1].wish == read_request_file(self.root, wish).text
        except RunnerError:  # too long, or it says nothing: who drafts it tells so
            return False

    def find_unknown_commands(self, draft: DraftProposed) -> tuple[str, ...]:
        """Return the draft's commands that plan, settings and manifests do not contain."""
        project = self._open()
        return find_unknown(project, _read_plan(project), read_plan(draft.text.encode(), "draft"))

    # --- what is done -------------------------------------------------------------------

    def draft(self) -> CommandExit:
        """Run `runner draft`."""
        return self._go("draft", "--json", "--file", str(self.folder / _WISH))

    def approve(self, draft: DraftProposed, by: str) -> None:
        """Approve exactly this draft as `runner approve` does. Raises RunnerError."""
        project = self._open()
        named = f"DRAFT-{draft.number}"
        if find_draft(project, named).digest != draft.digest:
            raise RunnerError(
                f"{named} changed after it was shown", hint="read the new version, then answer"
            )
        approve_draft(project, named, by, f"tracker by {by}")

    def reject(self, draft: DraftProposed, reason: str, place: str = "") -> CommandExit:
        """Run `runner reject`, which starts a new draft.

        Whoever drafts may answer with the same bytes: a refusal that the journal has from this
        place was done before a crash, and would refuse them again and again.
        """
        if place:
            reason = f"{reason} ({place})"
            if _is_refused_for(self.journal, reason):
                return CommandExit(ExitCode.OK, "")
        # As one word with `=`: a person's reason may start with a dash.
        return self._go("reject", f"DRAFT-{draft.number}", f"--reason={reason}")

    def withdraw(self, draft: DraftProposed, reason: str) -> None:
        """Reject a draft as `runner reject` does, without a new draft."""
        decline_draft(self._open(), f"DRAFT-{draft.number}", reason, "bridge")

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """Review a draft in a new session. Raises RunnerError if no reviewer is available."""
        return review_draft(self._open(), draft, self.observer, self.is_stopped)

    def build(self, *, is_retried: bool) -> CommandExit:
        """Run `runner run` on the issue's tasks; if retried, run `runner retry` on blocked ones."""
        rows = self.look().tasks
        stuck = [one.id for one in rows if one.status is Status.BLOCKED]
        if is_retried and stuck:
            ended = self._go("retry", *stuck)
            if ended.code in (ExitCode.INTERRUPTED, ExitCode.USAGE):
                return ended
        return self._go("run", "--json", "--yes", *(one.id for one in rows))

    def change(self, task: str, text: str) -> CommandExit:
        """Run `runner change` and approve what it makes STALE, since a person requested it.

        A text that stands with the task already was asked before a crash, and is not asked again.
        """
        quoted = " ".join(text.split()).encode()  # as a quote has it
        if quoted not in _read_section(self._open(), task):
            ended = self._go("change", "--json", "--yes", "--", task, text)
            if ended.code:
                return ended
        stale = [one.id for one in self.look().tasks if one.status is Status.STALE]
        return self._go("approve", *stale) if stale else CommandExit(ExitCode.OK, "")

    def verify(self) -> CommandExit:
        """Run `runner verify --all` and push the artifacts of the build.

        An artifact store that is away does not fail it.
        """
        ended = self._go("verify", "--all", "--json")
        if not ended.code and self._open().settings.artifacts.store:
            self._go("team", "artifacts", "push", "--quiet")
        return ended

    # --- how it ends --------------------------------------------------------------------

    def clear_branch(self) -> str:
        """Delete it in the remote, by compare-and-swap. Raises RunnerError: a run goes on here."""
        end_orphan(self.folder)
        if not self.place.is_dir():
            return ""
        holder = RunLock(self.root / BUILD).holder()
        if holder is not None:
            raise RunnerError(
                f"a run is active in {self.place}: {holder}",
                hint="wait until it ends; then the bridge removes the branch",
                code=ExitCode.CONFLICT,
            )
        with Repository.open(self.place) as repository:
            return delete_own_branch(repository, self.branch, self.environ)

    def retire(self) -> None:
        """Rename the folder to a name that no issue uses, which keeps unpushed work."""
        for number in count(1):
            kept = self.folder.with_name(f"{self.folder.name}-ended-{number}")
            if not kept.exists():
                break
        effects.step("replace", kept)
        self.folder.rename(kept)

    def _go(self, *words: str) -> CommandExit:
        """Run a command of ours to its end, or end it where it is wanted no more."""
        command = OwnCommand(words, self.root, self.environ)
        try:
            # On disk at once: after a kill the next bridge finds this process and ends it first.
            record_child(self.folder, command.pid)
            while (code := command.wait(_TICK)) is None:
                if self.is_stopped():
                    command.end()
                    code = ExitCode.INTERRUPTED
                    break
                self.on_progress()
            output, errors = command.read(_MOST)
        except BaseException:
            command.end()
            raise
        finally:
            command.forget()
            forget_child(self.folder)
        stderr = display(redact(errors.decode("utf-8", "replace")), lines=True).strip()
        return CommandExit(code, stderr[-_LONGEST_STDERR:], read_document(output))


def read_token(environ: Mapping[str, str]) -> str:
    """Return the forge's token. Raises RunnerError if none is set."""
    token = next((environ[name] for name in TOKEN_NAMES if environ.get(name)), "").strip()
    if not token:
        raise RunnerError(
            "no token for the forge",
            hint="set GH_TOKEN=…; docs/guides/team.md lists the permissions that it needs",
        )
    return token


def find_journal(folder: Path, inside: str) -> Path:
    """Return the journal path of the project inside an issue's clone; it need not exist."""
    return folder / CLONE / inside / JOURNAL


def _read_plan(project: Project) -> Plan:
    target = Target.of(project)
    return read_plan(target.data, target.path, prefixes=project.settings.build.id_prefixes)


def _read_section(project: Project, task: str) -> bytes:
    """Return the plan's lines of one task; empty if the plan does not contain it."""
    begins = {one.id: one.line - 1 for one in _read_plan(project).tasks}
    begin = begins.get(task, 1 << 60)
    end = min((line for line in begins.values() if line > begin), default=None)
    return b"\n".join(Target.of(project).data.splitlines()[begin:end])


def _is_refused_for(journal: Path, reason: str) -> bool:
    if not journal.is_file():
        return False
    events = (record.event for record in read_journal(journal, wanted=_REVIEWS))
    # Its end has the location: the text before it may be cut or redacted.
    place = reason.rpartition(" (")[2]
    return any(
        isinstance(one, DraftReviewed) and not one.approved and one.reason.endswith(f" ({place}")
        for one in events
    )


def _find_artifacts(project: Project) -> str:
    if not project.settings.artifacts.store:
        return ""
    cursor = artifact_export.read_cursor(project)
    whole = [run for run in cursor.ended if artifact_export.METADATA in cursor.stored.get(run, {})]
    return artifact_export.key_of_run(project, whole[-1]) if whole else ""


class _Plan(Struct, frozen=True):
    """The plan as it is to be committed."""

    path: str
    content: bytes
    mode: int = _FILE


def publish_plan(project: Project, repository: Repository) -> None:
    """Commit the plan of a clone on its branch, in the remote first, where HEAD says another.

    Statuses aside: those are for a run to record. Nothing is done while one goes on, and nothing
    where somebody pushed to the branch: who looks next sees that. After a kill between the two
    moves the branch here follows. Raises RunnerError: the remote refuses it, or does not answer.
    """
    target, head = Target.of(project), repository.find_head()
    if head.commit is None or RunLock(project.root / BUILD).holder() is not None:
        return
    known, prefixes = repository.blob(head.commit, target.path), project.settings.build.id_prefixes
    if _blank(target.data, prefixes) == _blank(known or b"", prefixes):
        return
    plan = _Plan(target.path, target.data)
    new = _push(project, repository, head, plan)
    if not new:
        return
    with prepare_index(repository, head, [plan.path], head.commit, new) as index:
        if move_branch(repository, head, new, "runner: plan", index):
            index.place()


def _blank(data: bytes, prefixes: tuple[str, ...]) -> bytes:
    """Return a plan with all statuses set to PENDING, for comparison."""
    spans = find_spans(data, prefixes)
    same = dict.fromkeys(spans, (Status.PENDING, ""))
    return set_statuses(data, same, prefixes=prefixes, spans=spans)


def _push(project: Project, repository: Repository, head: Head, plan: _Plan) -> str:
    """Push a commit of the plan and return the branch's tip; empty if the branch has moved."""
    made = commit_tree(repository, head.commit, [plan], MESSAGE)
    with Remote(repository, ORIGIN, project.environ) as remote:
        tip = remote.read(head.ref).get(head.ref, "")
        if tip != head.commit:  # ours has its parent and its tree, and lies here already
            is_ours = repository.parents_of(tip) == (head.commit,)
            return tip if is_ours and repository.tree_of(tip) == made.tree else ""
        moved = remote.swap(Move(head.ref, tip, made.sha, is_branch=True))
    if moved.swap is Swap.REFUSED:
        branch = head.ref.removeprefix("refs/heads/")
        raise make_refusal(f"the plan on {branch}", moved.output)
    return made.sha if moved.swap is Swap.DONE else ""


# --- tasks of the issue ---------------------------------------------------------------


_GOOD = (Verdict.PASS, Verdict.FLAKY, Verdict.KNOWN)


def place_inside(project: Project, path: str) -> str:
    """Return a project path relative to the repository."""
    return f"{project.inside}/{path}" if project.inside else path


def read_base(project: Project, repository: Repository) -> frozenset[str]:
    """Return the task IDs in the plan at the branch's origin, which are not the issue's."""
    head = repository.git.ask("rev-parse", "--verify", f"refs/remotes/{ORIGIN}/HEAD")
    onto = head.out.decode().strip() if head.exit == 0 else ""
    began = repository.merge_base("HEAD", onto) if onto else None
    path = Target.of(project).path
    data = repository.blob(began, path) if began else None
    plan = read_plan(data or b"", path, prefixes=project.settings.build.id_prefixes)
    return frozenset(task.id for task in plan.tasks)


def find_rows(project: Project, others: frozenset[str]) -> tuple[IssueTask, ...]:
    """Return the plan's tasks except `others`."""
    if not project.has_plan:
        return ()
    view = View.of(project)
    return tuple(_make_row(project, view, task) for task in view.tasks if task.id not in others)


def _make_row(project: Project, view: View, task: OutlineTask) -> IssueTask:
    known, graded = view.states[task.id], view.grades.get(task.id)
    passed = sum(one.verdict in _GOOD for one in known.proofs)
    return IssueTask(
        task.id,
        task.title,
        known.status,
        view.note(task) or known.reason or "",
        graded.words if graded else "",
        known.commit,
        f"{passed} of {len(known.proofs)} pass" if known.proofs else "",
        tuple(place_inside(project, one) for one in task.outputs),
    )


# --- commands that ran before ---------------------------------------------------------


_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./:\[\]-]*")
"""No option, quote or expansion: a shell reads it as a single word."""
_HARMLESS = frozenset({"-q", "-v", "-x"})
_MODULE = "-m"


def find_unknown(project: Project, plan: Plan, draft: Plan) -> tuple[str, ...]:
    """Return commands of `draft` that are neither in `plan` nor in the repository."""
    there = frozenset(_list_known(project, plan))
    programs = tuple(one.command.split() for one in analyse(project).test_frameworks)
    asked = (test.command for task in draft.tasks for test in task.test_contracts)
    return tuple(
        dict.fromkeys(one for one in asked if one not in there and not is_plain_test(one, programs))
    )


def _list_known(project: Project, plan: Plan) -> Iterator[str]:
    yield from (gate.command for gate in project.settings.gates)
    yield from (gate.command for gate in analyse(project).gates)
    for task in plan.tasks:
        yield from (test.command for test in task.test_contracts)
        yield from (gate.command for gate in task.gates)


def is_plain_test(command: str, programs: Sequence[Sequence[str]]) -> bool:
    """Return whether a command is a known test program with only paths in the repository."""
    words = command.split()
    if command != " ".join(words):
        return False
    for program in programs:
        if program and words[: len(program)] == list(program):
            rest = words[len(program) :]
            return all(one in _HARMLESS or _is_path(one) for one in rest)
    return False


def _is_path(word: str) -> bool:
    return _PATH.fullmatch(word) is not None and ".." not in word
