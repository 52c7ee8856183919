"""Stub first: a change with a raise at the start of every function that it adds or modifies.

Other checks run a command on that tree to see whether it can fail.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.gates.left_out import is_left_out
from runner.gates.mutation.function_bodies import find_changed_functions, insert
from runner.gates.test_paths import is_test_path
from runner.model import Change, digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def stub_changes(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    is_test: Callable[[str], bool] = is_test_path,
) -> tuple[Change, ...]:
    """The changes with all functions of the product that they touch raising; empty for none.

    `base_result.earlier(check, context, stubbed)` runs a check on that tree.
    """
    stubbed = tuple(
        one if is_test(one.path) else stub_change(one, before(one.path)) for one in changes
    )
    return stubbed if stubbed != tuple(changes) else ()


def stub_change(change: Change, before: bytes | None) -> Change:
    """One changed file with its changed functions raising; itself where there are none."""
    content = change.content
    if content is None or is_left_out(change.path, content):
        return change
    found = find_changed_functions(change.path, before, content)
    if not found:
        return change
    new = insert(content, (part for one in found for part in one.stub))
    return replace(change, after=digest_of(new), content=new)
