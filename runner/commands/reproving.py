"""Runs affected test contracts on the files as they are now, in a scratch tree, and tells."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from runner.model import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.gates.base import Bench
    from runner.impact.answer import Affected
    from runner.model import Change, Finding, Task, TestContract
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.site import Site


@dataclass(frozen=True, slots=True)
class Reproven:
    """How one test contract ended."""

    task: str
    contract: str
    failed: bool
    findings: tuple[Finding, ...]


def reprove(
    project: Project, repository: Repository, affected: Iterable[Affected]
) -> tuple[Reproven, ...]:
    """Run the test contracts in the order of the answer, each on HEAD with what is not committed.

    Raises RunnerError where no sandbox can be had.
    """
    from runner.commands.building import sandbox_of
    from runner.run.crew import Crew
    from runner.run.workshop import Workshop

    tasks = {task.id: task for task in project.plan(project.plan_bytes).tasks}
    workshop = Workshop(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings),
        environ=project.environ,
        say=lambda _task, _line: None,
    )
    site = workshop.site(0, Crew(1, workshop.site, inline=True))
    try:
        return tuple(_all(project, repository, site, affected, tasks))
    finally:
        site.close()


def _all(
    project: Project,
    repository: Repository,
    site: Site,
    affected: Iterable[Affected],
    tasks: dict[str, Task],
) -> Iterator[Reproven]:
    changes = tuple(_not_committed(repository))
    head = repository.head().commit or ""
    for one in affected:
        task = tasks[one.task]
        by_id = {contract.id: contract for contract in task.test_contracts}
        for id_ in one.contracts:
            site.reset(head)
            site.scratch.apply(changes)
            said = _run(_bench(project, site, task, changes, head), by_id[id_])
            _tell(said)
            yield said


def _not_committed(repository: Repository) -> Iterator[Change]:
    """Files of the project that are not as HEAD has them, as a proposal would have them."""
    from runner.commands.differing import of_working_tree
    from runner.model import Action, Change, digest_of
    from runner.writes.beneath import mode_beneath

    for one in of_working_tree(repository):
        before = None if one.before is None else digest_of(one.before)
        if one.after is None:
            yield Change(one.path, Action.DELETE, 0, before, None)
        else:
            mode = mode_beneath(repository.root, one.path) or 0o100644
            action = Action.CREATE if before is None else Action.MODIFY
            yield Change(one.path, action, mode, before, digest_of(one.after), one.after)


def _bench(
    project: Project, site: Site, task: Task, changes: tuple[Change, ...], head: str
) -> Bench:
    from runner.gates import imported
    from runner.gates.base import Bench

    logs = project.cache / "impact-logs" / task.id  # the repository stays as it is
    secrets = project.settings.secrets_for(task, project.environ)
    environment = {**site.base_environment, "RUNNER_TASK": task.id, **secrets}
    return Bench(
        task=task,
        settings=project.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=environment | imported.watching(site.place, site.sandbox),
        logs=logs,
        logs_shown=str(logs),
        tell=lambda _line: None,
        cancelled=site.cancelled,
        known_secrets=tuple(secrets.values()),
        changes=changes,
        before=partial(site.before, head),
        base=head,
        kept=site.kept,
    )


def _run(bench: Bench, contract: TestContract) -> Reproven:
    """One test contract, as the proof of its task runs it."""
    from runner.gates import contract_tests, imported

    checks = contract_tests.checks(bench.task, bench.settings)
    (check,) = (one for one in checks if one.id == contract.id)
    proved = contract_tests.prove(check, bench)
    strays = imported.findings(bench)
    failed = proved.proof is None or proved.proof.verdict is Verdict.FAIL or bool(strays)
    return Reproven(bench.task.id, contract.id, failed, (*proved.findings, *strays))


def _tell(said: Reproven) -> None:
    """How it ended, as soon as it did; what it printed only where it failed."""
    from runner.commands.wording import finding_lines
    from runner.text.display import display

    sign = "failed" if said.failed else "passed"
    print(f"{display(said.task)}  {display(said.contract)}  {sign}", file=sys.stderr, flush=True)
    if said.failed:
        for finding in said.findings:
            print("\n".join(f"  {line}" for line in finding_lines(finding)), file=sys.stderr)
