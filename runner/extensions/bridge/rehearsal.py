"""Dry run of a round: print each writing call instead of making it.

A printed call counts as done for the rest of the round, so that it goes as far as it would go;
where a plan would be drafted or something built, it ends: what came of it nobody knows.
"""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from msgspec import field
from msgspec.structs import replace

from runner import effects
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import GitHub
from runner.extensions.bridge.issue_clone import IssueClone
from runner.extensions.bridge.issue_state import BridgeStoppedError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.app.draft.drafting import DraftVerdict
    from runner.extensions.bridge.builder import CommandExit
    from runner.extensions.bridge.forge import Comment, Issue, PullRequest, Review
    from runner.journal.session_events import DraftProposed

_NOT_THERE_YET = 10**15
"""Numbers of simulated objects start here; no real object has them."""


class RehearsalHttp(ForgeHttp):
    """Send reads; print a write and answer as if it had been made."""

    tell: Callable[[str], object] = str
    _numbers: count[int] = field(default_factory=lambda: count(_NOT_THERE_YET))

    def write(self, method: str, path: str, document: object = None) -> object:
        """Print the request and return a plausible response."""
        body = "" if document is None else f" {json.dumps(document, ensure_ascii=False)}"
        self.tell(display(f"{method} {path}{body}"))
        given = document if isinstance(document, dict) else {}
        now, number = f"{effects.now():%Y-%m-%dT%H:%M:%SZ}", next(self._numbers)
        made = {"id": number, "number": number, "state": "open", "head": {"sha": ""}}
        return {**given, **made, "created_at": now, "updated_at": now}

    def ask(
        self, query: str, variables: Mapping[str, object], *, is_write: bool = False
    ) -> Mapping[str, object]:
        """Send a query; print a write. Raises ForgeError."""
        if not is_write:
            return super().ask(query, variables)
        self.tell(display(f"POST /graphql {json.dumps({'query': query, 'variables': variables})}"))
        return {}


class Rehearsal(GitHub):
    """A repository in which the printed writes have already happened."""

    login: str = ""
    _comments: dict[int, list[Comment]] = field(default_factory=dict)
    _texts: dict[int, str] = field(default_factory=dict)
    _labels: dict[int, dict[str, bool]] = field(default_factory=dict)
    _pulls: dict[str, PullRequest] = field(default_factory=dict)
    _drafts: dict[int, bool] = field(default_factory=dict)
    _statuses: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    _issues: list[Issue] = field(default_factory=list)

    def load_issue(self, number: int) -> Issue:
        """Load an issue with the printed label changes applied."""
        issue, changes = super().load_issue(number), self._labels.get(number, {})
        on = {one for one, is_on in changes.items() if is_on}
        return replace(issue, labels=(issue.labels | on) - (changes.keys() - on))

    def list_comments(self, number: int) -> list[Comment]:
        """Return all comments, including those that the rehearsal would write."""
        there = super().list_comments(number) if number < _NOT_THERE_YET else []
        found = [*there, *self._comments.get(number, ())]
        return [replace(one, body=self._texts.get(one.id, one.body)) for one in found]

    def list_reviews(self, number: int) -> list[Review]:
        """Return the reviews of an existing pull request; empty for a printed one."""
        return super().list_reviews(number) if number < _NOT_THERE_YET else []

    def list_own_issues(self, label: str, login: str) -> list[Issue]:
        """Return the existing and the printed issues."""
        return [*super().list_own_issues(label, login), *self._issues]

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """Find a pull request, with the printed changes applied."""
        found = self._pulls.get(branch) or super().find_pull_request(branch, base, login)
        if found is None:
            return None
        body = self._texts.get(-found.number, found.body)
        is_draft = self._drafts.get(found.number, found.is_draft)
        # A pull request not yet opened has no head: use the commit that would be marked proven.
        head = found.head or next(reversed(self._statuses), "")
        return replace(found, body=body, is_draft=is_draft, head=head)

    def list_statuses(self, commit: str) -> list[tuple[str, str]]:
        """Return the statuses, including printed ones."""
        return [*self._statuses.get(commit, ()), *super().list_statuses(commit)]

    def create_comment(self, number: int, body: str) -> Comment:
        """Print the new comment and remember it."""
        made = replace(super().create_comment(number, body), author=self.login)
        self._comments.setdefault(number, []).append(made)
        return made

    def edit_comment(self, id_: int, body: str) -> None:
        """Print the new text of a comment and remember it."""
        super().edit_comment(id_, body)
        self._texts[id_] = body

    def add_label(self, number: int, label: str) -> None:
        """Print the added label and remember it."""
        super().add_label(number, label)
        self._labels.setdefault(number, {})[label] = True

    def remove_label(self, number: int, label: str) -> None:
        """Print the removed label and remember it."""
        super().remove_label(number, label)
        self._labels.setdefault(number, {})[label] = False

    def create_pull_request(
        self, branch: str, base: str, title: str, body: str, *, is_draft: bool
    ) -> PullRequest:
        """Print the new pull request and remember it."""
        made = super().create_pull_request(branch, base, title, body, is_draft=is_draft)
        self._pulls[branch] = made
        return made

    def set_draft(self, pull: PullRequest, *, is_draft: bool) -> None:
        """Print the change of draft state and remember it."""
        super().set_draft(pull, is_draft=is_draft)
        self._drafts[pull.number] = is_draft

    def edit_pull_request(self, number: int, body: str) -> None:
        """Print the new text of a pull request and remember it."""
        super().edit_pull_request(number, body)
        self._texts[-number] = body

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Print the status and remember it."""
        super().set_status(commit, context, text)
        self._statuses.setdefault(commit, []).append((context, "success"))

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Print the new issue and remember it."""
        made = replace(super().create_issue(title, body, label), author=self.login)
        self._issues.append(made)
        return made


class RehearsedClone(IssueClone):
    """The clone as it is; print what would change it or start a command, and end the round."""

    tell: Callable[[str], object] = str
    _wish: str = ""

    def read_request_text(self) -> str:
        """Return the request text that is saved or would be saved."""
        return self._wish or super().read_request_text()

    def save_request_text(self, text: str) -> None:
        """Save the request text in memory only."""
        self._wish = text

    def prepare(self, base: str) -> None:
        """Do nothing; the clone is created together with its user."""

    def approve(self, draft: DraftProposed, by: str) -> None:
        """Print the approval."""
        del by
        self._go("approve", f"DRAFT-{draft.number}")

    def withdraw(self, draft: DraftProposed, reason: str) -> None:
        """Print the rejection."""
        self._go("reject", f"DRAFT-{draft.number}", f"--reason={reason}")

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """Print the review and end the round."""
        self.tell(f"review DRAFT-{draft.number} in a separate session")
        raise BridgeStoppedError

    def clear_branch(self) -> str:
        """Print the deletion of the branch."""
        self.tell(f"git push --delete {self.remote} {self.branch}")
        return ""

    def retire(self) -> None:
        """End the round; the folder keeps its name."""
        raise BridgeStoppedError

    def _go(self, *words: str) -> CommandExit:
        self.tell(display(f"runner {' '.join(words)}"))
        raise BridgeStoppedError
