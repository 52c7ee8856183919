"""Benches to run commands on: with each sandbox, without one, with bubblewrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from process_bench import Bench, a_place, bubblewrap
from promise_bench import Trial, a_trial, forget

from runner.process.sandbox import NoSandbox

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["none", "bubblewrap"])
def context(request, tmp_path) -> Bench:
    """A bench with each sandbox in turn."""
    sandbox = NoSandbox() if request.param == "none" else bubblewrap()
    return Bench(a_place(tmp_path), sandbox)


@pytest.fixture
def bare(tmp_path) -> Bench:
    """A bench without a sandbox."""
    return Bench(a_place(tmp_path), NoSandbox())


@pytest.fixture
def walled(tmp_path) -> Bench:
    """A bench with bubblewrap."""
    return Bench(a_place(tmp_path), bubblewrap())


@pytest.fixture(params=["bubblewrap", "landlock"])
def word(request) -> str:
    """Each sandbox by its name."""
    return request.param


@pytest.fixture(params=["self", "nobody"])
def trial(request, word) -> Iterator[Trial]:
    """Each sandbox, as the person who runs this and as nobody."""
    found = a_trial(word, request.param)
    yield found
    forget(found)
