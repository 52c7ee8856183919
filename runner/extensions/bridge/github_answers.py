"""What GitHub's documents say, as a forge's nouns. Each text in them is a stranger's.

Source: docs.github.com/rest, version 2022-11-28; of edits, the GraphQL reference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runner.extensions.bridge.forge import (
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


def read_record(value: object) -> Mapping[str, object]:
    """An object. Raises ForgeError for anything else."""
    if not isinstance(value, dict):
        raise ForgeError("the forge's answer is not an object", hint="check the address in --api")
    return value


def read_text(record: Mapping[str, object], name: str) -> str:
    """One text of it. Raises ForgeError where there is none."""
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
    """Of somebody, who may be gone: then empty."""
    somebody = record.get(name)
    login = somebody.get("login") if isinstance(somebody, dict) else None
    return login if isinstance(login, str) else ""


def _read_label(label: object) -> str:
    """Its name in small letters: at GitHub labels differ by more than their case."""
    name = label.get("name") if isinstance(label, dict) else label
    return name.casefold() if isinstance(name, str) else ""


def _read_old_title(record: Mapping[str, object]) -> str:
    rename = record.get("rename")
    title = rename.get("from") if isinstance(rename, dict) else ""
    return title if isinstance(title, str) else ""


def make_label_event(record: Mapping[str, object]) -> LabelEvent:
    """That it was labelled, or that its title or parts changed. Raises ForgeError."""
    return LabelEvent(
        _read_number(record, "id"),
        _read_label(record.get("label")) if record["event"] == "labeled" else "",
        _read_login(record, "actor"),
        read_text(record, "created_at"),
        _read_old_title(record),
    )


def make_text_edits(issue: Mapping[str, object]) -> list[TextEdit]:
    """The texts that an issue had, the newest last. Raises ForgeError.

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
    """An issue. Raises ForgeError."""
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
    """Of a summary that older forges do not give: then 0."""
    summary = record.get(name)
    value = summary.get(what) if isinstance(summary, dict) else 0
    return value if isinstance(value, int) else 0


def _find_parent(record: Mapping[str, object]) -> int:
    """The number of the issue above, where that is one of the same repository."""
    above = _PARENT.search(str(record.get("parent_issue_url") or ""))
    own = _PARENT.search(str(record.get("url") or ""))
    # Names of owners and repositories differ at GitHub by more than their case.
    is_here = above and own and above[1].casefold() == own[1].casefold()
    return int(above[2]) if above and is_here else 0


def make_review(record: Mapping[str, object]) -> Review:
    """A review. Raises ForgeError."""
    return Review(
        _read_number(record, "id"),
        _read_login(record, "user"),
        record.get("state") == "CHANGES_REQUESTED",
        str(record.get("body") or ""),
    )


def make_line_comment(record: Mapping[str, object]) -> LineComment:
    """A comment of a review on a line. Raises ForgeError."""
    # `line` is null once the diff has moved on; `original_line` keeps the first place.
    line, text = record.get("line") or record.get("original_line"), str(record.get("body") or "")
    return LineComment(read_text(record, "path"), line if isinstance(line, int) else 0, text)


def make_comment(record: Mapping[str, object]) -> Comment:
    """A comment. Raises ForgeError."""
    return Comment(
        _read_number(record, "id"),
        _read_login(record, "user"),
        str(record.get("body") or ""),
        read_text(record, "created_at"),
        read_text(record, "updated_at"),
    )


def make_pull_request(record: Mapping[str, object]) -> PullRequest:
    """A pull request. Raises ForgeError."""
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
