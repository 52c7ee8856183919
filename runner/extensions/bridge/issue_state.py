"""The state of one issue: its comment, its label, and who acts next.

Nothing is kept between steps but what the forge, the branch and the clone's journal have.

The one label that says where an issue is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from runner.errors import ExitCode, RunnerError
from runner.extensions.bridge.admission import find_commands
from runner.extensions.bridge.comment_text import (
    Memory,
    Stage,
    StatusLinks,
    is_branch_of,
    read_memory,
    with_memory,
    write_status,
)
from runner.model import ReviewMode, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runner.extensions.bridge.admission import SlashCommand
    from runner.extensions.bridge.builder import Builder, BuildFacts, CommandExit, IssueTask
    from runner.extensions.bridge.forge import Comment, Forge, Issue, PullRequest

# --- the context ----------------------------------------------------------------------


_PAGES = re.compile(r"https?://[A-Za-z0-9.:-]+(?:/[A-Za-z0-9._-]+)+")
"""Repository addresses: no character in them ends a Markdown link."""
LIMIT = 3
"""Rejected plans and requested revisions before a person must continue."""


_THEIRS = frozenset({Stage.PLAN_REVIEW, Stage.REVIEW, Stage.PERSON})
"""Stages in which a person acts next."""


class LateText(Struct, frozen=True):
    """A text of the issue that waits for somebody who may push, with its notice."""

    wish: str
    """Request that counts after an approval."""
    notice: str
    is_whole: bool
    """Whether the notice shows everything that an approval would change."""


class BridgeStoppedError(Exception):
    """The bridge ends, or the issue was paused while something went on."""


class IssueContext(Struct, dict=True):
    """One issue: what it has, and the words of ours in it."""

    forge: Forge
    builder: Builder
    number: int
    trigger: str
    base: str
    login: str
    """Login whose comments are the bridge's own."""
    mode: ReviewMode = ReviewMode.PROMPT
    """Who approves plans."""
    has_mirrors: bool = False
    """Whether tasks are shown as sub-issues of this one."""
    artifacts: str = ""
    """Public address of the artifact store; empty if it has none."""
    may_go_on: Callable[[], bool] = lambda: True
    """Whether this bridge still holds its lease and need not end."""
    branch: str = ""
    """Branch of the build, once known."""
    comment: Comment | None = None
    memory: Memory = field(default_factory=Memory)
    pull: PullRequest | None = None
    late: LateText | None = None
    is_refused: bool = False
    """Whether its label did not count: only another label starts a new try."""

    # --- what is there ------------------------------------------------------------------

    def read(self) -> None:
        """Ask the forge how the issue, its comments and its pull request are now."""
        self.issue = self.forge.load_issue(self.number)
        self.comments = list(self.forge.list_comments(self.number))
        ours = [one for one in self.comments if one.author == self.login]
        marked = [(one, memory) for one in ours if (memory := read_memory(one.body)) is not None]
        self.comment, self.memory = marked[0] if marked else (None, Memory())
        for double, _ in marked[1:]:  # of two bridges without a lease between them
            self.forge.delete_comment(double.id)
        # The clone's branch overrides the comment, which others may edit; a build started by an
        # older version keeps its branch without words.
        named = self.builder.branch or self.memory.branch
        if self.comment is not None and not is_branch_of(self.number, named):
            named = f"runner/{self.number}"
        if named:
            self.build_on(named)
        pull = self.find_own_request() if self.comment and self.branch else None
        is_ours = pull is not None and pull.number > self.memory.before
        self.pull = pull if is_ours else None

    def build_on(self, branch: str) -> None:
        """Set the branch to build on. Raises RunnerError for the base of the pull request."""
        if branch == self.base:
            raise RunnerError(
                f"issue {self.number} would be built on {branch}, the base of its pull request",
                hint="choose another default branch on the forge",
            )
        self.branch = self.builder.branch = branch

    def find_own_request(self) -> PullRequest | None:
        """Return the bridge's newest pull request from the branch to its base, or None."""
        return self.forge.find_pull_request(self.branch, self.base, self.login)

    def is_wanted(self) -> bool:
        """Return whether the issue is open and has the trigger label."""
        return self.issue.is_open and self.trigger in self.issue.labels

    def list_commands(self) -> list[SlashCommand]:
        """Return the new commands of people who may push, unedited."""
        comments: Sequence[Comment] = self.comments
        if self.pull is not None:
            comments = (*comments, *self.forge.list_comments(self.pull.number))
        return find_commands(self.forge, comments, self.memory.seen)

    def name_task(self) -> str:
        """Return a task ID for an example of a command."""
        return next((one.id for one in self.builder.look().tasks), "TASK-003")

    # --- the comment and the label ------------------------------------------------------

    def hand_over_ended(
        self, what: str, ended: CommandExit, facts: BuildFacts | None = None
    ) -> str:
        """Hand over after a failed command; the next round repeats an interrupted one."""
        if ended.code == ExitCode.INTERRUPTED:
            raise BridgeStoppedError
        stuck = [
            f"{one.id}: {one.status} {one.note}"
            for one in (facts.tasks if facts else ())
            if one.status is not Status.DONE
        ]
        return self.hand_over("\n".join((what, *stuck, ended.stderr[-1500:])).strip(), facts)

    def hand_over(self, why: str, facts: BuildFacts | None = None) -> str:
        """Assign the issue to its requester and report that it needs input."""
        self.memory = self.memory._replace(handed=why, answer="")
        return self.wait(Stage.PERSON, "needs your input", facts)

    def wait(self, stage: Stage, words: str, facts: BuildFacts | None = None) -> str:
        """Show what somebody else has to do, in these words."""
        self.show(stage, facts)
        return words

    def show(self, stage: Stage, facts: BuildFacts | None = None) -> None:
        """Show the stage in the comment and the label."""
        if facts is None and self.comment is not None and stage is not Stage.PLANNING:
            facts = self.builder.look()
        rows = facts.tasks if facts else ()
        self.put(self.write(stage, rows, links=self.find_links(facts)), stage)

    def write(self, stage: Stage, rows: Sequence[IssueTask], **more: Any) -> str:
        """Write the status comment, including the pending changes of the issue's text."""
        late = self.late.notice if self.late is not None else ""
        is_final = self.is_refused or self.memory.revised >= LIMIT
        offers = stage is not Stage.PERSON or not is_final
        return write_status(stage, self.memory, rows, late=late, offers=offers, **more)

    def find_links(self, facts: BuildFacts | None) -> StatusLinks:
        """Return links to the pages of what is pushed."""
        pages = self.issue.url.rpartition("/issues/")[0]
        url = self.pull.url if self.pull is not None else ""
        links = StatusLinks(
            pages=pages if _PAGES.fullmatch(pages) else "",
            request=url if _PAGES.fullmatch(url) else "",
        )
        if facts is None or not facts.tasks or facts.tip != facts.head:
            return links
        # Link to its list of all files: a store has no page for a folder.
        left = f"{self.artifacts}/{facts.artifacts}/metadata.json"
        has_left = self.artifacts and facts.artifacts
        return replace(links, head=facts.head, plan=facts.plan, artifacts=left if has_left else "")

    def put(self, text: str, stage: Stage) -> None:
        """Update the one comment and the one stage label."""
        if not self.may_go_on():
            raise BridgeStoppedError
        self._take_turn(stage)
        self._write_comment(with_memory(text, self.memory))
        self._assign_next(stage)
        self.issue = show_stage(self.forge, self.issue, stage)

    def remember(self) -> None:
        """Write the memory into the comment and keep its text."""
        if not self.may_go_on():
            raise BridgeStoppedError
        if self.comment is not None:
            text = self.comment.body.replace("\r\n", "\n").rstrip().rpartition("\n")[0]
            self._write_comment(with_memory(text, self.memory))

    def _write_comment(self, body: str) -> None:
        if self.comment is None:
            self.comment = self.forge.create_comment(self.number, body)
        elif self.comment.body.replace("\r\n", "\n") != body:
            self.forge.edit_comment(self.comment.id, body)
            self.comment = replace(self.comment, body=body)

    def _take_turn(self, stage: Stage) -> None:
        """Record who acts next, and unassign the previous login if the bridge had assigned it."""
        turn, before = self.memory.by if stage in _THEIRS else "", self.memory.turn
        if turn == before:
            return
        if before in self.issue.assignees:
            self.forge.unassign(self.number, before)
        is_new = bool(turn) and turn not in self.issue.assignees
        self.memory = self.memory._replace(turn=turn if is_new else "")

    def _assign_next(self, stage: Stage) -> None:
        """Assign whoever is next, behind the comment that remembers it and before the label.

        So a kill between leaves nobody assigned of whom we do not know; and who took themselves
        off while it is their turn is not put on again.
        """
        turn = self.memory.turn
        if turn and stage not in self.issue.labels and turn not in self.issue.assignees:
            self.forge.assign(self.number, turn)


# --- its label ------------------------------------------------------------------------


def show_stage(forge: Forge, issue: Issue, stage: Stage) -> Issue:
    """Set the label of a stage and remove the others, and return the updated issue.

    The new one comes first: a kill between leaves two, and the next look mends that.
    """
    if stage is not Stage.ENDED and stage not in issue.labels:
        forge.add_label(issue.number, stage)
    others = {one.value for one in Stage} & issue.labels - {stage}
    for one in sorted(others):
        forge.remove_label(issue.number, one)
    shown = frozenset({stage.value} - {""})
    return replace(issue, labels=issue.labels - others | shown)
