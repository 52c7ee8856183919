"""Variables in which a script keeps that something failed: `cmd || failed=1`, asked about later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_pattern import regex

if TYPE_CHECKING:
    from collections.abc import Collection

EMPTY = regex(r"(?:^|\s)-[nz]\s")
"""`[ -z "$failed" ]`."""
FLAG = regex(r"[1-9]\d{0,2}|true|yes|failed")
"""What a script keeps of a failure, to end with it later."""
_EQUAL = regex(r"\$\{?(\w+)\}?\s+(={1,2}|!=|-eq|-ne)\s+(\w+)")


def is_equal_flag(words: tuple[str, ...], told: Collection[str]) -> bool | None:
    """Whether `[ "$failed" = 1 ]` holds, of a variable that `told` has as `failed=1`; else None."""
    match = _EQUAL.search(" ".join(words).replace('"', "").replace("'", ""))
    if match is None or not any(one.startswith(f"{match[1]}=") for one in told):
        return None
    same = f"{match[1]}={match[3]}" in told
    return same is (match[2] not in ("!=", "-ne"))


def are_equal_texts(words: tuple[str, ...]) -> bool | None:
    """What `test` says of texts alone; None of a file, and of what is not read here."""
    match [one for one in words if one not in ("]", "]]")]:
        case [one]:
            return bool(one)
        case ["-n" | "-z" as way, one]:
            return bool(one) is (way == "-n")
        case [one, "=" | "==" | "-eq", other]:
            return one == other
        case [one, "!=" | "-ne", other]:
            return one != other
    return None


_STATUS = regex(
    r"""["']?\$\{?(?:\?|\w+(?:\[\d+\])?)\}?["']?\s+(={1,2}|!=|-eq|-ne)\s+["']?(\d+)["']?"""
)


def is_status(text: str, code: str) -> bool | None:
    """Whether `$? -eq 5` holds of what ended with `code`; None of what is not such a test alone.

    So is `$? -eq 0 -o $? -eq 5`.
    """
    inner = text.strip().removesuffix("]").rstrip("]").strip()
    *joined, one = inner.split(" -o ")
    matches = [_STATUS.fullmatch(part.strip()) for part in (*joined, one)]
    if not code or not all(matches):
        return None
    return any((m[2] == code) is (m[1] not in ("!=", "-ne")) for m in matches if m)
