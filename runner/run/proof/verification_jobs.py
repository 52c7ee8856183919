"""Run verification jobs in parallel in scratch trees of one commit.

How a proof differs from the evidence that was kept: purely, in words.
"""

from __future__ import annotations

import shutil
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.gates import shim
from runner.gates.base import GateContext
from runner.gates.coverage.instrument import data_folder, make_empty_folder
from runner.held_out.part import split_task
from runner.model import Verdict
from runner.model.words import NOT_VERIFIED_HERE
from runner.run.landing.own_lines import Landings, OwnWork, own_work
from runner.run.proof.verification import Verified, as_known, inspect, key_of
from runner.run.workers import WorkerPool
from runner.text.wording import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from runner.config.settings import Settings
    from runner.gates.base import Check, Proved
    from runner.model import Change, Observed, Proof, Task
    from runner.process.base import Place
    from runner.repo.read import Repository
    from runner.run.proof.verification import CheckJob, Subject, VerificationPlan
    from runner.run.worker_assignment import WorkerContext
    from runner.run.worker_setup import WorkerSetup

    Row = tuple[CheckJob, str, Check, Proved]
    from collections.abc import Iterable

    from runner.model import Coverage

_OF_OWN_LINES = frozenset({"test", "coverage", "mutation"})
"""Kinds of checks about the task's own lines."""
_PATIENCE = 2.0
"""Seconds before a verification reports its progress, and between two such lines."""


