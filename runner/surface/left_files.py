"""Files that a change leaves behind: leftovers of editors and tools, logs, programs, binaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_pattern import regex
from runner.surface.facts import Fact, Trees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LEFTOVER = regex(
    r"(?:^|/)(?:\.DS_Store|Thumbs\.db|desktop\.ini|__pycache__/.*|node_modules/.*"
    r"|\.(?:pytest|mypy|ruff)_cache/.*|\.coverage(?:\.\w+)*|npm-debug\.log.*|\.#[^/]*|#[^/]*#"
    r"|[^/]*(?:\.orig|\.rej|\.sw[a-p]|~|\.log|\.bak|\.tmp|\.py[co]|\.class|\.o|\.obj|\.stackdump"
    r"|\.prof|\.cpuprofile|\.heapsnapshot))\Z"
)
_PROGRAM = (
    b"\x7fELF",
    b"MZ",
    b"\xcf\xfa\xed\xfe",
    b"\xfe\xed\xfa\xcf",
    b"\xca\xfe\xba\xbe",
    b"!<arch>\n",
)
_MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".icns", ".bmp", ".pdf", ".avif", ".svgz"),
    *(".woff", ".woff2", ".ttf", ".otf", ".eot", ".mp3", ".mp4", ".wav", ".ogg", ".webm", ".mo"),
)
_HEAD = 8_000
"""Bytes in which git looks for a NUL, too (`buffer_is_binary`)."""


def find_left(trees: Trees, is_listed: Callable[[str], bool]) -> Iterator[Fact]:
    """Yield the new files that no plan would ask for, unless the task lists them by their path."""
    for change in trees.changes:
        content = change.content
        if content is None or trees.before(change.path) is not None or is_listed(change.path):
            continue
        folder = change.path.rpartition("/")[0]
        name = change.path.rpartition("/")[2]
        if _LEFTOVER.search(change.path):
            title, breaks = "adds leftovers of tools", True
        elif content.startswith(_PROGRAM):
            title, breaks = "adds compiled programs", True
        elif b"\0" in content[:_HEAD]:
            title, breaks = "adds binary files", not name.lower().endswith(_MEDIA)
            breaks = breaks and not trees.is_test(change.path)
        else:
            continue
        yield Fact(
            "file", name, folder or ".", 0, (change.path, name), is_breaking=breaks, title=title
        )
