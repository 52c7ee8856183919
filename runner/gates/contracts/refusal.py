"""A contract that cannot be read or asks for what is refused."""

from __future__ import annotations


class Refused(Exception):  # noqa: N818 - an outcome of reading, named as the field names it
    """What is wrong with a contract; the room's family turns it into a finding."""

    def __init__(self, message: str, *, hint: str = "", path: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path = path
        self.line = line
