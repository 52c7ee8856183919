"""Run held-out tests next to untrusted code, and limit what their result reveals.

The proposal passes them first. A contract that also passes on the base then runs on a tree whose
changed functions raise: one that passes there, too, cannot fail. A change may not name a held-out
file.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from functools import partial
from posixpath import basename
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from runner import effects
from runner.errors import RunnerError
from runner.gates import commands, contract_tests, coverage, coverage_gate, shim
from runner.gates.base import COVERAGE, Check, Fitted, Proved, make_own_check
from runner.gates.check_run import try_check
from runner.gates.mutation.can_fail import with_patience
from runner.gates.mutation.function_bodies import stub_changes
from runner.held_out import workspace
from runner.held_out.author import find_items, find_survivors
from runner.held_out.part import split_task
from runner.held_out.store import repair_hint
from runner.model import (
    Action,
    Change,
    Finding,
    Network,
    Proof,
    ProvenBy,
    Severity,
    Verdict,
    digest_of,
)
from runner.model.grades import would_show
from runner.model.words import HELD_OUT, HELD_OUT_MISSING, NOT_VERIFIED_HERE
from runner.process.base import Ended
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from runner.gates.base import GateContext
    from runner.gates.check_run import CheckRun
    from runner.held_out.part import HeldOutPart
    from runner.held_out.store import HeldOutSite
    from runner.model import HeldOutFile, Task
    from runner.process.base import Place


_NOTHING = digest_of(b"")
_COULD_NOT_START = (126, 127)


class HeldOutContractResult(Struct, frozen=True):
    """The part of one held-out contract's result that leaves its proof."""

    proof: Proof
    passed: tuple[str, ...] = ()
    """Acceptance IDs whose tests all passed."""
    failed: tuple[str, ...] = ()
    fails_on: str = ""
    """Tree on which it failed: `base` or `stub`; empty if unknown."""