class Inspection(Struct, dict=True):
    """One verification of one commit, which an interruption may end at any moment."""

    repository: Repository
    workshop: WorkerSetup
    settings: Settings
    environ: Mapping[str, str]
    head: str
    say: Callable[[str], None]
    _began: float = field(default_factory=effects.monotonic)

    def __post_init__(self) -> None:
        self.workers = WorkerPool(
            1, self.workshop.site, inline=True
        )  # it only tells what is cancelled

    def verify(self, plan: VerificationPlan) -> Verified:
        """Run every job of the plan. KeyboardInterrupt ends what runs, and is raised again."""
        results = [one for found in self._all(plan) for one in found]
        tasks, ran = inspect(plan, results)
        return Verified(
            head=self.head,
            tasks=tasks,
            threshold=self.settings.proof.project_coverage,
            ran=ran,
            reused=len(plan.untouched),
            seconds=round(effects.monotonic() - self._began, 3),
        )

    def _all(self, plan: VerificationPlan) -> Iterator[list[Row]]:
        if not plan.jobs:
            return
        work = self._own_work(plan)
        count = min(self.settings.build.jobs, len(plan.jobs))
        sites = [self.workshop.site(number, self.workers) for number in range(count)]
        free: SimpleQueue[WorkerContext] = SimpleQueue()
        for site in sites:
            free.put(site)
        executor = ThreadPoolExecutor(max_workers=count, thread_name_prefix="verify")
        try:
            futures = [executor.submit(self._run, job, free, work) for job in plan.jobs]
            yield from self._gather(futures, _about(plan))
        except BaseException:
            self.workers.cancel()
            raise
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
            for site in sites:
                site.close()

    def _own_work(self, plan: VerificationPlan) -> Mapping[str, OwnWork]:
        """Return by task the remaining work of its landings, for tasks whose tests run."""
        landings = Landings(self.repository)
        asked = {
            one.task.id: dict.fromkeys((*landings.of(one.task.id, self.head), one.known.commit))
            for job in plan.jobs
            for one, steps in job.steps
            if any(check.kind == "test" for _, check in steps)
        }
        return own_work(self.repository, asked, self.head)

    def _gather(self, futures: list[Future[list[Row]]], about: str) -> Iterator[list[Row]]:
        """Yield the jobs' results in order, once all are done; report progress on slow ones."""
        spoken, shown = self._began, -1
        open_ones = set(futures)
        while open_ones:
            done, open_ones = wait(open_ones, timeout=0.2, return_when=FIRST_COMPLETED)
            del done
            if self.workers.cancelled.is_set():
                raise KeyboardInterrupt
            now = effects.monotonic()
            count = len(futures) - len(open_ones)
            if open_ones and count != shown and now - spoken > _PATIENCE:
                spoken, shown = now, count
                self.say(f"verifying {about}: {count} of {len(futures)} jobs done")
        for future in futures:
            yield future.result()

    # --- one job ----------------------------------------------------------------------

    def _run(
        self, job: CheckJob, free: SimpleQueue[WorkerContext], work: Mapping[str, OwnWork]
    ) -> list[Row]:
        site = free.get()
        try:
            return list(self._steps(job, site, work))
        finally:
            free.put(site)

    def _steps(
        self, job: CheckJob, site: WorkerContext, work: Mapping[str, OwnWork]
    ) -> Iterator[Row]:
        known: dict[object, tuple[Check, Proved]] = {}
        for one, steps in job.steps:
            context = self._bench(one, site, shared=bool(job.owners))
            own = work.get(one.task.id, OwnWork()).within(one.task.outputs)
            ran: list[Proof] = []
            seen: tuple[Observed, ...] = ()
            about_own = replace(context, changes=own.changes, before=_around(own, context.before))
            for family, check in steps:
                if self.workers.cancelled.is_set():
                    return
                mine = about_own if check.kind in _OF_OWN_LINES else context
                # Requirements such as a secret may differ between tasks: it runs separately.
                key = key_of(check) if check.kind == "test" and not one.task.requires else None
                if key in known:
                    again = _again(check, *known[key], site.place)
                    ran += [again.proof] if again.proof else []
                    yield job, one.task.id, replace(check, command=""), again
                    continue
                self._reset(site)
                proved: Proved = family.prove(
                    check, replace(mine, proofs=tuple(ran), observed=seen)
                )
                if check.kind == "test":
                    proved = replace(proved, findings=(*proved.findings, *shim.findings(mine)))
                if not self.settings.proof.strict:
                    proved = as_known(proved, check, one.known)
                ran += [proved.proof] if proved.proof else []
                seen += proved.observed
                if key is not None:
                    known[key] = (check, proved)
                yield job, one.task.id, check, proved

    def _reset(self, site: WorkerContext) -> None:
        """Reset the tree to the commit, which is fast if it is unchanged."""
        site.reset(self.head)
        site.scratch.sign()

    def _bench(self, one: Subject, site: WorkerContext, *, shared: bool) -> GateContext:
        folder = f"verify/{'all' if shared else one.task.id}"
        return make_context(
            site,
            split_task(one.task, lambda path: site.before(self.head, path) is not None)[0],
            environ=self.environ,
            logs=(site.logs / folder, f"{site.logs_shown}/{folder}"),
            before=lambda path: site.before(self.head, path),
            base=self.head,
            attempt=one.known.last_attempt,
        )


def make_context(
    site: WorkerContext,
    task: Task,
    *,
    environ: Mapping[str, str],
    logs: tuple[Path, str],
    before: Callable[[str], bytes | None],
    base: str,
    changes: tuple[Change, ...] = (),
    attempt: int | None = None,
) -> GateContext:
    """Create the context for checks of a task outside of an attempt; output is not shown.

    `logs` is the folder for what it prints, and what that is called.
    """
    secrets = site.settings.secrets_for(task, environ)
    if site.leases is not None:
        secrets |= site.leases.lend(task, attempt or 0, site.leases.write)
    number = {} if attempt is None else {"RUNNER_ATTEMPT": str(attempt)}
    environment = {
        **site.base_environment,
        "RUNNER_TASK": task.id,
        **number,
        "RUNNER_SLOT": str(site.number),
        "RUNNER_PORT_BASE": str(20000 + 100 * site.number),
        **secrets,
    }
    return GateContext(
        task=task,
        settings=site.settings,
        place=site.place,
        sandbox=site.sandbox,
        environment=environment | shim.watch_environment(site.place, site.sandbox, environment),
        logs=logs[0],
        logs_shown=logs[1],
        tell=lambda _line: None,
        cancelled=site.cancelled,
        known_secrets=tuple(secrets.values()),
        changes=changes,
        before=before,
        base=base,
        kept=site.kept,
        prove_held_out=partial(site.prove_stored, base),
    )


