"""Benches to run commands on: with each sandbox, without one, with bubblewrap."""

from __future__ import annotations

import pytest
from process_bench import Bench, a_place, bubblewrap

from runner.process.sandbox import NoSandbox


@pytest.fixture(params=["none", "bubblewrap"])
def bench(request, tmp_path) -> Bench:
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
