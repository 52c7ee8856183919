"""Which lines the second opinion has to read: a linear search over the whole text.

detect-secrets runs 27 plug-ins over every line with backtracking expressions: 160 ms for 1,000
lines, and 21 s for 100 kB of `sk-` in one. Each expression here is wider than those of the
plug-ins it stands for, so that an unmarked line cannot have a finding; a test holds that.
"""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

from runner.lazy_dataclass import dataclass
from runner.secrets.entropy import shannon
from runner.secrets.patterns import linear

if TYPE_CHECKING:
    from collections.abc import Iterator


class Family(Enum):
    """Plug-ins that are asked together."""

    NAMED = "named"
    ADDRESS = "address"
    KEYWORD = "keyword"
    ENTROPY = "entropy"


@dataclass(frozen=True, slots=True)
class DetectorMark:
    """A place that plug-ins of one family have to look at (bytes, within one line)."""

    family: Family
    start: int
    end: int
    plugins: tuple[str, ...] = ()
    """Those of the family that have to look, without `Detector`; all where none is named."""


# Literals, expressions and the plug-ins that they stand for. A literal is looked for first, in
# the lowered text, and before all of them one expression for everything named.
_ASSIGNED = (
    r"(?:key|pwd|pw|password|pass|token)[\"']?\]? *(?:=|:|:=|=>| +|::) *[\"']?[a-z0-9_\-]{24}"
)
_ASSIGNING = ("Cloudant", "IbmCloudIam", "IbmCosHmac", "Softlayer")
_NAMED: tuple[tuple[tuple[bytes, ...], str, tuple[str, ...]], ...] = (
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
# What follows goes into the mark, so that a line full of keywords has few of them.
_KEYWORD = rf"(?i){_KEYWORDS}[^\n]{{0,300}}"
_ADDRESS = r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}"

# The bounds of the two entropy plug-ins: more than 4.5 bits a character need at least 23
# different ones, more than 3 bits at least 9.
_BASE64 = r"\"[A-Za-z0-9+/\\_=-]{23,}\"|'[A-Za-z0-9+/\\_=-]{23,}'"
_HEX = r"\"[0-9a-fA-F]{9,}\"|'[0-9a-fA-F]{9,}'"
_BASE64_BITS = 4.5
_HEX_BITS = 3.0
_ROUNDING = 1e-9
"""The plug-ins add up the same number in another order."""


def marks(text: bytes) -> Iterator[DetectorMark]:
    """The places of `text` that the second opinion has to read, family by family."""
    lowered = text.lower()
    if linear(_any_named()).search(text) is not None:
        for literals, expression, plugins in _NAMED:
            if any(literal in lowered for literal in literals):
                yield from _find_marks(Family.NAMED, expression, text, plugins)
    yield from _find_marks(Family.ADDRESS, _ADDRESS, text)
    if any(literal in lowered for literal in _KEYWORD_LITERALS):
        yield from _find_marks(Family.KEYWORD, _KEYWORD, text)
    yield from _disorderly(_BASE64, _BASE64_BITS, text)
    yield from _disorderly(_HEX, _HEX_BITS, text)


@cache
def _any_named() -> str:
    return "|".join(f"(?:{expression})" for _, expression, _ in _NAMED)


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
