"""What contracts need beyond the runner's own dependencies, and whether it is there."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from runner.process.tools import which

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.model import Task

_PACKAGES = ("schemathesis", "openapi_spec_validator")
HINT = "pip install 'task-graph-runner[contracts]'"


def find_missing_packages() -> tuple[str, ...]:
    """The packages of the optional extra that this Python does not have."""
    return tuple(name.replace("_", "-") for name in _PACKAGES if find_spec(name) is None)


def versions(*packages: str) -> tuple[tuple[str, str], ...]:
    """The installed versions of packages, as evidence."""
    from importlib.metadata import version

    return tuple((name, version(name)) for name in packages)


def find_missing_tools(task: Task, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What keeps a task's contracts from being checked, in words for its status note."""
    from runner.gates.contracts.entries import Kind, schema
    from runner.gates.contracts.refusal import Refused

    said: list[str] = []
    kinds = {contract.kind for contract in task.contracts}
    packages = find_missing_packages() if "openapi" in kinds else ()
    if packages:
        said.append(f"{' and '.join(packages)}, which its openapi contract needs: {HINT}")
    for contract in task.contracts:
        try:
            zod = contract.kind == "schema" and schema(contract.value).kind is Kind.ZOD
        except Refused:  # told when the contract is checked
            continue
        if zod and which("node", environ) is None:
            said.append("node, which its Zod contract needs, is not on PATH")
    return tuple(dict.fromkeys(said))
