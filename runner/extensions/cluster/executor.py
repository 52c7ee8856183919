"""The executor `dask`: a Dask cluster that the settings name, or one on this machine.

An attempt on a worker of a cluster, as its slot's thread at home sees it.

A worker that is lost is no attempt that failed: the same attempt runs elsewhere. What comes back
is checked again here, and what only the coordinator knows is asked here: which tests of other
tasks the change may break (they run there, as a second job), and whether a person objects.
"""

from __future__ import annotations

import importlib.util
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.config.paths import repository_key
from runner.config.sizes import format_size
from runner.errors import ExitCode, RunnerError
from runner.extensions.cluster import addresses, message, remote_job
from runner.extensions.cluster.addresses import (
    explain_exposing,
    explain_exposure,
    is_sealed,
    refusal,
)
from runner.extensions.cluster.message import Hired, JobAnswer, Work
from runner.extensions.cluster.recheck import (
    CHECK,
    check_again,
    redact_findings,
    redact_proofs,
    rerun_review,
)
from runner.extensions.cluster.remote_job import Cancelled, RemoteJob
from runner.extensions.cluster.remote_worker import others
from runner.gates.regression import (
    KIND,
    Suspects,
    count_helpers,
    estimate_seconds,
    make_left_out,
    remember_failure,
)
from runner.implementers.base import Mode
from runner.lazy_module import lazy_module
from runner.model import Ending, Finding, Outcome, Reason, ReviewMode, Severity
from runner.run.attempt import attempt
from runner.run.choose_executor import Opened
from runner.run.proof.held_out import prove_here
from runner.run.secret_leases import lend_secrets, lend_to_traced

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from runner.config.settings import Loaded, Settings
    from runner.extensions.cluster import cluster as clusters
    from runner.extensions.cluster import lease, local_cluster, object_store
    from runner.extensions.cluster.addresses import Address
    from runner.extensions.cluster.local_cluster import WaitTimes
    from runner.extensions.cluster.message import Others
    from runner.extensions.cluster.remote_job import Dispatch, Lost
    from runner.gates.regression import Traced
    from runner.implementers.base import Implementer
    from runner.repo.read import Repository
    from runner.run.worker_assignment import Assignment, WorkerContext
    from runner.text import wording

    Ask = Callable[[Suspects], JobAnswer | tuple[Lost, ...]]
    """Sends some of them to a worker and returns its answer."""

else:
    clusters = lazy_module("runner.extensions.cluster.cluster")
    lease = lazy_module("runner.extensions.cluster.lease")
    local_cluster = lazy_module("runner.extensions.cluster.local_cluster")
    object_store = lazy_module("runner.extensions.cluster.object_store")
    socket = lazy_module("socket")
    wording = lazy_module("runner.text.wording")

__all__ = ["describe_cluster", "explain_exposure", "open_cluster"]
_KNOCK = 3.0
"""Timeout of the first connection to a scheduler."""


def require_private(scheduler: Address, settings: Settings) -> None:
    """Raise RunnerError where code would go over a network that others may listen on."""
    if scheduler.is_private or settings.cluster.insecure:
        return
    raise RunnerError(
        f"{scheduler} does not use TLS: others on the network can read your code "
        "and run commands on the workers",
        where="executor",
        hint="start the cluster with TLS (docs/cluster), or pass --insecure-cluster",
        code=ExitCode.PERSON,
    )


