"""Run detect-secrets' plug-ins on marked lines as a second opinion, within a time limit.

Its own way of scanning can be switched off by what it scans (a pragma, a path that contains
`swagger`, one byte that is no UTF-8, a function call on the line), a baseline in the repository
can make it run Python, and it verifies keys over the network. So none of its filters, files or
settings are used: only the plug-ins, of which all must be there.

Which lines the second opinion has to read: a linear search over the whole text.

detect-secrets runs 27 plug-ins over every line with backtracking expressions: 160 ms for 1,000
lines, and 21 s for 100 kB of `sk-` in one. Each expression here is wider than those of the
plug-ins it stands for, so that an unmarked line cannot have a finding; a test holds that.
"""

from __future__ import annotations

import re
import time
from enum import Enum
from functools import cache
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from runner.secrets.entropy import (
    is_no_password,
    is_noise,
    is_placeholder,
    is_reserved,
    looks_random,
    shannon,
)
from runner.secrets.patterns import linear

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Family(Enum):
    """Plug-ins that are asked together."""

    NAMED = "named"
    ADDRESS = "address"
    KEYWORD = "keyword"
    ENTROPY = "entropy"


class DetectorMark(Struct, frozen=True):
    """A place that plug-ins of one family have to look at (bytes, within one line)."""

    family: Family
    start: int
    end: int
    plugins: tuple[str, ...] = ()
    """Plug-ins of the family to run, without `Detector`; empty: all."""


# Literals, expressions and their plug-ins. A literal is searched first, in the lower-cased text,
# after one expression for everything named.
_ASSIGNED = (
    r"(?:key|pwd|pw|password|pass|token)[\"']?\]? *(?:=|:|:=|=>| +|::) *[\"']?[a-z0-9_\-]{24}"
)
_ASSIGNING = ("Cloudant", "IbmCloudIam", "IbmCosHmac", "Softlayer")
_NAMED_EXPRESSIONS: tuple[tuple[tuple[bytes, ...], str, tuple[str, ...]], ...] = (
    ((b"akc", b"ap"), r"(?:AKC|AP[0-9A-F])[a-zA-Z0-9]{8}", ("Artifactory",)),
    (
        (b"a3t", b"abia", b"acca", b"akia", b"asia"),
        r"(?:A3T|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}",
        ("AWSKey",),
    ),
    ((b"aws",), r"(?i)aws[^\n]{0,60}[\"'][0-9a-z/+]{40}[\"']", ("AWSKey",)),
    ((b"accountkey=",), r"AccountKey=[a-zA-Z0-9+/=]{88}", ("AzureStorageKey",)),
    ((b"://",), r"://[^\s]*:[^\s]+@", ("BasicAuth",)),
    ((b"key", b"pwd", b"pw", b"pass", b"token"), rf"(?i){_ASSIGNED}", _ASSIGNING),
    ((b"cloudant.com",), r"(?i)https?://[\w\-]+:[^\n]*@[\w\-]+\.cloudant", ("Cloudant",)),
    (
        (b".",),
        r"[MNO][a-zA-Z0-9_-]{23,25}\.[a-zA-Z0-9_-]{6}\.[a-zA-Z0-9_-]{27}",
        ("DiscordBotToken",),
    ),
    ((b"gh",), r"gh[pousr]_[A-Za-z0-9_]{36}", ("GitHubToken",)),
    ((b"gl", b"gr1348941"), r"(?:gl[a-z]{2,5}-|GR1348941)[A-Za-z0-9_\-]{20}", ("GitLabToken",)),
    ((b"eyj",), r"eyJ[A-Za-z0-9_=-]+\.[A-Za-z0-9_=-]+", ("JwtToken",)),
    ((b"-us",), r"[0-9a-z]{32}-us[0-9]", ("Mailchimp",)),
    ((b":_authtoken=",), r"//[^\n]+/:_authToken=", ("Npm",)),
    ((b"t3blbkfj",), r"sk-[A-Za-z0-9_-]*T3BlbkFJ", ("OpenAI",)),
    ((b"begin ",), r"BEGIN [A-Z0-9 ]*PRIVATE KEY", ("PrivateKey",)),
    ((b"putty-user",), r"PuTTY-User-Key-File", ("PrivateKey",)),
    ((b"pypi-age",), r"pypi-AgE", ("PypiToken",)),
    ((b"sg.",), r"SG\.[a-zA-Z0-9_-]{22}\.", ("SendGrid",)),
    ((b"xox",), r"(?i)xox[abposr]-[0-9]+-", ("Slack",)),
    ((b"hooks.slack.com",), r"(?i)hooks\.slack\.com/services/", ("Slack",)),
    ((b"softlayer.com",), r"(?i)softlayer.com/soap/", ("Softlayer",)),
    ((b"sq0csp-",), r"sq0csp-", ("SquareOAuth",)),
    ((b"k_live_",), r"[rs]k_live_[0-9a-zA-Z]{24}", ("Stripe",)),
    ((b":",), r"[0-9]{8,10}:[0-9A-Za-z_-]{35}", ("TelegramBotToken",)),
    ((b"ac", b"sk"), r"(?:AC|SK)[a-z0-9]{32}", ("TwilioKey",)),
)  # fmt: skip
_KEYWORDS = (
    r"(?:(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass"
    r"|password|passwd|pwd|secret|contrase(?:\xc3\xb1|\xc3\x91|n)a)"
)
_KEYWORD_LITERALS = (b"key", b"pass", b"pwd", b"secret", b"contrase")

