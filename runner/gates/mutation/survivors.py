"""What the mutants of a task say: which functions nothing notices, and what it took to know."""

from __future__ import annotations

from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved
from runner.gates.coverage.lines import own_lines
from runner.gates.coverage.measurements import source
from runner.gates.mutation.languages import mutants_of
from runner.gates.mutation.mutant_findings import HINT, format_mutant, make_finding
from runner.gates.mutation.mutants import UNNOTICED, Mutant, Subject, is_left_out, subjects_of
from runner.gates.mutation.planned_mutants import find_planned
from runner.gates.mutation.run_mutants import Ends, Executions, MutantRunner
from runner.gates.mutation.test_claims import Looks, TestClaims, has_silent_tests
from runner.gates.mutation.unread_rows import unread_rows
from runner.gates.mutation.unrun_functions import some_of, tell_unrun
from runner.gates.mutation.weighing import Weighing, Weight
from runner.gates.mutation.written_again import copies, own_functions
from runner.lazy_dataclass import dataclass
from runner.lazy_module import lazy_module
from runner.model import Finding, Proof, Severity, Verdict, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from runner.gates.base import GateContext
    from runner.gates.mutation import aspect_findings, aspect_run
else:
    aspect_findings = lazy_module("runner.gates.mutation.aspect_findings")
    aspect_run = lazy_module("runner.gates.mutation.aspect_run")


_LEAST_SECONDS, _SHARE, _MOST = 2.0, 0.2, 6
_LEAST_RUNS, _MOST_SECONDS = UNNOTICED + 1.0, 10.0
"""What one function's answer takes, in runs of the quickest contract, and where that ends: a test
program that takes a second to start would leave every function unknown otherwise."""
_STRICT_SECONDS, _STRICT_SHARE, _STRICT_MOST = 60.0, 2.0, 60
_STRICT_LONGEST = 600.0
"""With `strict` a function that was not looked at could be one that nothing notices: so many runs
for each of them, as far as this reaches."""
_ASPECT_RUNS = 40
"""Mutants of one function, aspect by aspect, for which `strict` takes the time."""
_DOUBT = 2
"""Kinds that survive, while none is noticed, that are told although it was cut short."""
_MOST_DEFAULTS = 2
_NEAR = 12
"""Bytes before a number that are looked at."""
_CLAIMED = {
    Looks.NEVER: ", and no test that runs it asserts anything",
    Looks.ASIDE: ", and what tests that run it assert is not about what comes out of it",
    Looks.PERHAPS: "",
    Looks.CLOSELY: "",
}


@dataclass(slots=True)
class _Looked:
    """How far it came."""

    weights: list[tuple[Subject, Weighing]] = field(default_factory=list)
    noticed: int = 0
    survived: int = 0
    crashed: int = 0
    cut_short: str = ""
    open_one: tuple[Subject, Weighing] | None = None
    """The function at which it was cut short."""

    def of(self, weight: Weight) -> tuple[tuple[Subject, Weighing], ...]:
        """The functions of which so much is noticed."""
        return tuple(one for one in self.weights if one[1].result is weight)


def evaluate_mutants(check: Check, bench: GateContext, *, strict: bool) -> Proved:
    """Findings of functions that no test notices, and a proof that says what was tried."""
    executions, own = Executions.of(bench), own_lines(bench)
    seed = bench.tree or bench.base
    every = subjects_of(_mutants(bench, executions, own), seed, all_of_them=True)
    subjects = tuple(one for one in every if strict or one.can_be_judged)
    copied = (*_copied(check, bench, own, strict=strict), *_unread(check, bench, strict=strict))
    claims = TestClaims(bench, executions)
    silent = (strict or has_silent_tests(bench)) and claims.assert_nothing(every)
    if not (subjects or strict or silent):
        return Proved(None, copied)
    seconds = find_seconds(bench.proofs, len(subjects), strict=strict)
    laboratory = MutantRunner(bench, executions, seconds)
    read = claims if strict else None
    looked = _look(subjects, laboratory, _STRICT_MOST if strict else _MOST, read)
    severity = Severity.ERROR if strict else Severity.WARNING
    told = tuple(
        make_finding(check, subject, weighing, bench, severity)
        for subject, weighing in looked.of(Weight.NOTHING)
    )
    told += tuple(_tell_results(check, bench, looked, strict=strict))
    told += tuple(_tell_defaults(check, bench, looked, subjects, laboratory, strict=strict))
    if strict and not looked.cut_short:
        told += tuple(_aspects(check, bench, looked, laboratory, own))
    unsure = Severity.QUESTION if strict else Severity.WARNING
    told += tuple(find_planned(check.id, bench, executions, own, laboratory, unsure))
    asked = tuple(_asked(check, bench, looked, claims)) if strict else ()
    asked += tuple(_unrun(check, bench, executions, own)) if strict else ()
    unclaimed = [one.name for one in every] if silent else []
    proof = _proof(looked, laboratory, len(subjects), unclaimed, strict=strict)
    short = tuple(_cut_short(check, bench, looked, subjects, strict=strict))
    return Proved(proof, (*told, *copied, *asked, *short))