def open_cluster(
    loaded: Loaded,
    repository: Repository,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    patience: WaitTimes | None = None,
) -> Opened:
    """Connect to the configured cluster, or start a local one. Raises RunnerError.

    Where nobody chose how many `jobs`, as many as it has threads. Raises RunnerError.
    """
    settings = loaded.settings
    _require_library()
    scheduler = addresses.scheduler_of(settings.cluster.executor)
    if scheduler is not None:
        require_private(scheduler, settings)
    local = None
    certificates = local_cluster.Certificates(
        settings.cluster.tls_ca, settings.cluster.tls_cert, settings.cluster.tls_key
    )
    if scheduler is None:
        _require_keys()
        local = local_cluster.LocalCluster(settings.build.jobs, environ, settings.sandbox.kind)
        certificates = local.certificates
    try:
        tickets = lease.PendingResults(say)
        cluster = clusters.Cluster(
            scheduler or local_address(local),
            certificates,
            tickets.hear,
            open_network=settings.cluster.insecure,
            patience=patience,
        )
    except BaseException:
        if local is not None:
            local.close()
        raise

    def close() -> None:
        cluster.close()
        if local is not None:
            local.close()

    chosen = scheduler is None or loaded.sources.get("build.jobs") != "default"
    slots = settings.build.jobs if chosen else max(cluster.threads, 1)
    cluster.prepare(slots)
    dispatch = remote_job.Dispatch(
        cluster, object_store.ObjectTransfer(repository), tickets, _ground(repository), say
    )
    return Opened(ClusterExecutor(slots, dispatch, close), slots)


def _ground(repository: Repository) -> message.Ground:
    """Describe the repository to workers: names and settings, no contents."""
    lender = repository.lender()
    return message.Ground(
        key=repository_key(repository.root),
        name=repository.folders.top.name,
        object_format=lender.object_format,
        prefix=lender.prefix.value,
        branch=lender.branch or "",
        ignored=lender.ignored,
        who=lender.who,
    )


def describe_cluster(settings: Settings) -> str:
    """Describe the configured cluster without starting it. Raises RunnerError."""
    _require_library()
    scheduler = addresses.scheduler_of(settings.cluster.executor)
    if scheduler is None:
        _require_keys()
        return f"dask, {settings.build.jobs} workers on this machine"
    require_private(scheduler, settings)
    try:
        socket.create_connection((scheduler.host.strip("[]"), scheduler.port), _KNOCK).close()
    except OSError as error:
        raise RunnerError(
            f"no scheduler at {scheduler}: {error.strerror or error}",
            hint="start one: dask scheduler",
            code=ExitCode.PERSON,
        ) from error
    return f"dask, scheduler at {scheduler}"


def _require_library() -> None:
    """Raise RunnerError where Dask is missing: a child that cannot import it only says it ended."""
    if importlib.util.find_spec("distributed") is None:
        raise RunnerError(
            "dask is not installed", hint=wording.install_hint("dask"), code=ExitCode.PERSON
        )


def _require_keys() -> None:
    """Raise RunnerError where no key can be made for a cluster of our own."""
    if importlib.util.find_spec("cryptography") is None:
        raise RunnerError(
            "a local cluster needs the package cryptography, which is not installed",
            where="executor",
            hint=f"{wording.install_hint('dask')}, or use --executor threads",
            code=ExitCode.PERSON,
        )


def local_address(local: object) -> Address:
    """Return the address of a cluster that was just started."""
    found = addresses.read_address(str(getattr(local, "address", "")))
    if found is None:
        raise RunnerError("the local cluster reported no address")
    return found


def ask_workers(
    suspects: Suspects, site: WorkerContext, ask: Ask
) -> tuple[JobAnswer | tuple[Lost, ...], ...]:
    """Send the traced tests to workers, in parallel if slots of the run are free."""
    with ExitStack() as claimed:
        helpers = 0
        while helpers < count_helpers(suspects) and claimed.enter_context(
            site.workers.lanes.claim()
        ):
            helpers += 1
        first, *more = share_out(suspects, helpers + 1)
        if not more:
            return (ask(first),)
        with ThreadPoolExecutor(max_workers=len(more), thread_name_prefix="lane") as executor:
            beside = [executor.submit(ask, one) for one in more]
            return (ask(first), *(one.result() for one in beside))