# The rest of the line joins the match, so that a line full of keywords has few matches.
_KEYWORD = rf"(?i){_KEYWORDS}[^\n]{{0,300}}"
_ADDRESS = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"

# Limits of the two entropy plug-ins: more than 4.5 bits per character require at least 23 different
# ones, more than 3 bits at least 9.
_BASE64 = r"\"[A-Za-z0-9+/\\_=-]{23,}\"|'[A-Za-z0-9+/\\_=-]{23,}'"
_HEX = r"\"[0-9a-fA-F]{9,}\"|'[0-9a-fA-F]{9,}'"
_BASE64_BITS = 4.5
_HEX_BITS = 3.0
_ROUNDING = 1e-9
"""The plug-ins sum the same numbers in another order."""


def marks(text: bytes) -> Iterator[DetectorMark]:
    """Yield the places of `text` that the second scanner has to read."""
    lowered = text.lower()
    if linear(_any_named()).search(text) is not None:
        for literals, expression, plugins in _NAMED_EXPRESSIONS:
            if any(literal in lowered for literal in literals):
                yield from _find_marks(Family.NAMED, expression, text, plugins)
    yield from _find_marks(Family.ADDRESS, _ADDRESS, text)
    if any(literal in lowered for literal in _KEYWORD_LITERALS):
        yield from _find_marks(Family.KEYWORD, _KEYWORD, text)
    yield from _disorderly(_BASE64, _BASE64_BITS, text)
    yield from _disorderly(_HEX, _HEX_BITS, text)


@cache
def _any_named() -> str:
    return "|".join(f"(?:{expression})" for _, expression, _ in _NAMED_EXPRESSIONS)


def _find_marks(
    family: Family, expression: str, text: bytes, plugins: tuple[str, ...] = ()
) -> Iterator[DetectorMark]:
    for match in linear(expression).finditer(text):
        yield DetectorMark(family, *match.span(), plugins)


def _disorderly(expression: str, bits: float, text: bytes) -> Iterator[DetectorMark]:
    for match in linear(expression).finditer(text):
        start, end = match.span()
        if shannon(text[start + 1 : end - 1].decode("latin-1")) > bits - _ROUNDING:
            yield DetectorMark(Family.ENTROPY, start, end)


_NAMED = """
    ArtifactoryDetector AWSKeyDetector AzureStorageKeyDetector BasicAuthDetector
    CloudantDetector DiscordBotTokenDetector GitHubTokenDetector GitLabTokenDetector
    IbmCloudIamDetector IbmCosHmacDetector JwtTokenDetector MailchimpDetector NpmDetector
    OpenAIDetector PrivateKeyDetector PypiTokenDetector SendGridDetector SlackDetector
    SoftlayerDetector SquareOAuthDetector StripeDetector TelegramBotTokenDetector
    TwilioKeyDetector
"""
_FAMILIES = {
    Family.ENTROPY: frozenset({"Base64HighEntropyString", "HexHighEntropyString"}),
    Family.KEYWORD: frozenset({"KeywordDetector"}),
    Family.ADDRESS: frozenset({"IPPublicDetector"}),
    Family.NAMED: frozenset(_NAMED.split()),
}
_VERIFICATION = "detect_secrets.filters.common.is_ignored_due_to_verification_policies"