def find_seconds(proofs: Sequence[Proof], functions: int, *, strict: bool) -> float:
    """How long the mutants of so many functions may take of a processor."""
    least, share = (_STRICT_SECONDS, _STRICT_SHARE) if strict else (_LEAST_SECONDS, _SHARE)
    once = min((one.seconds for one in proofs if one.kind == "test"), default=0.0)
    runs = _LEAST_RUNS * once * (functions if strict else 1)
    least = max(least, min(runs, _STRICT_LONGEST if strict else _MOST_SECONDS))
    return max(least, share * sum(one.seconds for one in proofs))


def _aspects(
    check: Check,
    bench: GateContext,
    looked: _Looked,
    laboratory: MutantRunner,
    own: Mapping[str, frozenset[int]],
) -> Iterator[Finding]:
    """What tests let pass of functions of which they notice something, aspect by aspect."""
    once = min((one.seconds for one in bench.proofs if one.kind == "test"), default=0.0)
    runs = _ASPECT_RUNS * once * max(len(looked.weights), 1)
    laboratory.grant(min(max(_STRICT_SECONDS, runs), _STRICT_LONGEST))
    silent = (*looked.of(Weight.NOTHING), *looked.of(Weight.REFUSALS))
    told = {(one.path, one.name) for one, _ in silent}
    tried = aspect_run.try_aspects(bench, laboratory.executions, own, laboratory, told)
    for one in tried:
        yield from aspect_findings.tell_aspects(check.id, one)
    yield from aspect_findings.tell_left(check.id, tried)


def _copied(
    check: Check, bench: GateContext, own: Mapping[str, frozenset[int]], *, strict: bool
) -> Iterator[Finding]:
    severity = Severity.QUESTION if strict else Severity.WARNING
    return copies(check.id, bench, own_functions(bench, own), severity)


def _unread(check: Check, bench: GateContext, *, strict: bool) -> Iterator[Finding]:
    """Only with `strict`: each table takes two or three runs of all tests."""
    if strict:
        yield from unread_rows(check.id, bench, _STRICT_SECONDS, Severity.QUESTION)


def _mutants(
    bench: GateContext, executions: Executions, own: Mapping[str, frozenset[int]]
) -> Iterator[Mutant]:
    read = partial(source, bench)
    for path, lines in sorted(own.items()):
        ran, content = executions.lines(path), bench.after(path)
        if not ran or content is None or is_left_out(path, content):
            continue
        if read(path) == content:  # no test left another one behind
            yield from mutants_of(path, content, lines, ran)


