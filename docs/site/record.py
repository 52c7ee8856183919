"""Record terminal sessions as SVG pictures: `make recordings` writes docs/pictures/*.svg.

Each session is typed into a real shell in a fresh folder; what it prints becomes the picture.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

PICTURES = Path(__file__).parents[1] / "pictures"
WIDTH = 100
_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
"""Fonts of another server, which the picture must not load."""
SESSIONS = {
    "demo": ("runner demo",),
    "review": (
        "git init -q hello && cd hello && runner init > /dev/null && git add -A",
        "git commit -q -m plan && runner > /dev/null",
        "runner change TASK-001 'greet in upper case' --yes",
        "runner review",
        "runner status",
    ),
}
"""Name of the picture: the lines that are typed. Only lines that begin with `runner` are shown."""


def record(lines: tuple[str, ...]) -> str:
    """Type the lines into one shell and return what they print."""
    shown = [
        f"printf '$ %s\\n' {_quote(line)}" if line.startswith("runner") else ":" for line in lines
    ]
    script = "\n".join(f"{show}\n{line}" for show, line in zip(shown, lines, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": folder,
            "COLUMNS": str(WIDTH),
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
        }
        (Path(folder) / "work").mkdir()
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=Path(folder, "work"),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=True,
        )
    return done.stdout.decode(errors="replace").replace(folder, "~")


def _quote(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"


def main() -> None:
    """Write every picture."""
    for name, lines in SESSIONS.items():
        console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
        console.print(Text(record(lines)))
        picture = console.export_svg(title=f"runner {name}", unique_id=name)
        picture = _FONTS.sub("", picture)
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
