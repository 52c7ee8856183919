"""One shape of a credential, as data: what it is called and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A named pattern in RE2 syntax; the group `value`, if there is one, is the secret itself.

    Each is a table `[[format]]` of `rules/*.toml`, or `[[secret_formats]]` of settings.

    A text that contains none of the `needles` cannot match: they are looked for first, because
    a search for a literal is a hundred times cheaper than any regular expression.
    """

    name: str
    """Short and stable: what stands in `[REDACTED:name]`."""
    title: str
    """What a person calls it, with its article left out: `OpenAI API key`."""
    env: str
    """The environment variable its documentation suggests."""
    needles: tuple[str, ...]
    regex: str
    hint: str = ""
    """A short expression that every match contains, where a needle alone would be common in
    ordinary text; the needles themselves otherwise. All hints are searched for in one pass."""
    random: bool = False
    """Only a value that looks random counts: the shape alone would fit ordinary text."""
    login: bool = False
    """Only base64 of a name, a colon and a password counts (RFC 7617, section 2)."""
    nested: bool = False
    """A value that does not count is searched too, since a name may stand in it."""
    password: bool = False
    """Only a value that mixes kinds of characters as chosen passwords do counts."""
    typed: bool = False
    """Only a value counts that mixes letters with digits or punctuation, and is no name."""
    chosen: bool = False
    """Any value counts that is no template and no word of a documentation."""
    unlike_digest: bool = False
    """A value of hexadecimal digits alone does not count: digests, ids and colours are such."""
    unlike_words: bool = False
    """A value that reads as words does not count: a prefix of three letters begins names, too."""
    reserved: bool = False
    """It does not count where a host follows that is reserved for documentation (RFC 2606), unless
    the value looks random."""
    named: bool = True
    """False where the shape leans on what stands before it, so that it has no hint."""
    ignore_case: bool = False
    """Needles are written in lower case and looked for in the lowered text."""
    redacts: bool = True
    """False for a format of a repository's settings: it refuses, but a clone must not choose what a
    person is shown, least of all the commands that it asks to be trusted with."""