def share_out(suspects: Suspects, shares: int) -> tuple[Suspects, ...]:
    """Split the tests into at most `shares` parts of similar duration.

    What uses scarce things, one of which two must not take at once, is all in the first one.
    """
    rows: list[list[Traced]] = [[] for _ in range(shares)]
    seconds = [0.0] * shares
    for one in suspects.traced:
        at = 0 if one.task.uses else seconds.index(min(seconds))
        rows[at].append(one)
        seconds[at] += estimate_seconds(one)
    filled = [tuple(row) for row in rows if row]
    notes = [suspects.notes, *((),) * len(filled)]
    return tuple(
        Suspects(row, suspects.enough, note) for row, note in zip(filled, notes, strict=False)
    )


def join_others(
    outcome: Outcome, results: tuple[Others, ...], suspects: Suspects, assignment: Assignment
) -> Outcome:
    """Return the outcome with the results of other tasks' tests, in the order of suspects."""
    known = tuple(
        value
        for pairs in (assignment.secrets, *(one.secrets for one in suspects.traced))
        for _, value in pairs
    )
    place = {one.check: number for number, one in enumerate(suspects.traced)}
    found = [one for other in results for one in redact_findings(other.findings, known)]
    findings = [one for one in found if one.check != KIND]  # what was left out is counted here
    findings.sort(key=lambda one: place.get(one.check, len(place)))
    proofs = [one for other in results for one in redact_proofs(other.proofs, known)]
    proofs.sort(key=lambda one: place.get(one.id, len(place)))
    bad = any(finding.refuses for finding in findings)
    heard = {proof.id for proof in proofs}
    unheard = [check for check in place if check not in heard]
    if unheard and not bad:
        message = f"the worker did not run {', '.join(unheard[:3])}"
        findings, bad = [*findings, Finding(check=CHECK, message=message)], True
    elif unheard:
        failed = {one.check for one in findings if one.refuses}
        findings.append(make_left_out(len(unheard), len(failed & place.keys())))
    return replace(
        outcome,
        ending=Ending.FAILED if bad else outcome.ending,
        proofs=(*outcome.proofs, *proofs),
        findings=(*outcome.findings, *findings),
        observed=(*outcome.observed, *(seen for other in results for seen in other.observed)),
    )


def remember_failures(outcome: Outcome, suspects: Suspects, kept: Path | None, shown: str) -> None:
    """Record local failures, which decide the order of tests for the next change."""
    failed = {one.check for one in outcome.findings if one.refuses}
    for traced in suspects.traced:
        if traced.check in failed:
            remember_failure(traced, kept, shown)


_MOST_SENT = 64 << 20
"""Bytes of ignored files that are sent with a job."""


class ClusterExecutor(ThreadPoolExecutor):
    """Runs attempts on a cluster: a thread a slot, which waits for its worker."""

    def __init__(self, slots: int, dispatch: Dispatch, close: Callable[[], None]) -> None:
        super().__init__(max_workers=slots, thread_name_prefix="slot")
        self._remote = ClusterRemote(dispatch)
        self._close = close

    def submit(  # type: ignore[override]  # the standard one is generic in ways not used here
        self,
        fn: Callable[[Assignment, WorkerContext], Outcome],
        assignment: Assignment,
        site: WorkerContext,
    ) -> Future[Outcome]:
        """Submit an attempt to a worker instead of running `fn` here."""
        del fn  # it is `attempt`: what a worker does, too
        return super().submit(self._remote.attempt, assignment, site)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002 - as the standard one
        """Wait for the slots, then leave the cluster."""
        super().shutdown(wait=wait, cancel_futures=cancel_futures)
        self._close()


