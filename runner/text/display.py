"""Make text from outside safe to show: spell out invisible characters.

Terminals obey control characters, bidi overrides reorder what a reviewer reads, and invisible
characters hide what a reviewer approves. Every text that we did not write passes `display`
before it reaches a terminal, a page or a CI annotation.

A RunnerError as a person reads it: what, where, and a hint.

How wide a text is in a terminal: the one place that counts columns.

A line of a file with a caret under the place that is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex

if TYPE_CHECKING:
    import re
    import unicodedata

    from runner.errors import RunnerError
else:
    unicodedata = lazy_module("unicodedata")


# Unicode 16 general categories Cc, Cf, Cs, Zl and Zp, together with the derived property
# Default_Ignorable_Code_Point (DerivedCoreProperties.txt) and two invisible blanks: U+2800 and the
# Hangul fillers. Listed explicitly, because calling `unicodedata` for every character is a hundred
# times slower than one regular expression.
_UNSEEN = (
    r"\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2"
    r"\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800"
    r"\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_ONE_LINE = regex(f"[{_UNSEEN}]")
_MANY_LINES = regex(rf"(?![\n\t])[{_UNSEEN}]")
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_MARKUP = regex(r"<(?=[A-Za-z/!?])|(?<=!)\[|(?<=\])[(\[:]")
"""Start of a tag or autolink, an image, and the target of a link (CommonMark 0.31, 6.3-6.6)."""
_ENTITIES = {"<": "&lt;", "[": "&#91;", "(": "&#40;", ":": "&#58;"}
_TICKS = regex("`+")
_EMOJI_PRESENTATION = "\ufe0f"
_LAST_BYTE = 0xFF
_LAST_BMP = 0xFFFF


def display(text: str, *, lines: bool = False) -> str:
    r"""Return `text` with every invisible character escaped.

    Control, bidi, zero-width and otherwise invisible characters and lone surrogates become
    escapes. With `lines`, newline and tab stay as they are; without it the result is one line.
    """
    if text.isascii() and text.isprintable():
        return text
    return (_MANY_LINES if lines else _ONE_LINE).sub(_spell, text)


def display_markdown(text: str) -> str:
    """Return `text` as one line of Markdown without active tags, images or links.

    Whoever opens the file in an editor or on a forge would fetch an image and follow a link. It is
    escaped in code spans, too, where it looks odd: whether a backtick opens one depends on lines
    around it, which may be a stranger's.
    """
    # As entities: a backslash could pair with one in the untrusted text.
    return _MARKUP.sub(lambda found: _ENTITIES[found[0]], display(text))


def code_span(text: str) -> str:
    """Return a CommonMark code span (section 6.1), even around backticks."""
    # A span ends at the first run of equally many backticks, whatever precedes it.
    longest = max(map(len, _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def escape_annotation(text: str) -> str:
    """Escape `text` for a CI workflow command (`::error::…`), on one line.

    Escapes as GitHub's workflow commands are documented: `%`, carriage return and newline.
    """
    return display(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"), lines=True)


def escape_annotation_property(text: str) -> str:
    """Escape `text` as a property of a workflow command (`file=…`), including colons and commas."""
    return escape_annotation(text).replace(":", "%3A").replace(",", "%2C")


def _spell(match: re.Match[str]) -> str:
    character = match[0]
    if character == _EMOJI_PRESENTATION and _follows_symbol(match.string, match.start()):
        return character  # it only asks for the coloured form of a symbol that is seen
    return _SHORT.get(character) or _escape(ord(character))


def _escape(code: int) -> str:
    if code <= _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_BMP else f"\\U{code:08x}"


def _follows_symbol(text: str, position: int) -> bool:
    return (
        position > 0
        and unicodedata.category(text[position - 1]) == "So"
        and not _ONE_LINE.match(text[position - 1])
    )


def format_error(error: RunnerError) -> str:
    """Format an error for standard error, without a final line end."""
    where = f" ({display(error.where)})" if error.where else ""
    lines = [f"runner: {display(error.message)}{where}"]
    if error.detail:
        lines.append(display(error.detail, lines=True))
    if error.hint:
        lines.append(f"hint: {display(error.hint)}")
    return "\n".join(lines)


def columns(text: str) -> int:
    """Return the terminal columns of a text (UAX 11: wide and full-width characters take two).

    Not rich's `cell_len`: `status` and `version` start without rich.
    """
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def pad(text: str, size: int, *, right: bool = False) -> str:
    """Pad `text` to `size` columns."""
    blanks = " " * (size - columns(text))
    return blanks + text if right else text + blanks


def cut(text: str, size: int) -> str:
    """Cut `text` to at most `size` columns, with `…` for the rest."""
    if columns(text) <= size:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns_of(character)
        if used > size - 1:
            break
        kept += character
    return kept.rstrip() + "…"


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    # Ambiguous ones (A) count as narrow, as UAX 11 recommends for unknown context.
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


_TAB = 4
_LONGEST = 120
"""Maximum characters of a shown line; a longer one is cut around the caret."""
_MARK = "…"


def caret(line_text: str, column: int, width: int = 1) -> str:
    """Return `line_text` and a line with `^` under `width` characters from `column`.

    `column` counts characters from 1; one beyond the line points behind its end. Tabs are shown
    as blanks, wide characters take two columns, and a line longer than 120 characters is cut.
    """
    text = line_text.rstrip("\r\n")
    start = min(max(column, 1) - 1, len(text))
    first = max(0, start - _LONGEST // 2)
    shown = text[first : first + _LONGEST]
    before = (_MARK if first else "") + _visible(shown[: start - first])
    marked = _visible(shown[start - first : start - first + max(width, 1)], columns(before))
    after = _visible(shown[start - first + max(width, 1) :], columns(before + marked))
    rest = _MARK if first + _LONGEST < len(text) else ""
    under = " " * columns(before) + "^" * max(1, columns(marked))
    return f"{before}{marked}{after}{rest}\n{under}"


def _visible(text: str, already: int = 0) -> str:
    """Return `text` on one line, with tabs expanded to the next tab stop."""
    shown = ""
    for number, piece in enumerate(text.split("\t")):
        if number:
            shown += " " * (_TAB - (already + columns(shown)) % _TAB)
        shown += display(piece)
    return shown
