"""Plans of this repository, broken at random: bytes, lines, sections, fields and hostile globs."""
# ruff: noqa: E501  (a piece stands where it is read, beside its kin)

from pathlib import Path

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