class HeldOutProof(Struct, frozen=True):
    """The combined result of a task's held-out contracts."""

    results: tuple[HeldOutContractResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    survivors: tuple[str, ...] = ()
    """Mutants that no test detects; only for the author of the tests."""


class HeldOutContext(Struct, frozen=True):
    """The context of a held-out proof."""

    part: HeldOutPart
    contents: Mapping[str, bytes]
    """Bytes of the files by path."""
    gates: GateContext
    """Context of the visible checks: the change and their results."""
    workspaces: Path
    """Folder for temporary copies, which every sandbox masks."""
    results: Path
    """Folder that stores names and output."""
    lay_out: Callable[[tuple[Change, ...]], None]
    """Makes the slot's tree the base with these changes."""
    environment: Callable[[Place], dict[str, str]]
    """Returns the variables of commands that run in a place."""
    passed_on_base: dict[tuple[str, ...], bool] = field(default_factory=dict)
    """Known results of contracts on a base, shared by the attempts of a run."""
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test ID, the acceptance IDs that a separate author names for it."""
    inspect: Callable[[Place], tuple[Finding, ...]] = lambda _place: ()
    """Passes the files through the write pipeline again."""
    has_author: bool = False
    """Whether mutants that no test detects may be returned to an author."""


def prove(context: HeldOutContext) -> HeldOutProof:
    """Run the held-out contracts on the proposal; then ask whether they can fail."""
    _empty(context.results)
    changes = context.gates.changes
    try:
        with _open(context, changes) as inner:
            proof = _prove_proposal(inner, context)
        if any(one.refuses and one.check != HELD_OUT for one in proof.findings):
            return proof
        noticed = _find_noticed(context)
        passed = context.has_author and not any(one.refuses for one in proof.findings)
        survivors = tuple(_find_survivors(context, proof)) if passed else ()
    finally:
        context.lay_out(changes)
    results = tuple(replace(one, fails_on=noticed.get(one.proof.id, "")) for one in proof.results)
    return HeldOutProof(results, (*proof.findings, *_find_silent(noticed)), survivors)


def _find_survivors(context: HeldOutContext, proof: HeldOutProof) -> Iterator[str]:
    ran = replace(context.gates, proofs=tuple(one.proof for one in proof.results))
    checks = [with_patience(check, ran) for check in _checks(context)]

    def is_noticed(changes: tuple[Change, ...]) -> bool:
        return not all(_try(checks, context, changes).values())

    return find_survivors(context.gates, is_noticed)


def _prove_proposal(inner: GateContext, context: HeldOutContext) -> HeldOutProof:
    if named := _find_named_files(inner, context):
        return HeldOutProof(findings=named)
    if refused := _put_files(inner, context):
        return HeldOutProof(findings=refused)
    measures = bool(context.part.contracts) and not inner.task.test_contracts
    runs = [_run(check, inner, measures=measures) for check in _checks(context)]
    results = tuple(_weigh(run, context) for run in runs)
    failed = tuple(
        _explain(run, result) for run, result in zip(runs, results, strict=True) if not run.passed
    )
    _keep(runs, context.results)
    if failed:
        return HeldOutProof(results, failed)
    more = (
        *(_weigh_coverage(inner, context) if measures else ()),
        *context.inspect(inner.place),
        *_run_gates(inner),
    )
    return HeldOutProof(results, more)


# --- once more ------------------------------------------------------------------------


_OWN_VARIABLES = ("RUNNER_TASK", "RUNNER_ATTEMPT", "RUNNER_SLOT", "RUNNER_PORT_BASE")


def prove_stored(
    here: HeldOutSite | None,
    lay_out: Callable[[tuple[Change, ...]], None],
    check: Check,
    context: GateContext,
) -> Proved | None:
    """Prove a held-out contract on a tree that lacks its files; None where the tree has them.

    `lay_out` makes the slot's tree the base with changes. What the tree has is asked of commit and
    change, never of the disk, where a test may have written anything. A contract without its files
    is not proven, and nothing refuses.
    """
    task = check.held_out
    assert task is not None  # who asks
    _, part = split_task(task, lambda path: context.after(path) is not None)
    if _name_contract(check) not in {one.id for one in part.contracts}:
        return None
    task = replace(task, held_out_files=part.files)
    missing = here.store.find_missing(task) if here else part.files
    results = here.store.results_of(task.id) if here else None
    if here is None or results is None or missing:
        return _make_unrun(check, part.files, repair_hint(task.id, missing))
    held_out_context = HeldOutContext(
        part=part,
        contents=here.store.read_all(task),
        gates=replace(context, task=task),
        workspaces=here.workspaces,
        results=results,
        lay_out=lay_out,
        environment=partial(_environment, here, task, context),
        named=here.find_named(task),
    )
    return _prove_again(check, held_out_context)


def _environment(
    here: HeldOutSite, task: Task, context: GateContext, place: Place
) -> dict[str, str]:
    """Return the variables of the task's commands without those that name the slot's folders."""
    secrets = (one.name for one in task.requires if one.kind == "secret")
    own = {name: context.environment.get(name) for name in (*_OWN_VARIABLES, *secrets)}
    known = {name: value for name, value in own.items() if value is not None}
    return here.environment(place, context.sandbox) | known


def _make_unrun(check: Check, files: tuple[HeldOutFile, ...], hint: str) -> Proved:
    """Return that a contract could not run: neither passed nor failed."""
    proof = Proof(
        id=check.id,
        kind=check.kind,
        command=redact(check.command),
        verdict=Verdict.SKIPPED,
        exit=0,
        seconds=0.0,
        output=_NOTHING,
        level=check.level,
        note=NOT_VERIFIED_HERE,
        held_out=tuple((one.path, one.digest) for one in files),
    )
    name = _name_contract(check)
    message = f"{name} could not run: its held-out files are not on this machine"
    finding = Finding(HELD_OUT_MISSING, message, severity=Severity.WARNING, hint=hint)
    return Proved(proof, (finding,))


def _prove_again(check: Check, context: HeldOutContext) -> Proved:
    """Run one contract on a tree that holds its work already; only names of failures are kept.

    Nobody asks again whether it can fail. A check of another task (`check.task`) may fail as it
    does on the base, and the change may not name its files.
    """
    gates = context.gates
    check = _enclose(check, gates)
    try:
        run, refused = _run_alone(check, context, gates.changes)
        if run is None:
            return Proved(None, refused)
        result = _weigh(run, context)
        _keep([run], context.results)
        if run.passed:
            return Proved(result.proof)
        if gates.on_base is not None and _has_same_failures(run, _run_alone(check, context, ())[0]):
            note = "already failed before this change"
            found = replace(_explain(run, result), severity=Severity.WARNING, hint=note)
            return Proved(replace(result.proof, verdict=Verdict.KNOWN, note=note), (found,))
    finally:
        context.lay_out(gates.changes)
    hint = f"for the output: runner hold-out --show {gates.task.id}"
    found = _explain(run, result)
    return Proved(result.proof, (replace(found, hint=found.hint or hint),))


def _run_alone(
    check: Check, context: HeldOutContext, changes: tuple[Change, ...]
) -> tuple[CheckRun | None, tuple[Finding, ...]]:
    """Return the run of one contract on the base with these changes, or why it cannot run."""
    with _open(context, changes) as opened:
        inner = replace(opened, logs=opened.place.box.parent / "logs")
        workspace.make_private_folder(inner.logs)
        refused = (
            *(_find_named_files(inner, context) if check.task else ()),
            *_put_files(inner, context),
        )
        return (None, refused) if refused else (_run(check, inner), ())


def _has_same_failures(run: CheckRun, before: CheckRun | None) -> bool:
    """Return whether the same contract failed before, in every test that fails now."""
    if before is None or before.passed or before.ran.exit != run.ran.exit:
        return False
    return {one.id for one in run.failing} <= {one.id for one in before.failing}


# --- the trees ------------------------------------------------------------------------


def _find_named_files(inner: GateContext, context: HeldOutContext) -> tuple[Finding, ...]:
    others = workspace.list_files(inner.place)
    return tuple(find_names(inner.changes, inner.before, context.contents, others))


def _put_files(inner: GateContext, context: HeldOutContext) -> tuple[Finding, ...]:
    """Lay the files in; return a finding where the tree has something else in their place."""
    try:
        workspace.put_files(inner.place, context.contents)
    except RunnerError as error:
        message = f"{error.message}: a held-out file needs this path"
        return (Finding("scope", message, path=error.where),)
    return ()


@contextmanager
def _open(context: HeldOutContext, changes: tuple[Change, ...]) -> Iterator[GateContext]:
    """Yield the context of commands in a throw-away copy of the base with these changes."""
    gates = context.gates
    context.lay_out(changes)
    mounted = gates.sandbox.contains
    with workspace.open_workspace(context.workspaces, gates.place, mounted=mounted) as place:
        environment = context.environment(place)
        environment |= shim.watch_environment(place, gates.sandbox, environment)
        yield replace(
            gates,
            place=place,
            environment=environment,
            logs=context.results,
            logs_shown="",
            tell=lambda _line: None,
            changes=changes,
            former={},
            on_base=None,
            kept=None,
            memory=None,
            ran={},
            observed=(),
        )


def _checks(context: HeldOutContext) -> tuple[Check, ...]:
    """Return the held-out contracts as checks."""
    gates = context.gates
    task = replace(gates.task, test_contracts=context.part.contracts)
    return tuple(_enclose(one, gates) for one in contract_tests.checks(task, gates.settings))


def _enclose(check: Check, gates: GateContext) -> Check:
    """Return the check without network access, or with its sandbox's own loopback."""
    network = Network.LOOPBACK if gates.sandbox.contains else Network.NO
    return replace(check, network=network)


def _run(check: Check, inner: GateContext, *, measures: bool = False) -> CheckRun:
    plain = Fitted(check.command, {})
    fitted = coverage.fit(check, inner, plain) if measures else plain
    run = try_check(check, inner, fitted)
    inner.ran[check.id] = run
    return run


# --- what leaves ----------------------------------------------------------------------


def _weigh(run: CheckRun, context: HeldOutContext) -> HeldOutContractResult:
    """Return what may be shown of a run: exit code, counts and acceptance ids."""
    files = tuple((one.path, one.digest) for one in context.part.files)
    proof = replace(run.proof, output=_NOTHING, log="", note="", held_out=files)
    ids = [item.id for item in context.gates.task.acceptance_items if item.id]
    bad, good = set[str](), set[str]()
    for test in run.results.tests if run.results else ():
        known = context.named.get(test.id.partition("[")[0], ())
        named = {*find_items(test, context.contents, ids), *known}
        (good if test.outcome == "passed" else bad).update(named)
    failed = tuple(one for one in ids if one in bad) if not run.passed else ()
    return HeldOutContractResult(proof, tuple(one for one in ids if one in good - bad), failed)


def _explain(run: CheckRun, result: HeldOutContractResult) -> Finding:
    """Return why a contract failed, without the name of a test or a line of output."""
    check, ran = run.check, run.ran
    tests = run.results.tests if run.results else ()
    if ran.ended is Ended.EXITED and ran.exit in _COULD_NOT_START:
        hint = "install the program, or correct the command in the plan"
        message = f"{check.id} could not run here (exit code {ran.exit})"
        return Finding(HELD_OUT, message, severity=Severity.QUESTION, hint=hint)
    if run.failing:
        which = f": {', '.join(result.failed)}" if result.failed else ""
        verb = "fails" if len(run.failing) == 1 else "fail"
        message = f"{len(run.failing)} of {len(tests)} held-out tests {verb}{which}"
    elif ran.ended in (Ended.IDLE, Ended.HARD):
        message = "the held-out tests timed out"
    elif ran.passed:
        message = "no held-out test ran"
    else:
        message = f"the held-out tests fail with exit code {ran.exit}"
    return Finding(check.id, message)


def _keep(runs: Iterable[CheckRun], folder: Path) -> None:
    """Write the names and messages of tests where only a person reads them."""
    workspace.make_private_folder(folder)
    for run in runs:
        tests = run.results.tests if run.results else ()
        rows = [
            {"test": one.id, "outcome": str(one.outcome), "message": one.message} for one in tests
        ]
        content, name = json.dumps(rows, indent=1).encode(), _name_contract(run.check)
        effects.write_file(folder / f"{name}.json", content, mode=0o600, durable=False)


def _name_contract(check: Check) -> str:
    """Return the contract's id; a check of another task's names that task before it."""
    return check.id.rpartition("/")[2]


def _empty(folder: Path) -> None:
    workspace.make_private_folder(folder)
    for old in folder.iterdir():
        if not old.is_dir():
            effects.unlink(old)


def _weigh_coverage(inner: GateContext, context: HeldOutContext) -> Iterator[Finding]:
    """Yield a finding if too few lines are covered, without naming the lines."""
    task = replace(inner.task, test_contracts=context.part.contracts)
    check = make_own_check(COVERAGE, task, inner.settings)
    proved = coverage_gate.prove(check, replace(inner, task=task))
    short = proved.coverage and proved.coverage.percent < proved.coverage.threshold
    if short and any(one.refuses for one in proved.findings):
        yield Finding(check.id, "the held-out tests cover too few lines of the change")


def _run_gates(inner: GateContext) -> Iterator[Finding]:
    """Run lint and type gates with the held-out files; those that pass without them."""
    passed = {one.id for one in inner.proofs if one.verdict is Verdict.PASS and not one.note}
    for check in commands.checks(inner.task, inner.settings):
        static = would_show(check.kind, check.id, check.command) is ProvenBy.STATIC
        if not (static and check.id in passed):
            continue
        proved = commands.prove(check, inner)
        if any(one.refuses for one in proved.findings):
            name = check.id.removeprefix("gate:")
            message = f"gate {name} passes without the held-out files and fails with them"
            hint = f"for the output: runner hold-out --show {inner.task.id}"
            yield Finding(HELD_OUT, message, severity=Severity.QUESTION, hint=hint)


# --- whether they can fail --------------------------------------------------------------


def _find_noticed(context: HeldOutContext) -> dict[str, str]:
    """Return for each contract where it failed: `base`, `stub`, or nothing; else it is left out."""
    gates, checks = context.gates, _checks(context)
    digests = tuple(one.digest for one in context.part.files)
    keys = {check.id: (gates.base, check.command, *digests) for check in checks}
    unknown = [check for check in checks if keys[check.id] not in context.passed_on_base]
    for id_, passed in _try(unknown, context, ()).items():
        context.passed_on_base[keys[id_]] = passed
    on_base = {check.id: context.passed_on_base[keys[check.id]] for check in checks}
    noticed = {id_: "base" for id_, passed in on_base.items() if not passed}
    is_only_proof = not gates.task.test_contracts
    asked = [check for check in checks if is_only_proof or on_base[check.id]]
    stubbed = stub_changes(_own_work(gates), gates.before_own_work, gates.is_test) if asked else ()
    if not stubbed:
        return noticed
    on_stub = _try(asked, context, stubbed)
    if is_only_proof and all(on_stub.values()):
        return dict.fromkeys(on_stub, "")
    noticed |= {id_: "" if passed else "stub" for id_, passed in on_stub.items() if on_base[id_]}
    return noticed


def _own_work(gates: GateContext) -> tuple[Change, ...]:
    """Return the change, and the files that the task landed before and leaves unchanged."""
    made = {one.path for one in gates.changes}
    kept = ((path, gates.before(path)) for path in gates.former if path not in made)
    return (
        *gates.changes,
        *(
            Change(path, Action.MODIFY, workspace.PLAIN_FILE, None, digest_of(content), content)
            for path, content in kept
            if content is not None
        ),
    )


def _try(
    checks: Iterable[Check], context: HeldOutContext, changes: tuple[Change, ...]
) -> dict[str, bool]:
    """Return whether each contract passes on the base with these changes."""
    checks = tuple(checks)
    if not checks:
        return {}
    with _open(context, changes) as opened:
        inner = replace(opened, logs=context.results / ("stub" if changes else "base"))
        workspace.make_private_folder(inner.logs)
        if _put_files(inner, context):  # a file in the place of a folder: nothing runs there
            return dict.fromkeys((check.id for check in checks), False)
        return {check.id: _run(check, inner).passed for check in checks}


def _find_silent(noticed: Mapping[str, str]) -> Iterator[Finding]:
    for id_, where in noticed.items():
        if not where:
            message = f"{id_} passes without the task's work: its held-out tests cannot fail"
            hint = "hold out tests that fail without the work, or accept this: runner approve"
            yield Finding(HELD_OUT, message, severity=Severity.QUESTION, hint=hint)


# --- names of held-out files ----------------------------------------------------------


def find_names(
    changes: Sequence[Change],
    before: Callable[[str], bytes | None],
    held: Collection[str],
    files: Collection[str],
) -> Iterator[Finding]:
    """Return a finding for each change whose added lines name a held-out file.

    Such code could treat these tests in a special way.
    `held` are the paths of held-out files, `files` all other paths of the proposal. A base name
    counts only where no other file has it.
    """
    taken = {basename(path) for path in files}
    words = {path: path for path in held}
    words |= {basename(path): path for path in held if basename(path) not in taken}
    for change in changes:
        added = _added_lines(before(change.path), change.content)
        found = next((path for word, path in words.items() if _has_word(added, word)), "")
        if found:
            yield Finding(
                check="scope",
                message=f"an added line names the held-out file {found}",
                path=change.path,
                hint="remove the name; the work must not depend on a particular test file",
            )


def _added_lines(before: bytes | None, after: bytes | None) -> str:
    known = set((before or b"").splitlines())
    added = (line for line in (after or b"").splitlines() if line not in known)
    return b"\n".join(added).decode("utf-8", "replace")


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
