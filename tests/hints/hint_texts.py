"""Every hint of the source code, read from its syntax trees."""

from functools import cache

import messages

ANY = "\u25a1"
"""What takes the place of a value that is known at run time."""


@cache
def all_hints():
    """Return every text that a person may read as a hint, with its place."""
    return [
        (f"{one.path}:{one.line}", messages.HOLE.sub(ANY, one.text))
        for one in messages.messages()
        if one.kind == "hint"
    ]
