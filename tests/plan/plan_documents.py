"""Hypothesis strategies for Markdown as people write it, whole plans among it."""
# ruff: noqa: E501  (a document stands on one line, as its bytes are)

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import strategies as st

EXAMPLES = [
    entry["markdown"]
    for entry in json.loads((Path(__file__).parent / "commonmark.json").read_text("utf-8"))
]

STATUSES = ["PENDING", "done", "In_Progress", "BLOCKED ❌ — no | key", "stale ✅", "**DONE**", ""]

_LINES = [
    "", "", "", "text", "a | b", "--- | ---", "|-|-|", "---", "===", "***", "# one", "## two", "### three",
    "## TASK-001: First", "### Task 2 - Second", "#### T003: Third", "## JIRA-7: weak", "# TASK-009: top",
    "## UTF-8: notes", "  ## TASK-004: indented", "TASK-005: setext", "-----", "Title",
    "- Status: PENDING", "* status : done ✅", "- Type: data", "- Depends on: TASK-001, `T003`",
    "- Acceptance:", "  - [ ] it works", "    - deeper", "1. one", "  1) two", "- item", "+ other",
    "**Status:** DONE  ", "**Status**: BLOCKED — why\\", "**Output files:**", "Status: PENDING", "**Type:** api",
    "| Status | PENDING |", "|---|---|", "| Field | Value |", "| Type | api |", "| Status | stale  |",
    "```", "```python file=src/a.py", "````", "~~~", "```sh run", "  ```", "    # code", "\t- tab", "\tcode",
    "- ```", "> quote", "> # quoted", "> ```", "> CHANGE-001 (2026-11-21): text", ">", "!change dates are UTC",
    "<!--", "-->", "<!-- # c -->", "<div>", "</div>", "<pre>", "</pre>", "<script>", "</script>", "<?x", "?>", "<![CDATA[",
    "]]>", "<b>", "[ref]: /url", '"title', "[foo]: <", "Überschrift 🚀", "- # in item", "- ## TASK-006: in item",
    "  continued", "\\", "\u00a0", "-", "#", "##", "#hash", "####### seven", "| a \\| b | c |", "\f", "\x0b# x",
]  # fmt: skip

line_ends = st.sampled_from(["\n", "\r\n", "\r"])
fields = st.sampled_from(
    [
        "- Status: {status}\n- Type: data\n- Acceptance:\n  - one\n",
        "- Type: data\n",
        "*\tStatus: {status}\n*\tDepends on: none\n",
        "**Status:** {status}  \n**Type:** api  \n**Output files:**\n- `a.py`\n",
        "**Type:** api\\\n**Acceptance:**\n1. one\n",
        "__Status__: {status}\n\nProse.\n",
        "| Field | Value |\n|---|---|\n| Type | api |\n| Status | {status} |\n",
        "| Type | api |\n|---|---|\n",
        "Status | {status}\n--- | ---\nType | api",
        "",
    ]
)
lines = st.lists(st.sampled_from(_LINES), max_size=14).map("\n".join)
prose = st.one_of(lines, st.sampled_from(EXAMPLES))


@st.composite
def tasks(draw: st.DrawFn) -> str:
    number = draw(st.integers(1, 40))
    heading = draw(
        st.sampled_from(["## TASK-{:03}: T", "### Task {} — T", "#### T{}: x", "TASK-{}: T\n---"])
    )
    gap = draw(st.sampled_from(["\n\n", "\n"]))
    text = draw(fields).replace("{status}", draw(st.sampled_from(STATUSES)))
    return f"{heading.format(number)}{gap}{text}{draw(st.sampled_from(['', chr(10)]))}{draw(prose)}"


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """A Markdown file with tasks, decoys and everything that could confuse a cut at headings."""
    parts = draw(st.lists(st.one_of(tasks(), prose), min_size=1, max_size=5))
    text = draw(st.sampled_from(["\n", "\n\n", ""])).join(parts)
    end = draw(line_ends)
    if draw(st.booleans()):
        text = text.replace("\n", end)
    else:
        flips = draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=1, max_size=3))
        pieces = text.split("\n")
        text = "".join(p + flips[i % len(flips)] for i, p in enumerate(pieces[:-1])) + pieces[-1]
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()
