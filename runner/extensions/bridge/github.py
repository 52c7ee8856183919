"""The GitHub adapter: its REST API, and GraphQL for edit history and draft state.

Every text from it is untrusted. Source: docs.github.com/rest, version 2022-11-28 (issues, comments,
labels, events, assignees, collaborators, pulls, statuses), and docs.github.com/graphql.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct, field

from runner import effects
from runner.errors import RunnerError
from runner.extensions.bridge.forge import (
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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.extensions.bridge.forge_http import ForgeHttp

DEFAULT_API = "https://api.github.com"

# With `_`: an enterprise names its managed users `NAME_CODE` (docs.github.com, "Username
# considerations for external authentication").
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})/[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9_-]+(?:\[bot\])?")
_PAGE = "per_page=100"
_MISSING = 404
_RIGHTS = 60.0
"""Seconds for which a user's permissions are cached."""
_TELLING = ("labeled", "renamed", "sub_issue_added", "sub_issue_removed")
"""Events of an issue that change its meaning."""
_EDIT = (
    "query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name)"
    "{issue(number:$number){lastEditedAt editor{login}"
    "userContentEdits(first:100){nodes{editedAt editor{login}diff}}}}}"
)
"""Each edit's `diff` is the whole text since then; the first has the original text."""
_TO_DRAFT, _TO_READY = (
    f"mutation($id:ID!){{{name}(input:{{pullRequestId:$id}}){{pullRequest{{isDraft}}}}}}"
    for name in ("convertPullRequestToDraft", "markPullRequestReadyForReview")
)
"""GraphQL: REST opens drafts but ignores `draft` in an edit."""
_PARENT = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d{1,18})")


