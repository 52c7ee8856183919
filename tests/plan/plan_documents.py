"""Plans to test with: Hypothesis strategies of Markdown as people write it, and broken plans."""
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


ROOT = Path(__file__).parents[2]
SEEDS = [
    file.read_bytes()
    for pattern in ("TASK-GRAPH.md", "examples/*/TASK-GRAPH.md", "tests/plan/samples/*.md")
    for file in sorted(ROOT.glob(pattern))
    if file.stat().st_size < 60_000
]
PIECES = [
    b"## TASK-001: Again\n", b"# TASK-9: top\n", b"## TASK-002", b"- Status: DONE\n", b"- Depends on: TASK-002\n",
    b"- Depends on: ", b"TASK-001, " * 300, b"- Output files: ", b"`**/a/" + b"**/a/" * 14 + b"`, ",
    b"`" + b"*a" * 20 + b"`, ", b"`src/[`, ", b"`a[z-a]b`, ", b"`[[:alpha:]]`, ", b"`app/[slug]/page.tsx`, ",
    b"`[...rest]`, ", b"`a\\b`, ", b"`../x`, ", b"`" + b"a/" * 600 + b"`, ", b"`?" + b"?" * 40 + b"`, ", b"```\n", b"````md\n",
    b"```txt file=src/[\nx\n```\n", b"```sh run\nrm -rf /\n```\n", b"~~~\n", b"|", b"| a | b |\n|---|---|\n", b"| Status | PENDING |\n",
    b"> " * 200, b"- " * 200, b"[" * 500, b"](" * 200, b"*" * 500, b"_a" * 300, b"`" * 301, b"<!--", b"-->", b"<div>\n",
    b"- Test contracts:\n  - TC-001 (unit): `true`\n", b"- Coverage: 1e999%\n", b"- Timeout: 99999999999999999999 minutes\n",
    b"- Budget: 5 attempts, $1e400\n", b"- Uses: memory 1e308TB, port 0\n", b"- Requires: secret \x00\n", b"- Contracts: none \xe2\x80\x94 x\n",
    b"- Proof: none\n", b"!change everything\n", b"> CHANGE-001 (2026-13-45): x\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n",
    "\u202e\u200b\ufeff".encode(), b"&#0;&#xD800;", b"\t" * 100, b" " * 5000, b"x" * 20_000, b"\n" * 500, b"\x1b[31m", b"=" * 80 + b"\n",
]  # fmt: skip


def mutated(chance):
    """A plan, changed in up to eight places."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 8)):
        at = chance.randint(0, len(data))
        upto = min(len(data), at + chance.choice((0, 1, 3, 40, 400)))
        match chance.randint(0, 4):
            case 0:
                data[at:upto] = b""
            case 1:
                data[at:at] = chance.choice(PIECES)
            case 2:
                line = data.rfind(b"\n", 0, at) + 1
                data[line:line] = chance.choice(PIECES)
            case 3:
                data[at:at] = data[at:upto] * chance.choice((1, 2, 30))
            case _ if data and at < len(data):
                data[at] = chance.randrange(256)
    return bytes(data)
