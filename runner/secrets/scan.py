"""Scan a content, a file name or a message for secrets; findings never show a value.

Named shapes, detect-secrets' named plug-ins, and entropy assigned to a secret-looking name
refuse; its keyword and entropy plug-ins alone warn, because one find in two of theirs is an
identifier or a digest; a public address is only noted, because it opens nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from runner.languages.registry import code_language
from runner.model import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.secrets.allowlist import AllowList
    from runner.secrets.detect_secrets import Suspicion
    from runner.secrets.find import Secret

CHECK = "secret-scan"
_MOST = 100
"""Maximum listed findings of one text; more would not help to repair it."""

# For languages without a parser here.
_READ_IT = {
    ".rb": 'ENV["{}"]',
    ".java": 'System.getenv("{}")', ".kt": 'System.getenv("{}")', ".php": 'getenv("{}")',
    ".sh": "${}", ".bash": "${}", ".cs": 'Environment.GetEnvironmentVariable("{}")',
    ".yml": "${{{}}}", ".yaml": "${{{}}}",
}  # fmt: skip
_NAME = (r"(?i)[a-z_][a-z0-9_]*(?:key|secret|token|pass|pwd|credential)[a-z0-9_]*|"
                   r"(?:key|secret|token|pass|pwd|credential)[a-z0-9_]*")  # fmt: skip
_CAMEL = r"(?<=[a-z0-9])(?=[A-Z])"


class Hit(Struct, frozen=True):
    """One place of a text that looks like a secret; `start` counts bytes of its UTF-8 form.

    `value` is what an allow-list entry is made from; it is kept out of every representation.
    """

    title: str
    env: str
    severity: Severity
    start: int
    value: str

    def __repr__(self) -> str:
        return f"Hit({self.title!r}, {self.start})"


def scan_content(
    content: bytes, path: str, *, allowed: AllowList | None = None, before: bytes | None = None
) -> tuple[Finding, ...]:
    """Return findings for likely secrets in `content` or its `path`; empty if there are none.

    What stood in the file `before` as often is a warning at most: the change did not bring
    it, and the history has it. A scan that could not be done is a finding that refuses. Takes time
    linear in the size.
    """
    from runner.secrets.redact import redact

    shown = redact(path)  # a finding must not repeat what the file's name gives away
    return (*_scan_name(path, shown, allowed), *_scan(content, shown, allowed, before))


def scan_text(text: str, where: str) -> tuple[Finding, ...]:
    """Scan a text that is not a file, such as a commit message; `where` names it."""
    return _scan(text.encode("utf-8", "surrogatepass"), where, None)


def hits(content: bytes, path: str) -> tuple[Hit, ...]:
    """Return all secrets that either scanner finds. Raises SecondOpinionError.

    Raises SecondOpinionError when the second scan could not be done.
    """
    from runner.secrets.detect_secrets import second_opinion
    from runner.secrets.find import utf8

    text = utf8(content)
    own = _of_kind(_own(content, text), path)
    return _in_order(own, text, _find_unknown(second_opinion(text, path), own))


def _scan_name(path: str, shown: str, allowed: AllowList | None) -> tuple[Finding, ...]:
    from runner.secrets.find import find

    name = path.encode("utf-8", "surrogatepass")
    return tuple(
        Finding(CHECK, f"the file's name contains a secret: {secret.shape.title}",
                path=shown, hint="remove the value from the file's name")
        for secret in find(name)
        if not (allowed and allowed.match(secret.value))
    )  # fmt: skip


def _scan(
    content: bytes, path: str, allowed: AllowList | None, before: bytes | None = None
) -> tuple[Finding, ...]:
    from runner.secrets.detect_secrets import SecondOpinionError, second_opinion
    from runner.secrets.find import utf8

    text = utf8(content)
    own = _of_kind(_own(content, text), path)
    sure = sum(1 for one in own if not (allowed and allowed.match(one.value)))
    failed: tuple[Finding, ...] = ()
    others: list[Suspicion] = []
    try:
        if sure < _MOST:  # else the list is full already, and the file is refused
            others = _find_unknown(second_opinion(text, path), own)
    except SecondOpinionError as error:
        failed = (_make_failure(str(error), path),)
    found = _in_order(own, text, others)
    kept = [hit for hit in found if not (allowed and allowed.match(hit.value))]
    if before and any(hit.severity is Severity.ERROR for hit in kept):
        kept = _lower_known(kept, before, path)
    return (*_make_findings(kept, text, path), *failed)


def _lower_known(found: list[Hit], before: bytes, path: str) -> list[Hit]:
    """Return the hits, those already in the former content lowered to warnings."""
    from runner.secrets.detect_secrets import SecondOpinionError

    try:
        left = Counter(hit.value for hit in hits(before, path))
    except SecondOpinionError:  # what it held is not known
        return found

    def weigh(hit: Hit) -> Hit:
        left[hit.value] -= 1
        if left[hit.value] < 0 or hit.severity is not Severity.ERROR:
            return hit
        return replace(hit, title=f"{hit.title}, already present", severity=Severity.WARNING)

    return [weigh(hit) for hit in found]


def _own(content: bytes, text: bytes) -> tuple[Secret, ...]:
    """Return the matches of our own formats; a false UTF-16 mark does not hide plain ones."""
    from runner.secrets.find import find

    found = find(text)
    if text is content:
        return found
    known = {one.value for one in found}
    return (*found, *(one for one in find(content) if one.value not in known))


def _of_kind(found: tuple[Secret, ...], path: str) -> tuple[Secret, ...]:
    """Filter secrets by the file's name: in a lock file no value counts for its name alone."""
    from runner.secrets.detect_secrets import is_lock_file

    if not is_lock_file(path):
        return found
    return tuple(one for one in found if one.shape.name not in ("assigned", "password"))