class GitHub(Struct):
    """One repository, `owner/name`. Raises RunnerError for a name that is none."""

    http: ForgeHttp
    name: str
    _writers: dict[str, tuple[bool, float]] = field(default_factory=dict)
    """By login: whether they may write, and until when this is cached."""

    def __post_init__(self) -> None:
        """Look at the name: it becomes a part of addresses."""
        if not _NAME.fullmatch(self.name) or self.name.endswith(("/.", "/..", ".git")):
            raise RunnerError(
                "not a valid repository name", where=self.name, hint="OWNER/NAME, such as acme/shop"
            )

    @property
    def _at(self) -> str:
        return f"/repos/{self.name}"

    def forget_rights(self) -> None:
        """Ask again who may write: rights are remembered for one round, a minute at most."""
        self._writers.clear()

    # --- what is there ------------------------------------------------------------------

    def find_login(self) -> str:
        """Return the login that the token belongs to."""
        return read_text(read_record(self.http.read("/user")), "login")

    def find_default_branch(self) -> str:
        """Return the default branch, the target of pull requests."""
        return read_text(read_record(self.http.read(self._at)), "default_branch")

    def list_issues(self, label: str) -> list[Issue]:
        """Open issues with a label; GitHub lists pull requests among them."""
        query = f"labels={quote(label, safe='')}&state=open&sort=created&direction=asc&{_PAGE}"
        hint = "close finished issues, or set --label to one that fewer issues have"
        found = self.http.read_all(f"{self._at}/issues?{query}", hint)
        return [make_issue(one) for one in found if "pull_request" not in one]

    def load_issue(self, number: int) -> Issue:
        """Load an issue."""
        return make_issue(read_record(self.http.read(f"{self._at}/issues/{number}")))

    def list_comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first."""
        found = self.http.read_all(f"{self._at}/issues/{number}/comments?{_PAGE}")
        return sorted(map(make_comment, found), key=lambda one: one.id)

    def list_label_events(self, number: int) -> list[LabelEvent]:
        """Return label and rename events of an issue, oldest first."""
        found = self.http.read_all(f"{self._at}/issues/{number}/events?{_PAGE}")
        events = [make_label_event(one) for one in found if one.get("event") in _TELLING]
        return sorted(events, key=lambda one: one.id)

    def list_blockers(self, number: int) -> list[int]:
        """Open issues that have to be closed before this one."""
        path = f"{self._at}/issues/{number}/dependencies/blocked_by?{_PAGE}"
        return [one.number for one in map(make_issue, self.http.read_all(path)) if one.is_open]

    def list_parts(self, number: int) -> list[Issue]:
        """Return the sub-issues of an issue, without those of other repositories."""
        found = self.http.read_all(f"{self._at}/issues/{number}/sub_issues?{_PAGE}")
        here = f"{self._at}/issues/".casefold()
        parts = [one for one in found if here in str(one.get("url")).casefold()]
        return sorted(map(make_issue, parts), key=lambda one: one.number)

    def list_own_issues(self, label: str, login: str) -> list[Issue]:
        """Return the issues that this login opened with this label, open or not."""
        query = f"labels={quote(label, safe='')}&creator={quote(login, safe='')}&state=all&{_PAGE}"
        found = self.http.read_all(f"{self._at}/issues?{query}")
        return [make_issue(one) for one in found if "pull_request" not in one]

    def list_reviews(self, number: int) -> list[Review]:
        """Return the reviews of a pull request, oldest first."""
        found = self.http.read_all(f"{self._at}/pulls/{number}/reviews?{_PAGE}")
        return sorted(map(make_review, found), key=lambda one: one.id)

    def list_line_comments(self, number: int, review: int) -> list[LineComment]:
        """Return the line comments of one review."""
        path = f"{self._at}/pulls/{number}/reviews/{review}/comments?{_PAGE}"
        return [make_line_comment(one) for one in self.http.read_all(path)]

    def list_text_edits(self, number: int) -> list[TextEdit]:
        """Return its former texts, newest last; none if it was never edited."""
        owner, _, name = self.name.partition("/")
        asked = {"owner": owner, "name": name, "number": number}
        answer = self.http.ask(_EDIT, asked)
        return make_text_edits(read_record(read_record(answer.get("repository")).get("issue")))

    def may_write(self, login: str) -> bool:
        """Return whether somebody may push; GitHub maps `maintain` to write, triage to read."""
        if not _LOGIN.fullmatch(login):
            return False
        may, until = self._writers.get(login, (False, 0.0))
        if effects.monotonic() >= until:
            path = f"{self._at}/collaborators/{quote(login, safe='')}/permission"
            try:
                permission = read_record(self.http.read(path)).get("permission")
            except ForgeError as error:
                if error.status != _MISSING:
                    raise
                permission = "none"
            may = permission in ("admin", "write")
            self._writers[login] = (may, effects.monotonic() + _RIGHTS)
        return may

    def find_pull_request(self, branch: str, base: str, login: str) -> PullRequest | None:
        """Return the newest pull request by `login` from this repository's branch, or None."""
        # GitHub filters by `owner:branch` and ignores a bare branch (docs.github.com, "List pull
        # requests").
        head = quote(f"{self.name.partition('/')[0]}:{branch}", safe="")
        onto = quote(base, safe="")
        path = f"{self._at}/pulls?head={head}&base={onto}&state=all&direction=desc&{_PAGE}"
        # A fork of the same owner has the same head: `home` tells them apart.
        found = [
            one
            for one in map(make_pull_request, self.http.read_all(path))
            if one.author == login and one.home.casefold() == self.name.casefold()
        ]
        return max(found, key=lambda one: one.number, default=None)

    def list_statuses(self, commit: str) -> list[tuple[str, str]]:
        """Return contexts and states of a commit, newest first."""
        found = self.http.read_all(f"{self._at}/commits/{commit}/statuses?{_PAGE}")
        return [(read_text(one, "context"), read_text(one, "state")) for one in found]

    # --- what is changed ----------------------------------------------------------------

    def create_comment(self, number: int, body: str) -> Comment:
        """Create a comment."""
        path = f"{self._at}/issues/{number}/comments"
        return make_comment(read_record(self.http.write("POST", path, {"body": body})))

    def edit_comment(self, id_: int, body: str) -> None:
        """Replace the text of a comment."""
        self.http.write("PATCH", f"{self._at}/issues/comments/{id_}", {"body": body})

    def delete_comment(self, id_: int) -> None:
        """Delete a comment; a missing one is no error."""
        self._write_unless(_MISSING, "DELETE", f"{self._at}/issues/comments/{id_}")

    def add_label(self, number: int, label: str) -> None:
        """Add a label; GitHub creates one that the repository does not have."""
        self.http.write("POST", f"{self._at}/issues/{number}/labels", {"labels": [label]})

    def remove_label(self, number: int, label: str) -> None:
        """Remove a label; a missing one is no error."""
        path = f"{self._at}/issues/{number}/labels/{quote(label, safe='')}"
        self._write_unless(_MISSING, "DELETE", path)

    def assign(self, number: int, login: str) -> None:
        """Assign a login; GitHub skips one that cannot be assigned."""
        path, body = f"{self._at}/issues/{number}/assignees", {"assignees": [login]}
        self._write_unless(UNFIT, "POST", path, body)

    def unassign(self, number: int, login: str) -> None:
        """Unassign a login; one that is not assigned is no error."""
        path, body = f"{self._at}/issues/{number}/assignees", {"assignees": [login]}
        self._write_unless(_MISSING, "DELETE", path, body)

    def create_issue(self, title: str, body: str, label: str) -> Issue:
        """Open an issue of our own."""
        fields = {"title": title, "body": body, "labels": [label]}
        return make_issue(read_record(self.http.write("POST", f"{self._at}/issues", fields)))

    def add_part(self, number: int, part: Issue) -> None:
        """Add an issue as a sub-issue of another; the forge rejects a second parent."""
        path, body = f"{self._at}/issues/{number}/sub_issues", {"sub_issue_id": part.id}
        self._write_unless(UNFIT, "POST", path, body)

    def edit_issue(self, number: int, *, title: str, is_open: bool) -> None:
        """Set title and state of an issue that this login opened."""
        body = {"title": title, "state": "open" if is_open else "closed"}
        self.http.write("PATCH", f"{self._at}/issues/{number}", body)

    def create_pull_request(
        self, branch: str, base: str, title: str, body: str, *, is_draft: bool
    ) -> PullRequest:
        """Open one; GitHub refuses a second one for the same branches, and some drafts."""
        fields = {"head": branch, "base": base, "title": title, "body": body, "draft": is_draft}
        return make_pull_request(read_record(self.http.write("POST", f"{self._at}/pulls", fields)))

    def set_draft(self, pull: PullRequest, *, is_draft: bool) -> None:
        """Turn a pull request into a draft, or mark it as ready for review."""
        self.http.ask(_TO_DRAFT if is_draft else _TO_READY, {"id": pull.node}, is_write=True)

    def edit_pull_request(self, number: int, body: str) -> None:
        """Replace the text of a pull request."""
        self.http.write("PATCH", f"{self._at}/pulls/{number}", {"body": body})

    def set_status(self, commit: str, context: str, text: str) -> None:
        """Set a successful status on a commit."""
        body = {"state": "success", "context": context, "description": text}
        self.http.write("POST", f"{self._at}/statuses/{commit}", body)

    def _write_unless(
        self, fine: int, method: str, path: str, body: Mapping[str, object] | None = None
    ) -> None:
        try:
            self.http.write(method, path, body)
        except ForgeError as error:
            if error.status != fine:
                raise


