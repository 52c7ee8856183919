"""One component of a path: why it may not stand in a repository, or not travel well.

Sources: git's `verify_path`, `is_hfs_dotgit` and `is_ntfs_dotgit` (read-cache.c, utf8.c, path.c);
Microsoft's "Naming Files, Paths, and Namespaces" for reserved names.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST_NAME = 255
"""Bytes of UTF-8 in one component: what ext4, APFS and NTFS hold."""

# Short (8.3) names NTFS gives to `.git`, `.gitmodules`, `.gitattributes`, `.gitignore`;
# the hashed form is `gi` and four hex digits.
_SHORT_NAME = re.compile(r"\.?git[a-z0-9]{0,3}~[0-9]+|gi[0-9a-f]{4}~[0-9]+", re.IGNORECASE)
# Whatever follows the first colon is an alternate stream to NTFS: `.git::$INDEX_ALLOCATION`.
_STREAM = re.compile(r":.*\$|::")
_DRIVE = re.compile(r"[A-Za-z]:.*")
_NOT_ON_WINDOWS = frozenset('<>:"|?*')
_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$")) | {
    name + digit for name in ("com", "lpt") for digit in "123456789¹²³"
}
# Control, format (zero-width, bidi), surrogate, private, line and paragraph separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))


def refusal(name: str) -> str:
    """Why this component is refused, as the end of a sentence; empty when it is fine."""
    return _shape_refusal(name) or _refuse_hidden(name) or _git_refusal(name)


def warning(name: str) -> str:
    """Why this component does not travel to other systems; empty when it does."""
    if name.split(".", maxsplit=1)[0].rstrip(" ").casefold() in _DEVICES:
        return f"{name!a} is a reserved name on Windows"
    if _NOT_ON_WINDOWS & set(name):
        return f"{name!a} holds a character that Windows does not allow"
    if name != unicodedata.normalize("NFC", name):
        return f"{name!a} is not in Unicode normal form C, so other systems spell it differently"
    return ""


def _shape_refusal(name: str) -> str:
    reasons = (
        (not name, "has an empty component"),
        (name in {".", ".."}, f"has the component {name!r}"),
        ("\\" in name, "holds a backslash"),
        (name != name.strip(), "has a component that begins or ends with a space"),
        (name.endswith("."), "has a component that ends with a dot"),
        (bool(_DRIVE.fullmatch(name)), "begins like a drive letter"),
        (bool(_STREAM.search(name)), "names an alternate stream of a file"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _refuse_hidden(name: str) -> str:
    if name.isascii() and name.isprintable():
        return "" if len(name) <= LONGEST_NAME else _too_long()
    for character in name:
        if unicodedata.category(character) in _UNSEEN:
            return f"holds the invisible character U+{ord(character):04X}"
        if character.isspace() and character != " ":
            return f"holds the space U+{ord(character):04X}"
    return "" if len(name.encode("utf-8")) <= LONGEST_NAME else _too_long()


def _too_long() -> str:
    return f"has a component longer than {LONGEST_NAME} bytes"


def _git_refusal(name: str) -> str:
    # Compatibility forms and case are folded, and what NTFS ignores at the end is cut: each
    # is a way in which some file system opens `.git` when asked for another name.
    folded = unicodedata.normalize("NFKC", name).casefold().split(":")[0].rstrip(" .")
    if folded == ".git" or _SHORT_NAME.fullmatch(folded):
        return "names git's own folder"
    return ""
