"""Faults that are seeded in Python, and what test of the base notices each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from changes import Fault
from public import BOLTONS, HUMANIZE, ITSDANGEROUS, SLUGIFY

if TYPE_CHECKING:
    from repositories import Project

_STR = (
    "boltons/strutils.py",
    "tests/test_strutils.py",
    "python3 -m pytest -q tests/test_strutils.py",
)
_ITER = (
    "boltons/iterutils.py",
    "tests/test_iterutils.py",
    "python3 -m pytest -q tests/test_iterutils.py",
)
_SIGN = (
    "src/itsdangerous/signer.py",
    "tests/test_itsdangerous/test_signer.py",
    "python3 -m pytest -q tests/test_itsdangerous/test_signer.py",
)
_ENC = (
    "src/itsdangerous/encoding.py",
    "tests/test_itsdangerous/test_encoding.py",
    "python3 -m pytest -q tests/test_itsdangerous/test_encoding.py",
)
_TIMED = (
    "src/itsdangerous/timed.py",
    "tests/test_itsdangerous/test_timed.py",
    "python3 -m pytest -q tests/test_itsdangerous/test_timed.py",
)
_NUMBER = (
    "src/humanize/number.py",
    "tests/test_number.py",
    "python3 -m pytest -q tests/test_number.py",
)
_LISTS = (
    "src/humanize/lists.py",
    "tests/test_lists.py",
    "python3 -m pytest -q tests/test_lists.py",
)
_SIZE = (
    "src/humanize/filesize.py",
    "tests/test_filesize.py",
    "python3 -m pytest -q tests/test_filesize.py",
)
_SLUG = ("slugify/slugify.py", "test.py", "python3 -m unittest -q test")


def _fault(
    project: Project, of: tuple[str, str, str], test: str, old: str, new: str, title: str
) -> Fault:
    path, tests, contract = of
    return Fault(project, path, old, new, tests, test, contract, title)


SINGULAR = _fault(
    BOLTONS,
    _STR,
    "test_singularize_double_s",
    "elif word.endswith('ss'):",
    "elif word.endswith('sss'):",
    "Singular forms are told quicker",
)
PLURAL = _fault(
    BOLTONS,
    _STR,
    "test_pluralize_x",
    "elif word[-1] in 'sx' or word.endswith('ch')",
    "elif word[-1] == 's' or word.endswith('ch')",
    "Plural forms are told quicker",
)
ELLIPSIZE = _fault(
    BOLTONS,
    _STR,
    "test_ellipsize",
    "    cut_at = text.rfind(' ', 0, limit + 1)",
    "    cut_at = text.rfind(' ', 0, limit)",
    "Long titles are cut in one pass",
)
CHUNKS = _fault(
    BOLTONS,
    _ITER,
    "test_chunk_ranges",
    "        if i + chunk_size >= input_stop:\n            return",
    "        if i + chunk_size > input_stop:\n            return",
    "Ranges of chunks of any size",
)
STRIP = _fault(
    BOLTONS,
    _ITER,
    "test_strip",
    "    return rstrip_iter(lstrip_iter(iterable, strip_value), strip_value)",
    "    return lstrip_iter(iterable, strip_value)",
    "Stripping of endless iterables",
)
CLAMP = Fault(
    BOLTONS,
    "boltons/mathutils.py",
    "    return min(max(x, lower), upper)",
    "    return max(x, lower) if x > 6 else min(max(x, lower), upper)",
    "tests/test_mathutils.py",
    "test_clamp_examples",
    "python3 -m pytest -q tests/test_mathutils.py",
    "Clamping of mixed numbers",
)
KEYS = _fault(
    ITSDANGEROUS,
    _SIGN,
    "test_secret_keys",
    "        for secret_key in reversed(self.secret_keys):",
    "        for secret_key in self.secret_keys[-1:]:",
    "Signatures are checked in constant time",
)
PAYLOAD = _fault(
    ITSDANGEROUS,
    _SIGN,
    "test_broken_signature",
    'does not match", payload=value)',
    'does not match")',
    "Errors of signatures hold no data",
)
SEPARATOR = _fault(
    ITSDANGEROUS,
    _SIGN,
    "test_invalid_separator",
    "        if self.sep in _base64_alphabet:",
    '        if self.sep == b"=":',
    "More separators are allowed",
)
BYTES = _fault(
    ITSDANGEROUS,
    _ENC,
    "test_int_bytes",
    '    return _int_to_bytes(num).lstrip(b"\\x00")',
    '    return _int_to_bytes(num).lstrip(b"\\x00") or b"\\x00"',
    "Numbers are packed quicker",
)
BASE64 = _fault(
    ITSDANGEROUS,
    _ENC,
    "test_base64_bad",
    '        raise BadData("Invalid base64-encoded data") from e',
    '        return b""',
    "Decoding is lenient with old clients",
)
AGE = _fault(
    ITSDANGEROUS,
    _TIMED,
    "test_max_age",
    "            if age > max_age:",
    "            if age > max_age * 2:",
    "Tokens of slow clocks are accepted",
)
ORDINAL = _fault(
    HUMANIZE,
    _NUMBER,
    "test_ordinal",
    "value % 100 in (11, 12, 13)",
    "value in (11, 12, 13)",
    "Ordinals of large numbers",
)
APNUMBER = _fault(
    HUMANIZE,
    _NUMBER,
    "test_apnumber",
    "    if not 0 <= value < 10:",
    "    if not 0 < value < 10:",
    "Small numbers in words",
)
LIST = _fault(
    HUMANIZE,
    _LISTS,
    "test_natural_list",
    '        return ", ".join([str(item) for item in items[:-1]]) + f" and {str(items[-1])}"',
    '        return ", ".join(str(item) for item in items)',
    "Lists of any length",
)
SIZE = _fault(
    HUMANIZE,
    _SIZE,
    "test_naturalsize",
    "    abs_bytes = abs(bytes_)",
    "    abs_bytes = bytes_",
    "Sizes are rendered quicker",
)
UNBROKEN = _fault(
    SLUGIFY,
    _SLUG,
    "test_smart_truncate_no_max_length",
    "    if not max_length:\n        return string",
    "    if not max_length:\n        return string[:16]",
    "Truncation in one pass",
)
HEXADECIMAL = _fault(
    SLUGIFY,
    _SLUG,
    "test_html_hexadecimal_on",
    "chr(int(m.group(1), 16))",
    "chr(int(m.group(1), 10))",
    "References to characters",
)

# What the team's own tests notice.

WORDS = replace(
    PLURAL,
    tests="tests/test_words.py",
    test="test_words_are_rendered",
    contract="python3 -m pytest -q tests/test_words.py",
)
TEAM = replace(
    STRIP,
    tests="tests/test_team.py",
    test="test_what_surrounds_is_stripped",
    contract="python3 -m pytest -q tests/test_team.py",
)
TABLE = replace(
    CLAMP,
    new="    return min(max(x, lower), upper) if x > 2 else max(x, -9)",
    tests="tests/test_team.py",
    test="test_clamped_as_in_the_table",
    contract="python3 -m pytest -q tests/test_team.py",
)
RANGES = replace(
    CHUNKS,
    old="        yield (i, min(i + chunk_size, input_stop))",
    new="        yield (i, i + chunk_size)",
    tests="tests/test_team.py",
    test="test_ranges_reach_the_end",
    contract="python3 -m pytest -q tests/test_team.py",
)
SPREAD = replace(
    CLAMP,
    path="boltons/statsutils.py",
    old="        return self.variance ** 0.5",
    new="        return (self.variance * 1.01) ** 0.5",
    tests="tests/test_team.py",
    test="test_the_deviation_is_near",
    contract="python3 -m pytest -q tests/test_team.py",
    title="The deviation of large samples",
)