def read_record(value: object) -> Mapping[str, object]:
    """Return the value as an object. Raises ForgeError for anything else."""
    if not isinstance(value, dict):
        raise ForgeError("the forge's answer is not an object", hint="check the address in --api")
    return value


def read_text(record: Mapping[str, object], name: str) -> str:
    """Return a text field of a record. Raises ForgeError if it is missing."""
    value = record.get(name)
    if not isinstance(value, str):
        raise ForgeError(f"the forge's answer has no {name}", hint="check the address in --api")
    return value


def _read_number(record: Mapping[str, object], name: str) -> int:
    value = record.get(name)
    if not isinstance(value, int):
        raise ForgeError(f"the forge's answer has no {name}", hint="check the address in --api")
    return value


def _read_login(record: Mapping[str, object], name: str) -> str:
    """Return the login of a user in a record; empty if the account is gone."""
    somebody = record.get(name)
    login = somebody.get("login") if isinstance(somebody, dict) else None
    return login if isinstance(login, str) else ""


def _read_label(label: object) -> str:
    """Return a label's name in lower case, since labels on GitHub never differ by case alone."""
    name = label.get("name") if isinstance(label, dict) else label
    return name.casefold() if isinstance(name, str) else ""


def _read_old_title(record: Mapping[str, object]) -> str:
    rename = record.get("rename")
    title = rename.get("from") if isinstance(rename, dict) else ""
    return title if isinstance(title, str) else ""


def make_label_event(record: Mapping[str, object]) -> LabelEvent:
    """Convert an event record about a label, title or parts. Raises ForgeError."""
    return LabelEvent(
        _read_number(record, "id"),
        _read_label(record.get("label")) if record["event"] == "labeled" else "",
        _read_login(record, "actor"),
        read_text(record, "created_at"),
        _read_old_title(record),
    )


