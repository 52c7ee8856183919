"""Contracts: what a task promises to others, proven against what it built."""

from runner.gates.contracts.contract_checks import checks, prove

__all__ = ["checks", "prove"]