# These two match any word of the right length; the value must also look random.
_SHAPELESS = frozenset({"ArtifactoryDetector", "IbmCloudIamDetector"})
_LONGEST_LINE = 1000
"""Bytes of a line that backtracking plug-ins get whole; of a longer one, a part."""
_AROUND = 200
_PREFIX = 8
_SECONDS = 0.5
_SECONDS_PER_MB = 0.2
"""This thread's processor time: a busy machine must not reject an honest file."""
_MOST_LOOKED_AT = 500
"""Strings, addresses and keywords of one text that are judged; the rest is one warning."""
_MOST_WEAK = 50
"""Maximum warnings of a text; a lock file would have thousands that are never read."""
_Part = tuple[Family, tuple[str, ...], int, int]
"""A family, its selected plug-ins (none: all), and the range of bytes they read."""
_lock = Lock()
"""detect-secrets keeps its settings in a global of the process."""


class SecondOpinionError(Exception):
    """The second scan could not be done, so nothing may be concluded from it."""


class Plugin(Protocol):
    """The part of a detect-secrets plug-in that is used here."""

    secret_type: str

    def analyze_line(self, filename: str, line: str, line_number: int = 0) -> Iterable[Potential]:
        """Return the potential secrets in one line."""
        ...


class Potential(Protocol):
    """The part of a plug-in's secret that is used here."""

    secret_value: str | None


class Suspicion(Struct, frozen=True):
    """A plug-in's find, with byte positions in the text."""

    family: Family
    kind: str
    """Name given by the plug-in, such as `Basic Auth Credentials`."""
    start: int
    value: str

    def __repr__(self) -> str:
        return f"Suspicion({self.kind!r}, {self.start})"

    @property
    def blocks(self) -> bool:
        """Whether the plug-in knows a vendor's shape; entropy, keywords and addresses warn."""
        return self.family is Family.NAMED


_LOCKS = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock deno.lock poetry.lock
    uv.lock pdm.lock pipfile.lock conda-lock.yml cargo.lock go.sum composer.lock gemfile.lock
    mix.lock pubspec.lock podfile.lock packages.lock.json flake.lock .terraform.lock.hcl
"""
_LOCK_FILES = frozenset(_LOCKS.split())


def is_lock_file(path: str) -> bool:
    """Return whether a file is a package manager's lock file, whose digests are no keys.

    Such a file is read by named patterns alone, so its name hides no vendor's key.
    """
    return path.rpartition("/")[2].lower() in _LOCK_FILES


def second_opinion(text: bytes, path: str) -> tuple[Suspicion, ...]:
    """Return what detect-secrets' plug-ins find in `text` (UTF-8, other bytes allowed).

    Raises SecondOpinionError when the plug-ins are not all there or time is up. Without a
    marked line nothing is imported.
    """
    found: Iterable[DetectorMark] = marks(text)
    if is_lock_file(path):
        found = (mark for mark in found if mark.family is Family.NAMED)
    marked = _parts(text, found)
    first = next(marked, None)
    if first is None:
        return ()
    with _lock:
        plugins = _plugins()
        limit = time.thread_time() + _SECONDS + _SECONDS_PER_MB * len(text) / 1e6
        return tuple(_suspicions(plugins, chain([first], marked), text, path, limit))


def _suspicions(
    plugins: dict[Family, list[tuple[str, Plugin]]],
    parts: Iterable[_Part],
    text: bytes,
    path: str,
    limit: float,
) -> Iterator[Suspicion]:
    weak = looked_at = 0
    for family, wanted, start, end in parts:
        if time.thread_time() > limit:
            raise SecondOpinionError("the scan took too long")
        if family is not Family.NAMED:  # these come first, so nothing named is passed over
            looked_at += 1
            if weak >= _MOST_WEAK:
                return
            if looked_at >= _MOST_LOOKED_AT:
                yield Suspicion(Family.ENTROPY, "too many random strings to check", start, "")
                return
        line = text[start:end].decode("utf-8", "replace").rstrip()
        for name, plugin in plugins[family]:
            if wanted and name.removesuffix("Detector") not in wanted:
                continue
            for value in _values(plugin, path, line):
                if _counts(name, family, value) and not _is_other(name, line, value):
                    weak += family is not Family.NAMED
                    yield Suspicion(family, plugin.secret_type, _where(text, start, value), value)


def _values(plugin: Plugin, path: str, line: str) -> list[str]:
    """Return a plug-in's findings in a line. Raises SecondOpinionError if the plug-in fails."""
    try:
        found = [one.secret_value or "" for one in plugin.analyze_line(path, line, 1)]
    except Exception as error:  # noqa: BLE001 - foreign code, see below
        # A plug-in may raise anything for hostile text, and an aborted scan must not look like one
        # without findings.
        raise SecondOpinionError(f"{plugin.secret_type}: {type(error).__name__}") from None
    return [_whole_token(value, line) for value in found]


