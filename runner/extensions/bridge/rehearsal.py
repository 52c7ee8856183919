"""A dry run of a round: it prints each call that writes, and makes none.

A printed call counts as done for the rest of the round, so that it goes as far as it would go;
where a plan would be drafted or something built, it ends: what came of it nobody knows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING

from runner import effects
from runner.extensions.bridge.forge_http import ForgeHttp
from runner.extensions.bridge.github import GitHub
from runner.extensions.bridge.issue_clone import IssueClone
from runner.extensions.bridge.issue_context import BridgeStoppedError
from runner.text.display import display

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runner.app.draft.draft_review import DraftVerdict
    from runner.extensions.bridge.builder import CommandExit
    from runner.extensions.bridge.forge import Comment, Issue, PullRequest, Review
    from runner.journal.session_events import DraftProposed

_NOT_THERE_YET = 10**15
"""Numbers of what would be made begin here: they are nobody's."""


@dataclass
class RehearsalHttp(ForgeHttp):
    """Send reads; print a write and answer as if it had been made."""

    tell: Callable[[str], object] = str
    _numbers: count[int] = field(default_factory=lambda: count(_NOT_THERE_YET))

    def write(self, method: str, path: str, document: object = None) -> object:
        """Tell it."""
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


@dataclass
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
        """As it would be."""
        issue, changes = super().load_issue(number), self._labels.get(number, {})
        on = {one for one, is_on in changes.items() if is_on}
        return replace(issue, labels=(issue.labels | on) - (changes.keys() - on))

    def list_comments(self, number: int) -> list[Comment]:
        """All comments, ours as they would be."""
        there = super().list_comments(number) if number < _NOT_THERE_YET else []
        found = [*there, *self._comments.get(number, ())]
        return [replace(one, body=self._texts.get(one.id, one.body)) for one in found]

    def list_reviews(self, number: int) -> list[Review]:
        """Of what is there."""
        return super().list_reviews(number) if number < _NOT_THERE_YET else []

    def list_own_issues(self, label: str, login: str) -> list[Issue]:
        """What would be there."""
        return [*super().list_own_issues(label, login), *self._issues]

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """As it would be."""
        found = self._pulls.get(branch) or super().find_pull_request(branch, base, login)
        if found is None:
            return None
        body = self._texts.get(-found.number, found.body)
        is_draft = self._drafts.get(found.number, found.is_draft)
        # Of one that would be opened nobody tells a head: it is what would be called proven.
        head = found.head or next(reversed(self._statuses), "")
        return replace(found, body=body, is_draft=is_draft, head=head)

    def list_statuses(self, commit: str) -> list[tuple[str, str]]:
        """With those that would be set."""
        return [*self._statuses.get(commit, ()), *super().list_statuses(commit)]

    def create_comment(self, number: int, body: str) -> Comment:
        """Tell it."""
        made = replace(super().create_comment(number, body), author=self.login)
        self._comments.setdefault(number, []).append(made)
        return made

    def edit_comment(self, id_: int, body: str) -> None:
        """Tell it."""
        super().edit_comment(id_, body)
        self._texts[id_] = body

    def add_label(self, number: int, label: str) -> None:
        """Tell it."""
        super().add_label(number, label)
        self._labels.setdefault(number, {})[label] = True

    def remove_label(self, number: int, label: str) -> None:
        """Tell it."""
        super().remove_label(number, label)
        self._labels.setdefault(number, {})[label] = False

    def create_pull_request(
        self, branch: str, base: str, title: str, body: str, *, is_draft: bool
    ) -> PullRequest:
        """Tell it."""
        made = super().create_pull_request(branch, base, title, body, is_draft=is_draft)
        self._pulls[branch] = made
        return made

    def set_draft(self, pull: PullRequest, *, is_draft: bool) -> None:
        """Tell it."""
        super().set_draft(pull, is_draft=is_draft)
        self._drafts[pull.number] = is_draft

    def edit_pull_request(self, number: int, body: str) -> None:
        """Tell it."""
        super().edit_pull_request(number, body)
        self._texts[-number] = body

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Tell it."""
        super().set_status(commit, context, text)
        self._statuses.setdefault(commit, []).append((context, "success"))

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Tell it."""
        made = replace(super().create_issue(title, body, label), author=self.login)
        self._issues.append(made)
        return made


@dataclass
class RehearsedClone(IssueClone):
    """The clone as it is; print what would change it or start a command, and end the round."""

    tell: Callable[[str], object] = str
    _wish: str = ""

    def read_wish(self) -> str:
        """What is remembered, or would be by now."""
        return self._wish or super().read_wish()

    def keep_wish(self, text: str) -> None:
        """Only here."""
        self._wish = text

    def prepare(self, base: str) -> None:
        """Nothing: a clone is made with what needs it."""

    def approve(self, draft: DraftProposed, by: str) -> None:
        """Tell it."""
        del by
        self._go("approve", f"DRAFT-{draft.number}")

    def withdraw(self, draft: DraftProposed, reason: str) -> None:
        """Tell it."""
        self._go("reject", f"DRAFT-{draft.number}", f"--reason={reason}")

    def review(self, draft: DraftProposed) -> DraftVerdict:
        """Tell it."""
        self.tell(f"review DRAFT-{draft.number} in a separate session")
        raise BridgeStoppedError

    def clear_branch(self) -> str:
        """Tell it."""
        self.tell(f"git push --delete {self.remote} {self.branch}")
        return ""

    def retire(self) -> None:
        """Nothing: the folder keeps its name."""
        raise BridgeStoppedError

    def _go(self, *words: str) -> CommandExit:
        self.tell(display(f"runner {' '.join(words)}"))
        raise BridgeStoppedError
