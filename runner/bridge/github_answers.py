"""What GitHub's documents say, as a forge's nouns. Each text in them is a stranger's.

Source: docs.github.com/rest, version 2022-11-28; of edits, the GraphQL reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.bridge.forge import (
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

_PARENT = re.compile(r"/repos/([^/]+/[^/]+)/issues/(\d{1,18})")


def read_record(said: object) -> Mapping[str, object]:
    """An object. Raises ForgeError for anything else."""
    if not isinstance(said, dict):
        raise ForgeError("the forge's answer lacks what was asked for", hint="is --api its API?")
    return said


def read_text(said: Mapping[str, object], name: str) -> str:
    """One text of it. Raises ForgeError where there is none."""
    value = said.get(name)
    if not isinstance(value, str):
        raise ForgeError(f"the forge's answer has no {name}", hint="is --api its API?")
    return value


def _read_number(said: Mapping[str, object], name: str) -> int:
    value = said.get(name)
    if not isinstance(value, int):
        raise ForgeError(f"the forge's answer has no {name}", hint="is --api its API?")
    return value


def _read_login(said: Mapping[str, object], name: str) -> str:
    """Of somebody, who may be gone: then empty."""
    somebody = said.get(name)
    login = somebody.get("login") if isinstance(somebody, dict) else None
    return login if isinstance(login, str) else ""


def _read_label(said: object) -> str:
    """Its name in small letters: at GitHub labels differ by more than their case."""
    name = said.get("name") if isinstance(said, dict) else said
    return name.casefold() if isinstance(name, str) else ""


def _read_old_title(said: Mapping[str, object]) -> str:
    rename = said.get("rename")
    title = rename.get("from") if isinstance(rename, dict) else ""
    return title if isinstance(title, str) else ""


def make_label_event(said: Mapping[str, object]) -> LabelEvent:
    """That it was labelled, or that its title or parts changed. Raises ForgeError."""
    return LabelEvent(
        _read_number(said, "id"),
        _read_label(said.get("label")) if said["event"] == "labeled" else "",
        _read_login(said, "actor"),
        read_text(said, "created_at"),
        _read_old_title(said),
    )


def make_text_edits(issue: Mapping[str, object]) -> list[TextEdit]:
    """The texts that an issue had, the newest last. Raises ForgeError.

    A hundred of the newest are given; which is the last one is told by itself.
    """
    if issue.get("lastEditedAt") is None:
        return []
    last = TextEdit(_read_login(issue, "editor"), read_text(issue, "lastEditedAt"))
    kept = issue.get("userContentEdits")
    nodes = kept.get("nodes") if isinstance(kept, dict) else None
    edits = [_make_edit(one) for one in nodes if one] if isinstance(nodes, list) else []
    told = sorted(edits, key=lambda one: one.time)
    return told if told and told[-1].time == last.time else [*told, last]


def _make_edit(said: object) -> TextEdit:
    one = read_record(said)
    text = one.get("diff")
    return TextEdit(
        _read_login(one, "editor"),
        read_text(one, "editedAt"),
        text if isinstance(text, str) else None,
    )


def make_issue(said: Mapping[str, object]) -> Issue:
    """An issue. Raises ForgeError."""
    labels, assignees = said.get("labels"), said.get("assignees")
    people = assignees if isinstance(assignees, list) else []
    return Issue(
        _read_number(said, "number"),
        read_text(said, "title"),
        str(said.get("body") or ""),
        _read_login(said, "user"),
        frozenset(map(_read_label, labels if isinstance(labels, list) else [])),
        said.get("state") == "open",
        tuple(str(one.get("login")) for one in people if isinstance(one, dict)),
        read_text(said, "updated_at"),
        str(said.get("html_url") or ""),
        _read_number(said, "id"),
        _read_count(said, "issue_dependencies_summary", "blocked_by"),
        _read_count(said, "sub_issues_summary", "total"),
        _find_parent(said),
    )


def _read_count(said: Mapping[str, object], name: str, what: str) -> int:
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


def make_review(said: Mapping[str, object]) -> Review:
    """A review. Raises ForgeError."""
    return Review(
        _read_number(said, "id"),
        _read_login(said, "user"),
        said.get("state") == "CHANGES_REQUESTED",
        str(said.get("body") or ""),
    )


def make_line_comment(said: Mapping[str, object]) -> LineComment:
    """A comment of a review on a line. Raises ForgeError."""
    # `line` is null once the diff has moved on; where it was said, `original_line` keeps.
    line = said.get("line") or said.get("original_line")
    return LineComment(
        read_text(said, "path"), line if isinstance(line, int) else 0, str(said.get("body") or "")
    )


def make_comment(said: Mapping[str, object]) -> Comment:
    """A comment. Raises ForgeError."""
    return Comment(
        _read_number(said, "id"),
        _read_login(said, "user"),
        str(said.get("body") or ""),
        read_text(said, "created_at"),
        read_text(said, "updated_at"),
    )


def make_pull_request(said: Mapping[str, object]) -> PullRequest:
    """A pull request. Raises ForgeError."""
    home = read_record(said.get("head")).get("repo")  # null where a fork is gone
    home = home.get("full_name") if isinstance(home, dict) else None
    return PullRequest(
        _read_number(said, "number"),
        str(said.get("html_url") or ""),
        str(said.get("body") or ""),
        said.get("state") == "open",
        said.get("merged_at") is not None,
        read_text(read_record(said.get("head")), "sha"),
        _read_login(said, "user"),
        home if isinstance(home, str) else "",
        said.get("draft") is True,
        str(said.get("node_id") or ""),
    )