def _look(
    subjects: tuple[Subject, ...], laboratory: MutantRunner, most: int, claims: TestClaims | None
) -> _Looked:
    """Until enough of each function is noticed, or enough kinds of its mutants were not.

    With `strict`, which reads `claims`, first each until a claim noticed something of it, then
    deeper: where time ends, that takes from how much is known of functions, and leaves none of
    them unseen behind those before it.
    """
    looked = _Looked()
    known = [_Open(one, Weighing(claims is not None)) for one in subjects]
    for deep in (False, True) if claims else (True,):
        for one in known:
            while (deep or not one.weighing.has_claims) and (mutant := one.find_next()):
                if laboratory.is_over or laboratory.tried >= most:
                    break
                ended = laboratory.run(mutant)
                if ended is Ends.NOTICED and claims and not claims.look_at(one.subject):
                    ended = Ends.CRASHED  # where no test asserts anything, none notices
                one.take(ended)
    for one in known:
        if one.is_over or one.weighing.result is Weight.NOTICED:
            looked.weights.append((one.subject, one.weighing))
        elif not looked.cut_short:
            over = laboratory.tried < most
            looked.cut_short = "the time for it was over" if over else f"{most} mutants were tried"
            looked.open_one = one.subject, one.weighing
    for _, weighing in looked.weights:
        looked.noticed += len(weighing.noticed)
        looked.survived += sum(map(len, weighing.survived.values()))
        looked.crashed += sum(map(len, weighing.crashed.values()))
    return looked


class _Open:
    """A function of which mutants are tried, as far as it came."""

    def __init__(self, subject: Subject, weighing: Weighing) -> None:
        self.subject = subject
        self.weighing = weighing
        self._left = weighing.select_mutants(subject)
        self._next: Mutant | None = None
        self.is_over = False
        """Whether there is an answer."""

    def find_next(self) -> Mutant | None:
        """The mutant that is to be tried next; None where there is an answer."""
        if self._next is None:
            self._next = next(self._left, None)
            self.is_over = self._next is None
        return self._next

    def take(self, ended: Ends) -> None:
        """What became of that mutant."""
        if self._next is not None and ended is not Ends.NO_TIME:
            self.weighing.add(self._next, ended)
        self._next = None


def _tell_results(
    check: Check, bench: GateContext, looked: _Looked, *, strict: bool
) -> Iterator[Finding]:
    """Functions of which tests notice when they refuse, and not what comes out otherwise."""
    severity = Severity.QUESTION if strict else Severity.WARNING
    for subject, weighing in looked.of(Weight.REFUSALS):
        kinds = ", ".join(weighing.noticed)
        message = f"no test notices what {subject.name} returns: another value passes every test"
        message += f" that runs it, and only mutants of its {kinds} are noticed"
        yield make_finding(check, subject, weighing, bench, severity, message)


def _tell_defaults(
    check: Check,
    bench: GateContext,
    looked: _Looked,
    subjects: tuple[Subject, ...],
    laboratory: MutantRunner,
    *,
    strict: bool,
) -> Iterator[Finding]:
    """Numbers that stand in for what is not there, as in `total || 1`, and may be any other.

    Where nothing else is noticed of the function, that says it all.
    """
    known = {(one.path, one.name) for one, _ in looked.of(Weight.NOTHING)}
    places = [
        (subject, mutant)
        for subject in subjects
        if (subject.path, subject.name) not in known
        for mutant in subject.mutants
        if _stands_in(mutant, bench.after(subject.path) or b"")
    ]
    for subject, mutant in places[:_MOST_DEFAULTS]:
        if laboratory.is_over or laboratory.run(mutant) is not Ends.SURVIVED:
            continue
        number = (bench.after(subject.path) or b"")[mutant.start : mutant.end].decode()
        yield Finding(
            check=check.id,
            message=f"no test notices what {subject.name} takes where there is nothing: another"
            f" number than {number} passes every test",
            path=subject.path,
            line=mutant.line,
            severity=Severity.QUESTION if strict else Severity.WARNING,
            hint="have a test come to it, with the value that must come out",
            detail="\n".join(format_mutant(mutant, bench.after(subject.path) or b"")),
        )


def _stands_in(mutant: Mutant, content: bytes) -> bool:
    """Whether it changes a number, not 0, behind `||`, `??` or `or`."""
    number = content[mutant.start : mutant.end]
    if mutant.kind != "constant" or not number[:1].isdigit() or not number.strip(b"0._"):
        return False
    before = content[max(mutant.start - _NEAR, 0) : mutant.start].rstrip()
    return before.endswith((b"||", b"??", b" or"))


