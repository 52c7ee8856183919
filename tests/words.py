"""Measure the prose of the documents: `make words` prints words and sentence lengths.

Code blocks do not count. A list item, a table cell and a heading each count as a sentence.
Generated pages (docs/reference/, docs/rooms.md) and docs/figures/ are left out.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
WORDS = 12_000
"""Words of all pages together."""
AVERAGE = 15
"""Words of a sentence, on average."""
LONG = 30
"""A sentence of more words is long."""
LONG_SHARE = 0.05
LINES = {"README.md": 90, "ARCHITECTURE.md": 150}
GENERATED = {"docs/rooms.md", "docs/figures.md"}

_FENCE = re.compile(r"^ *(`{3,}|~{3,})[^\n]*\n.*?^ *\1`*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_RULE = re.compile(r"^\|[\s|:-]+\|$")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+|^#+\s+|^>\s*")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(*\[])")
_WORD = re.compile(r"[\w$][\w$'./-]*")


class Prose(NamedTuple):
    """What was measured of some pages."""

    words: int
    sentences: int
    average: float
    """Words of a sentence."""
    long: float
    """Share of sentences above `LONG` words."""


def pages() -> list[Path]:
    """Return README and every page of docs/ that a person wrote."""
    written = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in written if _counts(page.relative_to(ROOT).as_posix())]


def _counts(name: str) -> bool:
    return name not in GENERATED and not name.startswith(("docs/reference/", "docs/figures/"))


def sentences(text: str) -> list[str]:
    """Split prose into sentences; inline code is one word, whatever it holds."""
    plain = _COMMENT.sub("", _FENCE.sub("", text))
    plain = _CODE.sub("`code`", _LINK.sub(r"\1", plain))
    found = []
    for block in _blocks(plain):
        found += [one for one in _END.split(block) if _WORD.search(one)]
    return found


def _blocks(text: str) -> list[str]:
    """Return paragraphs, list items, headings and table cells, each on one line."""
    blocks: list[str] = []
    joined = False
    for line in text.splitlines():
        if not line.strip() or _RULE.match(line.strip()):
            joined = False
        elif line.lstrip().startswith("|"):
            blocks += re.split(r"(?<!\\)\|", line.strip().strip("|"))
            joined = False
        elif _ITEM.match(line) or not joined:
            blocks.append(_ITEM.sub("", line).strip())
            joined = not line.startswith("#")
        else:
            blocks[-1] += f" {line.strip()}"
    return blocks


def measure(texts: list[str]) -> Prose:
    """Return the figures of these texts together."""
    lengths = [len(_WORD.findall(one)) for text in texts for one in sentences(text)]
    longer = sum(length > LONG for length in lengths)
    return Prose(sum(lengths), len(lengths), fmean(lengths), longer / len(lengths))


def main() -> int:
    """Print the figures; exit 1 if one is above its bound."""
    for page in pages():
        one = measure([page.read_text(encoding="utf-8")])
        name = page.relative_to(ROOT).as_posix()
        print(f"{one.words:6,} words  {one.average:4.1f} a sentence  {one.long:5.1%} long  {name}")
    whole = measure([page.read_text(encoding="utf-8") for page in pages()])
    print(f"{whole.words:,} words (at most {WORDS:,}), {whole.sentences:,} sentences")
    print(f"{whole.average:.1f} words a sentence (at most {AVERAGE})")
    print(f"{whole.long:.1%} of the sentences above {LONG} words (at most {LONG_SHARE:.0%})")
    lines = {name: len((ROOT / name).read_text().splitlines()) for name in LINES}
    for name, count in lines.items():
        print(f"{name}: {count} lines (at most {LINES[name]})")
    return int(
        whole.words > WORDS
        or whole.average > AVERAGE
        or whole.long > LONG_SHARE
        or any(count > LINES[name] for name, count in lines.items())
    )


if __name__ == "__main__":
    sys.exit(main())
