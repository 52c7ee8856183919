"""GitHub's REST API as a forge; one question is asked by GraphQL, which alone knows who edited.

Source: docs.github.com/rest, version 2022-11-28: issues, comments, labels, events, assignees,
collaborators, pulls, statuses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from runner import effects
from runner.bridge.forge import (
    UNFIT,
    Comment,
    ForgeError,
    Issue,
    LabelEvent,
    LineComment,
    PullRequest,
    Review,
    TextEdit,
)
from runner.errors import RunnerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.bridge.forge_http import ForgeHttp

DEFAULT_API = "https://api.github.com"
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9._-]{1,100}")
_PAGE = "per_page=100"
_MISSING = 404
_RIGHTS = 60.0
"""Seconds for which somebody's rights are believed."""
_TELLING = ("labeled", "renamed", "sub_issue_added", "sub_issue_removed")
"""Events of an issue that change what it says."""
_PARENT = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d{1,18})")
_EDIT = (
    "query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name)"
    "{issue(number:$number){lastEditedAt editor{login}"
    "userContentEdits(first:100){nodes{editedAt editor{login}diff}}}}}"
)
"""Each edit's `diff` is the whole text since then, the first one's as it was first said. A hundred
of the newest are given; which is the last one is asked for by itself."""
Record = "Mapping[str, object]"


