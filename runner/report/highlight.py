"""Source text in the colours of its language: the door to rich's lexers, opened when needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 256 << 10
"""Bytes above which nothing is highlighted: it would take seconds."""
_LONGEST_LINE = 2000


def highlight(lines: Sequence[str], path: str) -> list[str] | None:
    """Displayed lines with the colours of their language; None where there is none to show.

    What the lexer returns is used only when it is the very text that was given, so that no line
    can be shown as another.
    """
    text = "\n".join(lines)
    if not lines or len(text) > _MOST or max(map(len, lines)) > _LONGEST_LINE:
        return None
    from rich.color import ColorSystem
    from rich.console import Console
    from rich.syntax import Syntax

    lexer = Syntax.guess_lexer(path)
    if lexer in {"default", "text"}:
        return None
    console = Console(color_system="standard", force_terminal=True)
    painted = Syntax("", lexer, theme="ansi_dark", background_color="default").highlight(text)
    styled = painted.split("\n", allow_blank=True)[: len(lines)]
    if [line.plain for line in styled] != list(lines):
        return None
    return [
        "".join(
            piece.style.render(piece.text, color_system=ColorSystem.STANDARD)
            if piece.style
            else piece.text
            for piece in line.render(console)
        )
        for line in styled
    ]