def _counts(name: str, family: Family, value: str) -> bool:
    """Return whether a find may be a secret, by its value."""
    if name == "BasicAuthDetector":
        return not is_no_password(value)
    if name in _SHAPELESS:
        return looks_random(value)
    if name == "SlackDetector" and value.startswith("xox"):
        last = value.rstrip("-").rpartition("-")[2]  # the plug-in ends where filling begins
        return looks_random(last) or not (last.isalpha() or last.isdigit() or is_placeholder(value))
    return not (is_placeholder(value) if family is Family.NAMED else is_noise(value))


def _is_other(name: str, line: str, value: str) -> bool:
    """Return whether the context shows that a find is not a secret.

    An address whose host is reserved for documentation; an id of AWS within a longer word.
    """
    if name == "AWSKeyDetector":
        within = rf"(?:[A-Za-z0-9]{re.escape(value)}|{re.escape(value)}[A-Za-z0-9])"
        return value.isupper() and re.search(within, line) is not None
    text = line.encode()
    end = text.find(value.encode() + b"@") + len(value.encode())
    return name == "BasicAuthDetector" and is_reserved(text, end, value)


def _whole_token(value: str, line: str) -> str:
    """Return the token that `value` starts, since some plug-ins report only a key's prefix."""
    match = re.search(re.escape(value) + r"[\w.~+/=-]*", line) if len(value) < _PREFIX else None
    return match[0] if match else value


def _where(text: bytes, start: int, value: str) -> int:
    found = text.find(value.encode("utf-8", "replace"), start) if value else -1
    return found if found >= 0 else start


def _parts(text: bytes, marked: Iterable[DetectorMark]) -> Iterator[_Part]:
    """Yield for each mark the part that a plug-in reads: a line, or a piece of a long line."""
    done: set[_Part] = set()
    for mark in marked:
        part = (mark.family, mark.plugins, *_part(text, mark))
        if part not in done:
            done.add(part)
            yield part


def _part(text: bytes, mark: DetectorMark) -> tuple[int, int]:
    if mark.family is Family.ENTROPY:
        return mark.start, mark.end  # quotes and all: the plug-in needs no more
    first = text.rfind(b"\n", max(0, mark.start - _LONGEST_LINE), mark.start) + 1
    last = text.find(b"\n", mark.end, mark.end + _LONGEST_LINE)
    start_known = first > 0 or mark.start < _LONGEST_LINE
    end_known = last >= 0 or mark.end + _LONGEST_LINE >= len(text)
    last = last if last >= 0 else len(text)
    if start_known and end_known and last - first <= _LONGEST_LINE:
        return first, last
    start = max(mark.start - _AROUND, first if start_known else 0)
    end = min(mark.end, mark.start + 2 * _LONGEST_LINE) + _AROUND
    return start, min(end, last) if end_known else end


@cache
def _plugins() -> dict[Family, list[tuple[str, Plugin]]]:
    """Return all 27 plug-ins by family. Raises SecondOpinionError if any is missing."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.settings import get_settings
    except ImportError as error:
        raise SecondOpinionError(f"detect-secrets is not installed: {error}") from None
    if _VERIFICATION in get_settings().filters or get_settings().plugins:
        raise SecondOpinionError("the settings of detect-secrets were changed in this process")
    mapping: Mapping[str, type[Plugin]] = get_mapping_from_secret_type_to_class()
    classes = {kind.__name__: kind for kind in mapping.values()}
    expected = frozenset().union(*_FAMILIES.values())
    if not expected <= classes.keys():
        raise SecondOpinionError(f"plug-ins are missing: {', '.join(expected - classes.keys())}")
    return {
        family: [(name, classes[name]()) for name in sorted(names)]
        for family, names in _FAMILIES.items()
    }
