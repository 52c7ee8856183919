"""Shapes of values that a secret-looking name is given, in code, settings, commands and prose.

The name alone proves nothing and the value alone neither: both together do, where the value
looks like chance.
"""

from __future__ import annotations

from runner.secrets.shape import Shape

_NAME = (
    r"(?:(?:api|app|access|auth|authentication|private|secret|signing|encryption|crypto|master"
    r"|service|account|client|consumer|shared|session|deploy|admin|root|license|storage|db"
    r"|database|webhook|security|jwt|hmac|aes)[_.\- ]?key|secret|token|passw(?:or)?d|passphrase"
    r"|passwd|pwd|credential|apikey)"
)
_NEEDLES = ("key", "secret", "token", "passw", "passphrase", "pwd", "credential")
_VALUE = r"[A-Za-z0-9_+/=.~!@#%^&*:?|$()<>,;{}\[\]-]"
_BARE = r"[A-Za-z0-9_+/=~!@#%^&*.-]"
# A text within a text has its quotes escaped, once or more often.
_QUOTE = r"\\{0,3}[\"'`]"

# What stands between a name and its quoted value.
_OPERATORS = r"\\{0,3}[\"'`\]]{0,2}[^\"'`\n;#]{0,40}"  # `=`, `:`, `=>`, a call, an index, a type
_JOIN = r"\s{0,10}=\s{0,10}(?:\"\"|'')\.join\([\[(]?\s{0,40}"
_BRACKET = r"[\"'`\]]{0,2}\s{0,10}(?::[^\"'`\n;#=]{0,40})?[:=]>?\s{0,10}[(\[\\]\s{0,80}"
_NEXT = r"\\{0,3}[\"'`]\s{0,10},\s{0,10}(?:\\{0,3}[\"'`])?"  # the next argument
_VALUE_OF = r"[\"']?\s*,?\s*[\"']?value[\"']?\s*[:=]\s*"
_DEFAULT = r"[\"']\s{0,10}\{[^{}]{0,200}?\bdefault\s{0,10}=\s{0,10}"  # Terraform's variable
_PROPERTY = r"\s{0,10}\{[a-z;\s]{0,60}\}\s{0,10}=\s{0,10}"  # C#
_BORROWED = r"\s{0,10}:\s{0,10}&'[a-z_]{1,20}\s{1,10}str\s{0,10}=\s{0,10}"  # Rust

# The same without quotes, as in .env files, YAML, Markdown, XML and shell.
_ASSIGNS = r"\s?(?:[:?+]?:?=>?|:-?|>|\s-\s)"
_COLON = r"\*{0,3}:[*`]{0,3}"
_CELL = r"[`*\"' ]{0,4}\s?\|"  # of a table
_BLOCK = r"\s?:\s?[|>][+-]?[ \t]{0,8}\r?\n"  # of YAML
_ELEMENT = r"(?:[\"'][^<>\n]{0,60}>|</key>\s{0,80}<string>|>\s{1,80})"  # of XML
_BLANK = r"[ \t]{1,8}"  # an option and its value, `ENV` of Docker, .netrc

SHAPES = (
    Shape(
        "assigned",
        "high-entropy value assigned to a secret-looking name",
        "SECRET",
        _NEEDLES,
        rf"(?i){_NAME}[A-Za-z0-9_.\-]{{0,40}}"
        rf"(?:{_OPERATORS}|{_BRACKET}|{_NEXT}|{_VALUE_OF}|{_DEFAULT}|{_PROPERTY}|{_BORROWED}|{_JOIN})"
        rf"{_QUOTE}[ \t]{{0,4}}(?P<value>{_VALUE}{{16,}})(?:[ \t]|\\[rnt]){{0,4}}{_QUOTE}",
        random=True,
        nested=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "assigned",
        "high-entropy value assigned to a secret-looking name",
        "SECRET",
        _NEEDLES,
        rf"(?i){_NAME}[A-Za-z0-9_\-]{{0,40}}[\"'`]?(?:\s{{1,40}}value)?"
        rf"(?:{_ASSIGNS}|{_COLON}|{_CELL}|{_BLOCK}|{_ELEMENT}|{_BLANK})"
        rf"[ \t]*(?:value:[ \t]*)?[`*]{{0,3}}(?P<value>{_BARE}{{16,}})"
        r"(?:[\s,;&<>`\\|\"')\]}]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    # `key` alone names many things: then the value has to be longer, and no digest.
    Shape(
        "assigned",
        "high-entropy value assigned to a key",
        "API_KEY",
        ("key",),
        r"(?i)(?:\b|_|[a-z])key[0-9]?[\"'`\]]{0,2}(?:\s?(?:[:?+]?:?=|:)\s{0,4}|\s{1,4})"
        rf"{_QUOTE}{{0,3}}(?P<value>[A-Za-z0-9_+/=.~%-]{{20,}})(?:[\s,;&<>`\\|\"')\]}}]|\z)",
        random=True,
        unlike_digest=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "assigned",
        "high-entropy value assigned to the key of something",
        "API_KEY",
        ("key",),
        r"(?i)[a-z]{3}[_.-]?key[0-9]?[\"'`\]]{0,2}\s?(?:[:?+]?:?=|:)\s{0,4}"
        rf"{_QUOTE}{{0,3}}(?P<value>[0-9a-f]{{32,128}})(?:[\s,;&<>`\\|\"')\]}}]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    # In a sentence: "set the key to X", "its token is X", and the other way round.
    Shape(
        "assigned",
        "high-entropy value that a sentence gives to a secret-looking name",
        "SECRET",
        _NEEDLES,
        rf"(?i){_NAME}[A-Za-z0-9_\-]{{0,40}}[\"'`*]{{0,3}}\s{{1,10}}"
        r"(?:to|is|as|be|was|equals|becomes|will be|should be|must be|set to)\s{1,10}"
        r"(?:the value\s{1,10}|exactly\s{1,10})?[\"'`*]{0,3}"
        rf"(?P<value>{_BARE}{{16,}})(?:[\"'`*.,;:)\s]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "assigned",
        "high-entropy value that a sentence gives to a secret-looking name",
        "SECRET",
        _NEEDLES,
        rf"(?i)[\"'`*](?P<value>{_VALUE}{{16,}})[\"'`*]{{1,3}}\s{{1,10}}(?:as|for|is)\s{{1,10}}"
        rf"(?:[A-Za-z]{{1,20}}\s{{1,10}}){{0,4}}[\"'`*]{{0,3}}[A-Za-z0-9_]{{0,20}}{_NAME}",
        random=True,
        named=False,
        ignore_case=True,
    ),
)