def _about(plan: VerificationPlan) -> str:
    return plan.subjects[0].task.id if len(plan.subjects) == 1 else "the whole tree"


def _around(own: OwnWork, before: Callable[[str], bytes | None]) -> Callable[[str], bytes | None]:
    """Return a lookup of the file content outside of a task's own lines."""
    return lambda path: own.others[path] if path in own.others else before(path)


def _again(check: Check, first: Check, proved: Proved, place: Place) -> Proved:
    """Reuse the same command's result in this tree for another task's check."""
    measured = data_folder(place, first.id)
    if measured.is_dir() and not measured.is_symlink():
        target = make_empty_folder(place, check.id)
        effects.step("copy", target)
        shutil.copytree(measured, target, symlinks=True, dirs_exist_ok=True)
    proof = proved.proof and replace(proved.proof, id=check.id, level=check.level)
    findings = tuple(
        replace(one, check=check.id) if one.check == first.id else one for one in proved.findings
    )
    return replace(proved, proof=proof, findings=findings)


# --- differences ----------------------------------------------------------------------


_GOOD = frozenset({Verdict.PASS, Verdict.FLAKY, Verdict.SKIPPED, Verdict.KNOWN})
_COVERAGE = "coverage"
_OF_A_CHANGE = frozenset({_COVERAGE, "acceptance", "integrity", "mutation"})
"""Compared otherwise, or about a change alone: a whole tree has none to look at;
mutants are a sample, tried where the settings say so."""


class Difference(Struct, frozen=True):
    """One thing that is not as the evidence says."""

    check: str
    text: str
    worse: bool = False
    """Whether the evidence claimed more than there is."""


def differences(
    before: Iterable[Proof],
    now: Iterable[Proof],
    covered: tuple[Coverage | None, Coverage | None] = (None, None),
) -> tuple[Difference, ...]:
    """Return the differences between saved and new proofs, apart from seconds and output.

    `covered` is the coverage before and now.
    """
    now = tuple(now)
    unrun = {proof.id for proof in now if proof.note == NOT_VERIFIED_HERE}
    old, new = (
        {one.id: one for one in some if one.kind not in _OF_A_CHANGE and one.id not in unrun}
        for some in (before, now)
    )
    return (
        *(
            Difference(one.id, f"was {_format_ending(one)} and is no longer required")
            for id_, one in old.items()
            if id_ not in new
        ),
        *(_new(one) for id_, one in new.items() if id_ not in old),
        *(line for id_ in old if id_ in new for line in _between(old[id_], new[id_])),
        *_coverage(*covered),
    )


def _new(proof: Proof) -> Difference:
    return Difference(proof.id, f"is {_format_ending(proof)} now, and was not required before")


def _between(old: Proof, new: Proof) -> Iterator[Difference]:
    if (old.verdict, old.exit) != (new.verdict, new.exit):
        worse = old.verdict in _GOOD and new.verdict not in _GOOD
        same = old.exit == new.exit
        was, now = (
            (old.verdict, new.verdict) if same else (_format_ending(old), _format_ending(new))
        )
        yield Difference(old.id, f"was {was}, is {now}", worse)
    counted, counts = dict(old.counts), dict(new.counts)
    if counted != counts:
        fewer = counts.get("passed", 0) < counted.get("passed", 0)
        text = f"was {_format_counts(counted)}, is {_format_counts(counts)}"
        yield Difference(old.id, text, fewer)


def _coverage(old: Coverage | None, new: Coverage | None) -> Iterator[Difference]:
    """Yield a difference of the coverage in whole percent; trailers have no more digits."""
    was, now = _format_coverage(old), _format_coverage(new)
    if was != now:
        worse = old is not None and (new is None or int(new.percent) < int(new.threshold))
        yield Difference(_COVERAGE, f"was {was}, is {now}", worse)


def _format_coverage(coverage: Coverage | None) -> str:
    return "not measured" if coverage is None else coverage.shown


def _format_ending(proof: Proof) -> str:
    return f"{proof.verdict} (exit {proof.exit})"


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(count_words(number, name) for name, number in counts.items()) or "no counts"
