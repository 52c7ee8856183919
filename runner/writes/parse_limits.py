"""Which sources are too costly for a parser to be read in this process.

The bounds were measured on CPython 3.11: within them no known source takes longer than
0.3 s or ends the process; beyond them a child with an alarm reads the file.
"""

from __future__ import annotations

import re

_LARGEST = {"python": 64 << 10, "json": 4 << 20, "toml": 256 << 10, "yaml": 256 << 10}
# A `finally` body is compiled twice, so nested ones double: 25 levels (1.4 kB) took 20 s. Their
# number bounds their depth, however the indentation is written.
_DUPLICATED = 1 << 20
# An f-string is joined anew at each field: 80,000 fields in one took 4.5 s.
_BRACES = 3_000
# Python accepts any text codec here; some (idna, punycode) are quadratic.
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)
_PLAIN_CODECS = frozenset((b"utf-8", b"utf8", b"ascii", b"us-ascii", b"latin-1", b"iso-8859-1"))
# libyaml looks at every open bracket for each token: 100,000 took 14 s.
_FLOW_OPENERS = 4_000
# tomllib walks the whole table again for each part of a dotted key: 50,000 parts took 42 s.
_DOTS_IN_A_LINE = 300


def is_costly(language: str, content: bytes) -> bool:
    """Whether `content` is beyond what is safe to parse in this process."""
    if len(content) > _LARGEST.get(language, 0):
        return True
    if language == "python":
        return _is_costly_python(content)
    if language == "yaml":
        return content.count(b"[") + content.count(b"{") > _FLOW_OPENERS
    if language == "toml":
        return any(line.count(b".") > _DOTS_IN_A_LINE for line in re.split(rb"[\r\n]", content))
    return False


def is_tangled(content: bytes) -> bool:
    """Whether reading a Python source into a syntax tree may be slow beyond its size."""
    return content.count(b"{") > _BRACES or has_foreign_codec(content)


def has_foreign_codec(content: bytes) -> bool:
    """Whether a coding cookie (PEP 263) names another codec than UTF-8 and its subsets."""
    head = b"\n".join(re.split(rb"\r\n?|\n", content, maxsplit=2)[:2])
    cookie = _COOKIE.search(head)
    name = cookie[1].lower().replace(b"_", b"-") if cookie else b"utf-8"
    return name not in _PLAIN_CODECS


def _is_costly_python(content: bytes) -> bool:
    return len(content) << min(content.count(b"finally"), 20) > _DUPLICATED or is_tangled(content)
