"""Code put around a value so that another one comes out, of the same type wherever that can be.

A mutant that changes a value and keeps its type makes a test fail by what it expects, not by a
crash that any call would meet.
"""

from __future__ import annotations

_OTHER = (
    "(lambda v: "
    "(not v) if v.__class__.__name__ == 'bool' else "
    "v * 3 + 7 if v.__class__.__name__ in ('int', 'float', 'complex', 'Decimal', 'Fraction') else "
    "v[::-1] + '~' if v.__class__.__name__ == 'str' else "
    "v[::-1] + b'~' if v.__class__.__name__ in ('bytes', 'bytearray') else "
    "(v[1:] or v * 2) if v and v.__class__.__name__ in ('list', 'tuple') else "
    "[None] if v.__class__.__name__ == 'list' else "
    "(None,) if v.__class__.__name__ == 'tuple' else "
    "v.__class__(() if v else (None,)) if v.__class__.__name__ in ('set', 'frozenset') else "
    "({} if v else {None: None}) if v.__class__.__name__ == 'dict' else "
    "0 if v is None else "
    "iter(()) if v.__class__.__name__ in ('generator', 'map', 'filter', 'zip', 'chain') else "
    "None)(("
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