@dataclass
class GitHub:
    """One repository, `owner/name`. Raises RunnerError for a name that is none."""

    http: ForgeHttp
    name: str
    _writers: dict[str, tuple[bool, float]] = field(default_factory=dict)
    """By login, and until when it is believed."""

    def __post_init__(self) -> None:
        """Look at the name: it becomes a part of addresses."""
        if not _NAME.fullmatch(self.name) or self.name.endswith(("/.", "/..", ".git")):
            raise RunnerError(
                "there is no such repository", where=self.name, hint="OWNER/NAME, as acme/shop"
            )

    @property
    def _at(self) -> str:
        return f"/repos/{self.name}"

    def forget_rights(self) -> None:
        """Ask again who may write: rights are remembered for one round, a minute at most."""
        self._writers.clear()

    # --- what is there ------------------------------------------------------------------

    def find_login(self) -> str:
        """Who writes with this token."""
        return _text(_record(self.http.read("/user")), "login")

    def find_default_branch(self) -> str:
        """The branch that pull requests go into."""
        return _text(_record(self.http.read(self._at)), "default_branch")

    def list_issues(self, label: str) -> list[Issue]:
        """Open issues with a label; GitHub lists pull requests among them."""
        query = f"labels={quote(label, safe='')}&state=open&sort=created&direction=asc&{_PAGE}"
        found = self.http.read_all(f"{self._at}/issues?{query}")
        return [_issue(one) for one in found if "pull_request" not in one]

    def load_issue(self, number: int) -> Issue:
        """One issue."""
        return _issue(_record(self.http.read(f"{self._at}/issues/{number}")))

    def list_comments(self, number: int) -> list[Comment]:
        """All comments, the oldest first."""
        found = self.http.read_all(f"{self._at}/issues/{number}/comments?{_PAGE}")
        return sorted(map(_comment, found), key=lambda one: one.id)

    def list_label_events(self, number: int) -> list[LabelEvent]:
        """Who labelled and renamed it, the oldest first."""
        found = self.http.read_all(f"{self._at}/issues/{number}/events?{_PAGE}")
        events = [
            LabelEvent(
                _number(one, "id"),
                _label(one.get("label")) if one["event"] == "labeled" else "",
                _login(one, "actor"),
                _text(one, "created_at"),
                _old_title(one),
            )
            for one in found
            if one.get("event") in _TELLING
        ]
        return sorted(events, key=lambda one: one.id)

    def list_blockers(self, number: int) -> list[int]:
        """Open issues that have to be closed before this one."""
        path = f"{self._at}/issues/{number}/dependencies/blocked_by?{_PAGE}"
        return [one.number for one in map(_issue, self.http.read_all(path)) if one.is_open]

    def list_parts(self, number: int) -> list[Issue]:
        """Issues below an issue; those of other repositories are not ours to read."""
        found = self.http.read_all(f"{self._at}/issues/{number}/sub_issues?{_PAGE}")
        here = f"{self._at}/issues/".casefold()
        parts = [one for one in found if here in str(one.get("url")).casefold()]
        return sorted(map(_issue, parts), key=lambda one: one.number)

    def list_own_issues(self, label: str, login: str) -> list[Issue]:
        """What this login opened and labelled so, open or not."""
        query = f"labels={quote(label, safe='')}&creator={quote(login, safe='')}&state=all&{_PAGE}"
        found = self.http.read_all(f"{self._at}/issues?{query}")
        return [_issue(one) for one in found if "pull_request" not in one]

    def list_reviews(self, number: int) -> list[Review]:
        """Reviews of a pull request, the oldest first."""
        found = self.http.read_all(f"{self._at}/pulls/{number}/reviews?{_PAGE}")
        return sorted(map(_review, found), key=lambda one: one.id)

    def list_line_comments(self, number: int, review: int) -> list[LineComment]:
        """What one review says of lines."""
        path = f"{self._at}/pulls/{number}/reviews/{review}/comments?{_PAGE}"
        return [_line_comment(one) for one in self.http.read_all(path)]

    def list_text_edits(self, number: int) -> list[TextEdit]:
        """The texts that it had, the newest last; none where it is as it was first said."""
        owner, _, name = self.name.partition("/")
        asked = {"owner": owner, "name": name, "number": number}
        said = _record(self.http.write("POST", "/graphql", {"query": _EDIT, "variables": asked}))
        issue = _record(_record(_record(said.get("data")).get("repository")).get("issue"))
        if issue.get("lastEditedAt") is None:
            return []
        last = TextEdit(_login(issue, "editor"), _text(issue, "lastEditedAt"))
        kept = issue.get("userContentEdits")
        nodes = kept.get("nodes") if isinstance(kept, dict) else None
        edits = [_edit(one) for one in nodes if one] if isinstance(nodes, list) else []
        told = sorted(edits, key=lambda one: one.time)
        return told if told and told[-1].time == last.time else [*told, last]

    def may_write(self, login: str) -> bool:
        """Whether somebody may push; `maintain` is told as write, and triage as read."""
        if not re.fullmatch(r"[A-Za-z0-9-]+(?:\[bot\])?", login):
            return False
        may, until = self._writers.get(login, (False, 0.0))
        if effects.monotonic() >= until:
            path = f"{self._at}/collaborators/{quote(login, safe='')}/permission"
            try:
                said = _record(self.http.read(path)).get("permission")
            except ForgeError as error:
                if error.status != _MISSING:
                    raise
                said = "none"
            may = said in ("admin", "write")
            self._writers[login] = (may, effects.monotonic() + _RIGHTS)
        return may

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """The newest of a branch of this repository; whoever may read can open one of it, too."""
        # GitHub filters by `owner:branch` and passes over a branch alone (docs.github.com, "List
        # pull requests").
        head = quote(f"{self.name.partition('/')[0]}:{branch}", safe="")
        onto = quote(base, safe="")
        path = f"{self._at}/pulls?head={head}&base={onto}&state=all&direction=desc&{_PAGE}"
        # A fork of the same owner has the same head: `home` tells them apart.
        found = [
            one
            for one in map(_pull, self.http.read_all(path))
            if one.author == login and one.home.casefold() == self.name.casefold()
        ]
        return max(found, key=lambda one: one.number, default=None)

    def list_statuses(self, commit: str) -> list[tuple[str, str]]:
        """Contexts and states of a commit, the newest first."""
        found = self.http.read_all(f"{self._at}/commits/{commit}/statuses?{_PAGE}")
        return [(_text(one, "context"), _text(one, "state")) for one in found]

    # --- what is changed ----------------------------------------------------------------

    def create_comment(self, number: int, body: str) -> Comment:
        """Say something."""
        path = f"{self._at}/issues/{number}/comments"
        return _comment(_record(self.http.write("POST", path, {"body": body})))

    def edit_comment(self, id_: int, body: str) -> None:
        """Put another text into a comment."""
        self.http.write("PATCH", f"{self._at}/issues/comments/{id_}", {"body": body})

    def delete_comment(self, id_: int) -> None:
        """Take a comment away; one that is gone already is no mistake."""
        self._write_unless(_MISSING, "DELETE", f"{self._at}/issues/comments/{id_}")

    def add_label(self, number: int, label: str) -> None:
        """Put a label on; GitHub makes one that the repository does not have."""
        self.http.write("POST", f"{self._at}/issues/{number}/labels", {"labels": [label]})

    def remove_label(self, number: int, label: str) -> None:
        """Take a label off."""
        path = f"{self._at}/issues/{number}/labels/{quote(label, safe='')}"
        self._write_unless(_MISSING, "DELETE", path)

    def assign(self, number: int, login: str) -> None:
        """Say whose turn it is; GitHub passes over who cannot be assigned."""
        path, said = f"{self._at}/issues/{number}/assignees", {"assignees": [login]}
        self._write_unless(UNFIT, "POST", path, said)

    def unassign(self, number: int, login: str) -> None:
        """It is not their turn any more."""
        path, said = f"{self._at}/issues/{number}/assignees", {"assignees": [login]}
        self._write_unless(_MISSING, "DELETE", path, said)

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Open an issue of our own."""
        said = {"title": title, "body": body, "labels": [label]}
        return _issue(_record(self.http.write("POST", f"{self._at}/issues", said)))

    def add_part(self, number: int, part: Issue) -> None:
        """Put an issue below another one; the forge refuses a second parent."""
        path, said = f"{self._at}/issues/{number}/sub_issues", {"sub_issue_id": part.id}
        self._write_unless(UNFIT, "POST", path, said)

    def edit_issue(self, number: int, *, title: str, is_open: bool) -> None:
        """Have an issue of our own say this, open or not."""
        said = {"title": title, "state": "open" if is_open else "closed"}
        self.http.write("PATCH", f"{self._at}/issues/{number}", said)

    def create_pull_request(self, branch: str, base: str, title: str, body: str) -> PullRequest:
        """Open one; GitHub refuses a second one for the same branches."""
        said = {"head": branch, "base": base, "title": title, "body": body}
        return _pull(_record(self.http.write("POST", f"{self._at}/pulls", said)))

    def edit_pull_request(self, number: int, body: str) -> None:
        """Put another text into it."""
        self.http.write("PATCH", f"{self._at}/pulls/{number}", {"body": body})

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Say of a commit that a check of it passed."""
        said = {"state": "success", "context": context, "description": text}
        self.http.write("POST", f"{self._at}/statuses/{commit}", said)

    def _write_unless(
        self, fine: int, method: str, path: str, said: Mapping[str, object] | None = None
    ) -> None:
        try:
            self.http.write(method, path, said)
        except ForgeError as error:
            if error.status != fine:
                raise