def _asked(
    check: Check, bench: GateContext, looked: _Looked, claims: TestClaims
) -> Iterator[Finding]:
    """With `strict`, what neither mutants nor the texts of the tests say is a person's to say."""
    for subject, weighing in looked.of(Weight.LITTLE):
        kinds = ", ".join(weighing.noticed)
        yield make_finding(
            check,
            subject,
            weighing,
            bench,
            Severity.WARNING,
            f"tests notice little of what {subject.name} does: mutants of one kind are noticed"
            f" ({kinds}), those of more are not"
            if len(weighing.noticed) == 1
            else f"tests notice little of what {subject.name} does: mutants of"
            f" {len(weighing.noticed)} kinds are noticed ({kinds}), those of more are not",
        )
    for subject, weighing in looked.of(Weight.UNKNOWN):
        if not (subject.can_be_judged or weighing.survived or weighing.crashed):
            continue  # all of the few that there are were noticed, or are no programs
        looks = claims.look_at(subject)
        asks = weighing.is_doubtful(looks)
        if not (asks or subject.can_be_judged or weighing.survived):
            continue
        few = 0 < len(weighing.survived) < UNNOTICED
        passed = f"{len(weighing.survived)} of the few mutants that can be made of it passed"
        crashed = f"its mutants crash or do not end ({len(weighing.crashed)} kinds)"
        yield Finding(
            check=check.id,
            message=f"whether a test notices what {subject.name} does is not known: "
            f"{passed if few else crashed}{_CLAIMED[looks]}",
            path=subject.path,
            line=subject.line,
            severity=Severity.QUESTION if asks else Severity.WARNING,
            hint=HINT,
        )


def _unrun(
    check: Check,
    bench: GateContext,
    executions: Executions,
    own: Mapping[str, frozenset[int]],
) -> Iterator[Finding]:
    for path, lines in sorted(own.items()):
        yield from tell_unrun(check.id, bench, path, lines, executions.lines(path))


def _cut_short(
    check: Check,
    bench: GateContext,
    looked: _Looked,
    subjects: tuple[Subject, ...],
    *,
    strict: bool,
) -> Iterator[Finding]:
    if not looked.cut_short:
        return
    if looked.open_one is not None and not strict:
        subject, weighing = looked.open_one
        if len(weighing.survivors) >= _DOUBT and not weighing.noticed:
            message = f"no test noticed the first {len(weighing.survivors)} mutants of"
            message += f" {subject.name}; {looked.cut_short}"
            yield make_finding(check, subject, weighing, bench, Severity.WARNING, message)
    known = {(one.path, one.name) for one, _ in looked.weights}
    left = [one.name for one in subjects if (one.path, one.name) not in known]
    yield Finding(
        check=check.id,
        message=f"mutants of {len(looked.weights)} of {len(subjects)} functions were tried: "
        f"{looked.cut_short}",
        severity=Severity.QUESTION
        if strict
        else Severity.NOTE
        if looked.weights
        else Severity.WARNING,
        hint="" if strict else 'mutation = "strict" takes the time',
        detail=f"not known: {some_of(left)}" if strict else "",
    )


def _proof(
    looked: _Looked,
    laboratory: MutantRunner,
    functions: int,
    unclaimed: Sequence[str],
    *,
    strict: bool,
) -> Proof:
    names = [subject.name for subject, _ in looked.of(Weight.NOTHING)]
    notes = [f"no test notices {some_of(names)}"] if names else []
    if results := [subject.name for subject, _ in looked.of(Weight.REFUSALS)]:
        notes.append(f"no test notices what {some_of(results)} returns")
    if unclaimed:
        notes.append(f"no test that runs {some_of(unclaimed)} asserts anything")
    if looked.cut_short:
        notes.append(f"{len(looked.weights)} of {functions} functions: {looked.cut_short}")
    bad = Verdict.FAIL if strict else Verdict.SKIPPED
    crashed = (("crashed", looked.crashed),) if looked.crashed else ()
    return Proof(
        id="mutation",
        kind="mutation",
        command="",
        verdict=bad if names else Verdict.SKIPPED if unclaimed else Verdict.PASS,
        exit=int(strict and bool(names)),
        seconds=round(laboratory.used, 3),
        output=digest_of(repr((names, notes)).encode()),
        counts=(
            ("mutants", laboratory.tried),
            ("noticed", looked.noticed),
            ("survived", looked.survived),
            *crashed,
        ),
        note="; ".join(notes),
    )
