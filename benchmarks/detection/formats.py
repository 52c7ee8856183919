"""Sixty key formats, made up from chance while the benchmark runs: none stands in a file.

Sources: the vendors' pages and what public scanners agree on. This list is a measure and not a
target: the shapes of the scan are not to be fitted to it.
"""

from __future__ import annotations

import string
import zlib
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

DIGITS, HEX = string.digits, "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
WORD = string.ascii_letters + string.digits
URL, B64 = WORD + "-_", WORD + "+/"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of key; `name` is the variable it stands in, neutral unless the format needs it."""

    title: str
    make: Callable[[random.Random], str]
    name: str = "value"


def some(chance: random.Random, count: int, alphabet: str = WORD) -> str:
    """So many characters by chance; the last one is no punctuation."""
    last = [letter for letter in alphabet if letter.isalnum()]
    return "".join(chance.choices(alphabet, k=count - 1)) + chance.choice(last)


def uuid(chance: random.Random) -> str:
    return "-".join(some(chance, size, HEX) for size in (8, 4, 4, 4, 12))


def _checked(prefix: str, chance: random.Random) -> str:
    """GitHub's and npm's keys end in the CRC-32 of their entropy, in six digits of base 62."""
    entropy = some(chance, 30)
    rest, check = zlib.crc32(entropy.encode()), ""
    while rest:
        rest, digit = divmod(rest, 62)
        check = BASE62[digit] + check
    return prefix + entropy + check.rjust(6, "0")


def _jwt(chance: random.Random) -> str:
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{some(chance, 10)}","iat":1700000000}}')
    head = ".".join(urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
    return f"{head}.{some(chance, 43, URL)}"


def _plain(prefix: str, count: int, alphabet: str = WORD) -> Callable[[random.Random], str]:
    return lambda chance: prefix + some(chance, count, alphabet)


def _joined(*parts: str | tuple[int, str]) -> Callable[[random.Random], str]:
    def make(chance: random.Random) -> str:
        return "".join(
            part if isinstance(part, str) else some(chance, part[0], part[1]) for part in parts
        )

    return make


_SLACK = "https://hooks." + "slack.com/services/T"

FORMATS = (
    Format("OpenAI (classic)", _joined("sk-", (20, WORD), "T3Blbk" + "FJ", (20, WORD))),
    Format("OpenAI (project)", _joined("sk-" + "proj-", (74, URL), "T3Blbk" + "FJ", (74, URL))),
    Format("OpenAI (service)", _joined("sk-" + "svcacct-", (58, URL), "T3Blbk" + "FJ", (58, URL))),
    Format("Anthropic", _joined("sk-" + "ant-api03-", (93, URL), "AA")),
    Format("AWS access key id", _plain("AK" + "IA", 16, UPPER)),
    Format("AWS temporary id", _plain("AS" + "IA", 16, UPPER)),
    Format("AWS secret", _plain("", 40, B64), "aws_secret_access_key"),
    Format("AWS Bedrock", _plain("AB" + "SK", 128, B64)),
    Format("GitHub personal", lambda chance: _checked("gh" + "p_", chance)),
    Format("GitHub OAuth", lambda chance: _checked("gh" + "o_", chance)),
    Format("GitHub server", lambda chance: _checked("gh" + "s_", chance)),
    Format("GitHub server (JWT)", lambda chance: "gh" + "s_1234567_" + _jwt(chance)),
    Format("GitHub fine-grained", _joined("github" + "_pat_", (22, WORD), "_", (59, WORD))),
    Format("GitLab personal", _plain("gl" + "pat-", 20, URL)),
    Format("GitLab deploy", _plain("gl" + "dt-", 20, URL)),
    Format("GitLab runner", _plain("gl" + "rt-", 20, URL)),
    Format("GitLab trigger", _plain("gl" + "ptt-", 40, HEX)),
    Format("Stripe secret", _plain("sk" + "_live_", 99)),
    Format("Stripe restricted", _plain("rk" + "_live_", 24)),
    Format("Stripe webhook", _plain("whs" + "ec_", 32)),
    Format("Twilio key", _plain("S" + "K", 32, HEX)),
    Format("Twilio account", _plain("A" + "C", 32, HEX)),
    Format("Slack bot", _joined("xox" + "b-", (12, DIGITS), "-", (12, DIGITS), "-", (24, WORD))),
    Format("Slack user", _joined("xox" + "p-", *[(12, DIGITS), "-"] * 3, (32, HEX))),
    Format("Slack app", _joined("xap" + "p-1-", (11, UPPER), "-", (13, DIGITS), "-", (64, HEX))),
    Format("Slack webhook", _joined(_SLACK, (10, UPPER), "/B", (10, UPPER), "/", (24, WORD))),
    Format("Google API", _plain("AI" + "za", 35, URL)),
    Format("Google OAuth secret", _plain("GOC" + "SPX-", 28, URL)),
    Format("Google OAuth token", _plain("ya" + "29.", 120, URL)),
    Format("npm", lambda chance: _checked("np" + "m_", chance)),
    Format("PyPI", _plain("pypi-" + "AgEIcHlwaS5vcmc", 150, URL)),
    Format("Hugging Face", _plain("hf" + "_", 34, string.ascii_letters)),
    Format("Databricks", _plain("da" + "pi", 32, HEX)),
    Format("Supabase", _plain("sb" + "p_", 40, HEX)),
    Format("Vercel", _plain("vc" + "p_", 56)),
    Format("Cloudflare", _plain("cf" + "ut_", 48)),
    Format("SendGrid", _joined("S" + "G.", (22, URL), ".", (43, URL))),
    Format("DigitalOcean", _plain("do" + "p_v1_", 64, HEX)),
    Format("Groq", _plain("gs" + "k_", 52)),
    Format("xAI", _plain("xa" + "i-", 80)),
    Format("OpenRouter", _plain("sk-" + "or-v1-", 64, HEX)),
    Format("Perplexity", _plain("ppl" + "x-", 48)),
    Format("Replicate", _plain("r8" + "_", 37)),
    Format("LangSmith", _joined("lsv2" + "_pt_", (32, HEX), "_", (10, HEX))),
    Format("Docker", _plain("dckr" + "_pat_", 27, URL)),
    Format("Fly", _plain("fm" + "2_", 160, B64)),
    Format("Vault", _plain("hv" + "s.", 95, URL)),
    Format("Terraform", _joined((14, WORD), ".atlas" + "v1.", (67, URL))),
    Format("1Password", _plain("ops" + "_eyJ", 300, URL)),
    Format("age", _plain("AGE-SECRET" + "-KEY-1", 58, BECH32)),
    Format("Linear", _plain("lin" + "_api_", 40)),
    Format("Notion", _joined("nt" + "n_", (11, DIGITS), (35, WORD))),
    Format("Postman", _joined("PM" + "AK-", (24, HEX), "-", (34, HEX))),
    Format("Azure AD", _joined((3, WORD), "8" + "Q~", (34, WORD)), "client_secret"),
    Format("Figma", _plain("fig" + "d_", 40, URL)),
    Format("Shopify", _plain("shp" + "at_", 32, HEX)),
    Format("Telegram", _joined((10, DIGITS), ":A" + "A", (33, URL))),
    Format("JSON web token", _jwt),
    Format("password in a URL", _joined("postgres://app:", (20, WORD), "@db.internal:5432/app")),
    Format("generic API key", _plain("", 32), "api_key"),
)  # fmt: skip

CONTEXTS: dict[str, tuple[str, str]] = {
    "assignment": (".py", '{name} = "{key}"\n'),
    "call": (".py", 'client = connect({name}="{key}")\n'),
    "JSON": (".json", '{{\n  "{name}": "{key}"\n}}\n'),
    ".env": (".env", "{upper}={key}\n"),
    "Markdown": (".md", "Set `{name}` to `{key}` and start it.\n"),
    "YAML": (".yaml", "service:\n  {name}: {key}\n"),
}


def sample(form: Format, context: str, chance: random.Random) -> tuple[str, bytes]:
    """The suffix and the text of a file that holds one key of this format."""
    suffix, text = CONTEXTS[context]
    key = form.make(chance)
    return suffix, text.format(name=form.name, upper=form.name.upper(), key=key).encode()