# --- answers ----------------------------------------------------------------------------


def _record(said: object) -> Mapping[str, object]:
    if not isinstance(said, dict):
        raise ForgeError("the forge's answer lacks what was asked for", hint="is --api its API?")
    return said


def _text(said: Mapping[str, object], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str):
        raise ForgeError(f"the forge's answer has no {name}", hint="is --api its API?")
    return value


def _number(said: Mapping[str, object], name: str) -> int:
    value = said.get(name)
    if not isinstance(value, int):
        raise ForgeError(f"the forge's answer has no {name}", hint="is --api its API?")
    return value


def _login(said: Mapping[str, object], name: str) -> str:
    """Of somebody, who may be gone: then empty."""
    somebody = said.get(name)
    login = somebody.get("login") if isinstance(somebody, dict) else None
    return login if isinstance(login, str) else ""


def _label(said: object) -> str:
    """Its name in small letters: at GitHub labels differ by more than their case."""
    name = said.get("name") if isinstance(said, dict) else said
    return name.casefold() if isinstance(name, str) else ""


def _old_title(said: Mapping[str, object]) -> str:
    rename = said.get("rename")
    title = rename.get("from") if isinstance(rename, dict) else ""
    return title if isinstance(title, str) else ""


def _edit(said: object) -> TextEdit:
    one = _record(said)
    text = one.get("diff")
    return TextEdit(
        _login(one, "editor"), _text(one, "editedAt"), text if isinstance(text, str) else None
    )


def _issue(said: Mapping[str, object]) -> Issue:
    labels, assignees = said.get("labels"), said.get("assignees")
    people = assignees if isinstance(assignees, list) else []
    return Issue(
        _number(said, "number"),
        _text(said, "title"),
        str(said.get("body") or ""),
        _login(said, "user"),
        frozenset(map(_label, labels if isinstance(labels, list) else [])),
        said.get("state") == "open",
        tuple(str(one.get("login")) for one in people if isinstance(one, dict)),
        _text(said, "updated_at"),
        str(said.get("html_url") or ""),
        _number(said, "id"),
        _count(said, "issue_dependencies_summary", "blocked_by"),
        _count(said, "sub_issues_summary", "total"),
        _find_parent(said),
    )


def _count(said: Mapping[str, object], name: str, what: str) -> int:
    """Of a summary that older forges do not give: then 0."""
    summary = said.get(name)
    value = summary.get(what) if isinstance(summary, dict) else 0
    return value if isinstance(value, int) else 0


def _find_parent(said: Mapping[str, object]) -> int:
    """The number of the issue above, where that is one of the same repository."""
    above = _PARENT.search(str(said.get("parent_issue_url") or ""))
    own = _PARENT.search(str(said.get("url") or ""))
    # Names of owners and repositories differ at GitHub by more than their case.
    is_here = above and own and above[1].casefold() == own[1].casefold()
    return int(above[2]) if above and is_here else 0


def _review(said: Mapping[str, object]) -> Review:
    return Review(
        _number(said, "id"),
        _login(said, "user"),
        said.get("state") == "CHANGES_REQUESTED",
        str(said.get("body") or ""),
    )


def _line_comment(said: Mapping[str, object]) -> LineComment:
    # `line` is null once the diff has moved on; where it was said, `original_line` keeps.
    line = said.get("line") or said.get("original_line")
    return LineComment(
        _text(said, "path"), line if isinstance(line, int) else 0, str(said.get("body") or "")
    )


def _comment(said: Mapping[str, object]) -> Comment:
    return Comment(
        _number(said, "id"),
        _login(said, "user"),
        str(said.get("body") or ""),
        _text(said, "created_at"),
        _text(said, "updated_at"),
    )


def _pull(said: Mapping[str, object]) -> PullRequest:
    home = _record(said.get("head")).get("repo")  # null where a fork is gone
    home = home.get("full_name") if isinstance(home, dict) else None
    return PullRequest(
        _number(said, "number"),
        str(said.get("html_url") or ""),
        str(said.get("body") or ""),
        said.get("state") == "open",
        said.get("merged_at") is not None,
        _text(_record(said.get("head")), "sha"),
        _login(said, "user"),
        home if isinstance(home, str) else "",
    )