def _in_order(own: tuple[Secret, ...], text: bytes, others: list[Suspicion]) -> tuple[Hit, ...]:
    found = [_of_secret(secret, text) for secret in own]
    found += [_of_suspicion(one, text) for one in others]
    return tuple(sorted(found, key=lambda hit: hit.start))


def _make_findings(found: Sequence[Hit], text: bytes, path: str) -> tuple[Finding, ...]:
    """Return findings for hits in text order; above the limit, errors are preferred."""
    chosen = found
    if len(found) > _MOST:
        chosen = sorted(found, key=lambda hit: hit.severity is not Severity.ERROR)[:_MOST]
        chosen.sort(key=lambda hit: hit.start)
    lines = _line_starts(text) if chosen else []
    findings = tuple(_finding(hit, text, path, lines) for hit in chosen)
    return findings if chosen is found else (*findings, _and_more(len(found) - _MOST, findings[-1]))


def _finding(hit: Hit, text: bytes, path: str, lines: list[int]) -> Finding:
    line = bisect_right(lines, hit.start)
    before = text[lines[line - 1] : hit.start].decode("utf-8", "replace")
    is_address = hit.severity is Severity.NOTE  # it opens nothing by itself
    return Finding(
        check=CHECK,
        message=f"not a secret by itself: {hit.title}"
        if is_address
        else f"secret found: {hit.title}",
        path=path,
        line=line,
        column=len(before) + 1,
        severity=hit.severity,
        hint="" if is_address else _hint(hit.env or _variable(before), path),
    )


def _hint(env: str, path: str) -> str:
    ending = path[path.rfind(".") :].lower()
    language = code_language(path)
    known = language.environment if language else _READ_IT.get(ending)
    code = (known or "the variable {}").format(env)
    return f"remove the value and read it from the environment: {code}"


def _variable(before: str) -> str:
    """Return a variable name derived from the assigned name on the line."""
    names = re.findall(_NAME, before[-200:])
    return re.sub(_CAMEL, "_", names[-1]).upper()[:60] if names else "SECRET"


def _of_secret(secret: Secret, text: bytes) -> Hit:
    env = "" if secret.shape.name == "assigned" else secret.shape.env
    start = min(secret.start, len(text))
    return Hit(secret.shape.title, env, Severity.ERROR, start, secret.value)


def _of_suspicion(one: Suspicion, text: bytes) -> Hit:
    from runner.secrets.detect_secrets import Family

    severity = Severity.ERROR if one.blocks else Severity.WARNING
    if one.family is Family.ADDRESS:
        severity = Severity.NOTE
    return Hit(one.kind, "", severity, min(one.start, len(text)), one.value)


def _find_unknown(suspicions: tuple[Suspicion, ...], own: tuple[Secret, ...]) -> list[Suspicion]:
    """Return what only the second scanner has found, the most severe one per place."""
    spans = sorted((secret.start, secret.end) for secret in own)
    kept: dict[int, Suspicion] = {}
    for one in sorted(suspicions, key=lambda one: not one.blocks):
        before = bisect_right(spans, (one.start, 1 << 62)) - 1
        if before < 0 or spans[before][1] <= one.start:
            kept.setdefault(one.start, one)
    return list(kept.values())


def _line_starts(text: bytes) -> list[int]:
    starts = [0]
    starts.extend(match.end() for match in re.finditer(rb"\n", text))
    return starts


def _and_more(count: int, last: Finding) -> Finding:
    return Finding(CHECK, f"{count} more likely secrets in this file", last.path,
                   last.line, severity=last.severity, hint="fix the listed ones first")  # fmt: skip


def _make_failure(why: str, path: str) -> Finding:
    return Finding(CHECK, f"detect-secrets failed, so the runner refuses this file: {why}", path,
                   hint="`runner doctor` lists what is missing; "
                        "split the file if it is too large to scan")  # fmt: skip
