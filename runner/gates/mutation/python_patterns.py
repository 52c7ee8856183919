"""Calls of regular expressions in Python that ask for all of a text, or for its beginning alone."""

from __future__ import annotations

import ast

from runner.lazy_pattern import regex

_OTHER = {"match": "fullmatch", "fullmatch": "match"}
_ENDS = regex(r"(?:\$|\\Z)\)*\Z|\.\*\)*\Z")


def other_match(tree: ast.Module, call: ast.Call) -> str:
    """What asks for the beginning where a call asks for all of a text, and the other way round.

    Empty for any other call, and where both are the same: the pattern says itself where it ends.
    Where nobody knows the pattern they may be.
    """
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _OTHER:
        return ""
    pattern = _pattern(tree, call, call.func.value)
    if not pattern or _ENDS.search(pattern):
        return ""
    return f"({ast.unparse(call.func.value)}).{_OTHER[call.func.attr]}"


def _pattern(tree: ast.Module, call: ast.Call, on: ast.expr) -> str:
    """The regular expression that a call goes by, where the file spells it out."""
    made = on
    if isinstance(on, ast.Name):
        assigned = (one for one in tree.body if isinstance(one, ast.Assign))
        made = next((one.value for one in assigned if ast.unparse(one.targets[0]) == on.id), on)
    inner = made.args if isinstance(made, ast.Call) else []
    given = call.args if ast.unparse(made) == "re" else inner
    match given[:1]:
        case [ast.Constant(value=str() as pattern)]:
            return pattern
    return ""