class ClusterRemote(Struct):
    """Works on assignments by way of a cluster; called by the threads of all slots."""

    dispatch: Dispatch
    _notes: set[str] = field(default_factory=set)

    def attempt(self, assignment: Assignment, site: WorkerContext) -> Outcome:
        """Run an attempt on the cluster or here; replaces `runner.run.attempt`."""
        if (exposed := self._find_exposing(assignment, site, None)) is not None:
            return _refuse(_no_outcome(assignment), exposed)
        return lend_secrets(assignment, site, self._attempt)

    def _attempt(self, assignment: Assignment, site: WorkerContext) -> Outcome:
        """Run the assignment on the cluster, or here if it cannot be sent."""
        if why := self._stays(assignment, site):
            self._print_once(f"note: {assignment.task.id} runs here, not on the cluster: {why}")
            return attempt(assignment, site)
        began = effects.monotonic()
        try:
            outcome = self._send_away(assignment, site)
        except Cancelled:
            outcome = replace(_no_outcome(assignment), ending=Ending.INTERRUPTED)
        if site.cancelled.is_set():
            outcome = replace(outcome, ending=Ending.INTERRUPTED)
        return replace(outcome, seconds=round(effects.monotonic() - began, 3))

    def _find_exposing(
        self, assignment: Assignment, site: WorkerContext, suspects: Suspects | None
    ) -> Finding | None:
        """Return why the work must not run on the cluster, or None."""
        scheduler, settings = self.dispatch.cluster.scheduler, site.settings
        if is_sealed(scheduler, settings):
            return None
        if suspects is None:
            who = explain_exposing((assignment.task,), assignment.implementer, settings)
        else:
            who = explain_exposing((one.task for one in suspects.traced), None, settings)
        return refusal(who, scheduler) if who else None

    def _stays(self, assignment: Assignment, site: WorkerContext) -> str:
        """Return why an attempt cannot be sent to a worker; empty if it can."""
        if site.settings.review.at == "write" and assignment.review is ReviewMode.PROMPT:
            return "you review its writes while it runs"
        if assignment.mode is Mode.PLAN and assignment.review is not ReviewMode.OFF:
            return "you review its plan while it runs"
        who = None if assignment.is_check else assignment.implementer
        if site.settings.model.calls and who is not None and who.is_agent:
            return "the setting model.calls counts calls of one process only"
        if assignment.secrets and not self.dispatch.cluster.keeps_secrets:
            return "its secrets are sent only over TLS or loopback"
        return self._keep_included(site)

    def _keep_included(self, site: WorkerContext) -> str:
        """Return why the ignored files in its tree cannot be sent; empty if they can."""
        files = site.included
        if files is None:
            return ""
        if not site.settings.sandbox.worktree_include_remote:
            return (
                "it needs ignored files, which are not sent; to send them, set "
                "sandbox.worktree_include_remote = true in your own settings"
            )
        if files.size > _MOST_SENT:
            most = format_size(_MOST_SENT)
            return f"the ignored files in its tree are larger than the limit of {most}"
        keeps = self.dispatch.cluster.keeps_secrets
        return "" if keeps else "ignored files are sent only over TLS or loopback"

    def _print_once(self, text: str) -> None:
        if text not in self._notes:
            self._notes.add(text)
            self.dispatch.say(text)

    def _send_away(self, assignment: Assignment, site: WorkerContext) -> Outcome:
        errand = self._errand(assignment, site, None)
        answer = errand.run()
        if not isinstance(answer, JobAnswer) or answer.outcome is None:
            return _give_up(_no_outcome(assignment), answer)
        notes = tuple(map(_note_of, errand.lost))
        findings = (*answer.outcome.findings, *notes)
        outcome = replace(answer.outcome, base=assignment.base, findings=findings)
        tree = self.dispatch.supply.tree_of(assignment.base)
        # Everything that follows uses the bytes rebuilt here, never the worker's description of
        # them.
        outcome = check_again(assignment, site, outcome, tree)
        if outcome.is_good and outcome.changes:
            outcome = self._with_other_tests(assignment, site, outcome)
        if outcome.is_good and (assignment.held_out or assignment.author_tests.files):
            outcome = prove_here(assignment, site, outcome)
        return rerun_review(assignment, site, outcome)

    def _errand(
        self, assignment: Assignment, site: WorkerContext, suspects: Suspects | None
    ) -> RemoteJob:
        tree = self.dispatch.supply.tree_of(assignment.base)
        former = {} if suspects else site.former(assignment)
        work = Work(
            replace(_strip_assignment(assignment, tree), former=tuple(former.items())), suspects
        )
        return RemoteJob(self.dispatch, assignment, site, work, tree)

    def _with_other_tests(
        self, assignment: Assignment, site: WorkerContext, outcome: Outcome
    ) -> Outcome:
        """Return the outcome with results of other tasks' tests on the change."""
        suspects = lend_to_traced(site.workers.trace(assignment, outcome), assignment, site)
        if site.cancelled.is_set():
            return outcome
        if not suspects.traced:  # no worker is asked, and the notes are kept all the same
            return replace(outcome, findings=(*outcome.findings, *suspects.notes))
        if (exposed := self._find_exposing(assignment, site, suspects)) is not None:
            return _refuse(outcome, exposed)
        carried = replace(assignment, implementer=None, carried=outcome.changes)
        keeps = self.dispatch.cluster.keeps_secrets
        if any(one.task.held_out_files or (one.secrets and not keeps) for one in suspects.traced):
            return join_others(outcome, (others(carried, site, suspects),), suspects, assignment)
        try:
            answers = ask_workers(
                suspects, site, lambda some: self._errand(carried, site, some).run()
            )
        except Cancelled:
            return outcome  # ended from outside: what was written is kept all the same
        lost = next((one for one in answers if not isinstance(one, JobAnswer)), None)
        if lost is not None:
            return _give_up(outcome, lost)
        results = tuple(one.others for one in answers if isinstance(one, JobAnswer) and one.others)
        joined = join_others(outcome, results, suspects, assignment)
        shown = str(self.dispatch.supply.repository.folders.top)
        remember_failures(joined, suspects, site.kept, shown)
        return joined


