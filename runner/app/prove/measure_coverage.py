"""Runs a task's test contracts on the files as they are now, to see which of its lines they run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from runner.model import Action, Change, Verdict, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from runner.gates.base import GateContext
    from runner.gates.coverage.percent import Weight
    from runner.model import Finding, Task
    from runner.project import Project
    from runner.repo.read import Repository
    from runner.run.assignment import WorkerContext


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a task's test contracts ran of its own lines."""

    weight: Weight
    findings: tuple[Finding, ...]
    """Why a test contract failed: then nothing is measured."""
    missing: tuple[str, ...]


def measure(project: Project, repository: Repository, task: Task) -> Measurement:
    """Measure in a scratch tree. Raises RunnerError where no sandbox can be had."""
    from runner.app.build.machine import sandbox_of
    from runner.run.worker_setup import WorkerSetup
    from runner.run.workers import WorkerPool

    workshop = WorkerSetup(
        root=project.root,
        repository=repository,
        cache=project.cache,
        settings=project.settings,
        sandbox=sandbox_of(project.settings),
        environ=project.environ,
        say=lambda _task, _line: None,
    )
    changes = tuple(not_committed(repository))
    site = workshop.site(0, WorkerPool(1, workshop.site, inline=True))
    try:
        head = repository.head().commit or ""
        site.reset(head)
        site.scratch.apply(changes)
        bench = _bench(project, site, task, changes, head)
        return _measure(bench, _own(repository, task, changes))
    finally:
        site.close()


def not_committed(repository: Repository) -> Iterator[Change]:
    """Files of the project that are not as HEAD has them."""
    facts = repository.state()
    for path in sorted({*(file.path for file in facts.dirty), *facts.untracked}):
        file = repository.root / path
        if path.startswith("../") or file.is_symlink() or file.is_dir():
            continue
        if not file.exists():
            yield Change(path, Action.DELETE, 0, None, None)
        else:
            mode = 0o100755 if os.access(file, os.X_OK) else 0o100644
            content = file.read_bytes()
            yield Change(path, Action.MODIFY, mode, None, digest_of(content), content)


def _own(
    repository: Repository, task: Task, changes: tuple[Change, ...]
) -> Mapping[str, frozenset[int]]:
    """The task's landed lines, and in its output files those that no commit has yet."""
    from runner.gates.coverage.landed_lines import commits_of, own_lines
    from runner.plan.globs import matches

    paths = [one.path for one in changes if one.content is not None]
    outputs = ("**",) if task.writes_everything else task.outputs
    new = [path for path in paths if any(matches(glob, path) for glob in outputs)]
    found = own_lines(commits_of(task.id, repository), new, repository)
    return {path: frozenset(lines) for path, lines in found.items()}


def _bench(
    project: Project, site: WorkerContext, task: Task, changes: tuple[Change, ...], head: str
) -> GateContext:
    from runner.gates import import_watch
    from runner.gates.base import GateContext

    secrets = project.settings.secrets_for(task, project.environ)
    environment = {**site.base_environment, "RUNNER_TASK": task.id, **secrets}
    return GateContext(
        task=task,
        settings=project.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=environment | import_watch.watch_environment(site.place, site.sandbox),
        logs=site.logs / "coverage" / task.id,
        logs_shown=f"{site.logs_shown}/coverage/{task.id}",
        tell=lambda _line: None,
        cancelled=site.cancelled,
        known_secrets=tuple(secrets.values()),
        changes=changes,
        before=partial(site.before, head),
        base=head,
        kept=site.kept,
    )


def _measure(bench: GateContext, own: Mapping[str, frozenset[int]]) -> Measurement:
    from runner.gates import contract_tests, import_watch
    from runner.gates.coverage.lines import together
    from runner.gates.coverage.measurements import read_measurement
    from runner.gates.coverage.percent import weigh

    failed: list[Finding] = []
    checks = contract_tests.checks(bench.task, bench.settings)
    for check in checks:
        proved = contract_tests.prove(check, bench)
        bad = proved.proof is not None and proved.proof.verdict is Verdict.FAIL
        failed += [one for one in proved.findings if bad and one.refuses]
    failed += import_watch.findings(bench)
    whole = together(read_measurement(check.id, bench) for check in checks)
    return Measurement(weigh(own, whole, bench.after), tuple(failed), whole.missing)
