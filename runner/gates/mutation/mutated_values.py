"""Code put around a value so that another one comes out, of the same type wherever that can be.

A mutant that changes a value and keeps its type makes a test fail by what it expects, not by a
crash that any call would meet.
"""

from __future__ import annotations

_NUMBERS = "('int', 'float', 'complex', 'Decimal', 'Fraction')"
_PLAIN = (
    "{k: (not a) if a is True or a is False else a + '~' if a.__class__.__name__ == 'str' "
    "else a * 3 + 7 for k, a in v.__dict__.items() "
    "if a.__class__.__name__ in ('bool', 'int', 'float', 'str')}"
)
"""The attributes of an object that are plain values, each another one."""
_OTHER = (
    "(lambda v: (lambda n, t: "
    "(not v) if 'bool' in n else "
    "([m for m in t if m is not v] or [None])[0] if 'Enum' in n else "
    f"t(v * 3 + 7) if [c for c in n if c in {_NUMBERS}] else "
    "t(v[::-1] + '~') if 'str' in n else "
    "t(v[::-1] + b'~') if 'bytes' in n or 'bytearray' in n else "
    "v._make([0 if a is None else None for a in v]) "
    "if 'tuple' in n and '_fields' in t.__dict__ else "
    "t(v[1:] or v * 2) if v and ('list' in n or 'tuple' in n) else "
    "t([None]) if 'list' in n or 'tuple' in n else "
    "t(() if v else (None,)) if 'set' in n or 'frozenset' in n else "
    "({} if v else {None: None}) if 'dict' in n else "
    "v * 3 + t(7) if 'timedelta' in n else "
    "v + v.resolution if 'date' in n else "
    "v / '~' if 'PurePath' in n else "
    "0 if v is None else "
    "iter(()) if t.__name__ in ('generator', 'map', 'filter', 'zip', 'chain') else "
    "(lambda d: (lambda c: c.__dict__.update(d) or c)(__import__('copy').copy(v)) if d else None)"
    f"({_PLAIN}) if '__dict__' in dir(v) and 'type' not in n and 'function' not in n else "
    "None)([c.__name__ for c in v.__class__.__mro__], v.__class__))(("
)
_EMPTY = (
    "(lambda v: "
    "v.__class__() if v.__class__.__name__ in ('bool', 'int', 'float', 'str', 'bytes', 'list', "
    "'tuple', 'set', 'frozenset', 'dict') and v else "
    "True if v is False else 1 if v.__class__.__name__ in ('int', 'float') else "
    "'~' if v == '' else b'~' if v == b'' else [None] if v == [] else (None,) if v == () else "
    "iter(()) if v.__class__.__name__ in ('generator', 'map', 'filter', 'zip', 'chain') else "
    "None if v is not None else 0)(("
)
OTHER = _OTHER.encode()
"""Closed by `))`."""
EMPTY = _EMPTY.encode()
"""Closed by `))`."""