def _strip_assignment(assignment: Assignment, tree: str) -> Assignment:
    """Return the assignment for a worker: the base by its tree, the implementer by its name.

    A person's review, and a command that reviews, stay at home.
    """
    implementer = assignment.implementer
    hired = cast("Implementer", Hired(implementer.name)) if implementer else None
    return replace(
        assignment,
        base=tree if assignment.base else "",
        brief=replace(assignment.brief, patterns=()),
        implementer=hired,
        review=ReviewMode.OFF,
    )


def _no_outcome(assignment: Assignment) -> Outcome:
    return Outcome(
        task=assignment.task.id,
        attempt=assignment.attempt,
        ending=Ending.FAILED,
        base=assignment.base,
        tree="",
    )


def _note_of(lost: Lost) -> Finding:
    """Return a note on a lost attempt, which is kept with the successful one."""
    text = f"{lost.worker} {lost.why}"
    return Finding(check=CHECK, message=text, severity=Severity.NOTE)


def _refuse(outcome: Outcome, finding: Finding) -> Outcome:
    """Block the task for a person, since no retry would change the cluster."""
    findings = (*outcome.findings, finding)
    return replace(outcome, ending=Ending.BLOCKED, reason=Reason.POLICY, findings=findings)


def _give_up(outcome: Outcome, tried: JobAnswer | tuple[Lost, ...]) -> Outcome:
    """Block the task because no worker could finish it."""
    lost = tried if isinstance(tried, tuple) else ()
    reasons = "\n".join(f"{one.worker} {one.why}" for one in lost)
    hints = [one.hint for one in lost if one.hint]
    count = f"{len(lost)} worker{'' if len(lost) == 1 else 's'}"
    finding = Finding(
        check=CHECK,
        message=f"{count} could not finish the task: {lost[-1].worker} {lost[-1].why}"
        if lost
        else reasons,
        hint=hints[-1] if hints else "check the workers' memory and logs, then run again",
        detail=reasons,
    )
    return replace(
        outcome,
        ending=Ending.BLOCKED,
        reason=Reason.TOOL,
        findings=(*outcome.findings, finding),
    )