def make_text_edits(issue: Mapping[str, object]) -> list[TextEdit]:
    """Return the edits of an issue's text, newest last. Raises ForgeError.

    GitHub lists the hundred newest; the last edit has fields of its own.
    """
    if issue.get("lastEditedAt") is None:
        return []
    last = TextEdit(_read_login(issue, "editor"), read_text(issue, "lastEditedAt"))
    kept = issue.get("userContentEdits")
    nodes = kept.get("nodes") if isinstance(kept, dict) else None
    edits = [_make_edit(one) for one in nodes if one] if isinstance(nodes, list) else []
    listed = sorted(edits, key=lambda one: one.time)
    return listed if listed and listed[-1].time == last.time else [*listed, last]


def _make_edit(value: object) -> TextEdit:
    one = read_record(value)
    text = one.get("diff")
    return TextEdit(
        _read_login(one, "editor"),
        read_text(one, "editedAt"),
        text if isinstance(text, str) else None,
    )


def make_issue(record: Mapping[str, object]) -> Issue:
    """Create an issue from a record. Raises ForgeError."""
    labels, assignees = record.get("labels"), record.get("assignees")
    people = assignees if isinstance(assignees, list) else []
    return Issue(
        _read_number(record, "number"),
        read_text(record, "title"),
        str(record.get("body") or ""),
        _read_login(record, "user"),
        frozenset(map(_read_label, labels if isinstance(labels, list) else [])),
        record.get("state") == "open",
        tuple(str(one.get("login")) for one in people if isinstance(one, dict)),
        read_text(record, "updated_at"),
        str(record.get("html_url") or ""),
        _read_number(record, "id"),
        _read_count(record, "issue_dependencies_summary", "blocked_by"),
        _read_count(record, "sub_issues_summary", "total"),
        _find_parent(record),
    )


def _read_count(record: Mapping[str, object], name: str, what: str) -> int:
    """Return a count of a summary; 0 on older forges, which have none."""
    summary = record.get(name)
    value = summary.get(what) if isinstance(summary, dict) else 0
    return value if isinstance(value, int) else 0


def _find_parent(record: Mapping[str, object]) -> int:
    """Return the number of the parent issue, or 0 if it is in another repository."""
    above = _PARENT.search(str(record.get("parent_issue_url") or ""))
    own = _PARENT.search(str(record.get("url") or ""))
    # Owner and repository names on GitHub are case-insensitive.
    is_here = above and own and above[1].casefold() == own[1].casefold()
    return int(above[2]) if above and is_here else 0


def make_review(record: Mapping[str, object]) -> Review:
    """Create a review from a record. Raises ForgeError."""
    return Review(
        _read_number(record, "id"),
        _read_login(record, "user"),
        record.get("state") == "CHANGES_REQUESTED",
        str(record.get("body") or ""),
    )


def make_line_comment(record: Mapping[str, object]) -> LineComment:
    """Create a review comment on a line from a record. Raises ForgeError."""
    # `line` is null once the diff has moved; `original_line` keeps the first position.
    line, text = record.get("line") or record.get("original_line"), str(record.get("body") or "")
    return LineComment(read_text(record, "path"), line if isinstance(line, int) else 0, text)


def make_comment(record: Mapping[str, object]) -> Comment:
    """Create a comment from a record. Raises ForgeError."""
    return Comment(
        _read_number(record, "id"),
        _read_login(record, "user"),
        str(record.get("body") or ""),
        read_text(record, "created_at"),
        read_text(record, "updated_at"),
    )


def make_pull_request(record: Mapping[str, object]) -> PullRequest:
    """Create a pull request from a record. Raises ForgeError."""
    home = read_record(record.get("head")).get("repo")  # null where a fork is gone
    home = home.get("full_name") if isinstance(home, dict) else None
    return PullRequest(
        _read_number(record, "number"),
        str(record.get("html_url") or ""),
        str(record.get("body") or ""),
        record.get("state") == "open",
        record.get("merged_at") is not None,
        read_text(read_record(record.get("head")), "sha"),
        _read_login(record, "user"),
        home if isinstance(home, str) else "",
        record.get("draft") is True,
        str(record.get("node_id") or ""),
    )
