"""What the mutants of a task say: which functions nothing notices, and what it took to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from runner.gates.base import Check, Proved
from runner.gates.coverage.own import own_lines
from runner.gates.coverage.reading import source
from runner.gates.mutation.languages import mutants_of
from runner.gates.mutation.left_out import is_left_out
from runner.gates.mutation.mutants import UNNOTICED, Mutant, Subject, subjects_of
from runner.gates.mutation.running import Ends, Executions, Laboratory
from runner.model import Finding, Proof, Severity, Verdict, digest_of
from runner.secrets.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.gates.base import Bench

_LEAST_SECONDS, _SHARE, _MOST = 2.0, 0.2, 6
_STRICT_SECONDS, _STRICT_SHARE, _STRICT_MOST = 60.0, 2.0, 60
"""With `strict` a function that was not looked at could be one that nothing notices."""
_LONGEST = 120
_MOST_NAMED = 5
_HINT = "have a test say what it must return or change, and fail otherwise"


@dataclass(slots=True)
class _Looked:
    """How far it came."""

    unnoticed: list[tuple[Subject, tuple[Mutant, ...]]] = field(default_factory=list)
    functions: int = 0
    noticed: int = 0
    survived: int = 0
    cut_short: str = ""


def judged(check: Check, bench: Bench, *, strict: bool) -> Proved:
    """Findings of functions that no test notices, and a proof that says what was tried."""
    executions = Executions.of(bench)
    subjects = subjects_of(_mutants(bench, executions), bench.tree or bench.base)
    if not subjects and not strict:
        return Proved(None)
    spent = sum(one.seconds for one in bench.proofs)
    least, share = (_STRICT_SECONDS, _STRICT_SHARE) if strict else (_LEAST_SECONDS, _SHARE)
    laboratory = Laboratory(bench, executions, max(least, share * spent))
    looked = _look(subjects, laboratory, _STRICT_MOST if strict else _MOST)
    severity = Severity.ERROR if strict else Severity.WARNING
    told = tuple(
        _unnoticed(check, subject, survivors, bench, severity)
        for subject, survivors in looked.unnoticed
    )
    proof = _proof(looked, laboratory, len(subjects), strict=strict)
    return Proved(proof, (*told, *_cut_short(check, looked, len(subjects), strict=strict)))


def _mutants(bench: Bench, executions: Executions) -> Iterator[Mutant]:
    read = partial(source, bench)
    for path, own in sorted(own_lines(bench).items()):
        ran, content = executions.lines(path), bench.after(path)
        if not ran or content is None or is_left_out(path, content):
            continue
        if read(path) == content:  # no test left another one behind
            yield from mutants_of(path, content, own, ran)


def _look(subjects: tuple[Subject, ...], laboratory: Laboratory, most: int) -> _Looked:
    """Function by function, until a mutant is noticed or enough kinds of them were not."""
    looked = _Looked()
    for subject in subjects:
        if laboratory.is_over or laboratory.tried >= most:
            break
        if not _look_at(subject, laboratory, most, looked):
            break
    if looked.functions < len(subjects):
        over = laboratory.tried < most
        looked.cut_short = "the time for it was over" if over else f"{most} mutants were tried"
    return looked


def _look_at(subject: Subject, laboratory: Laboratory, most: int, looked: _Looked) -> bool:
    """Whether there was an answer."""
    survivors: dict[str, Mutant] = {}
    for mutant in subject.mutants:
        if mutant.kind in survivors:
            continue
        if laboratory.is_over or laboratory.tried >= most:
            return False
        match laboratory.run(mutant):
            case Ends.NOTICED:
                looked.noticed += 1
                looked.functions += 1
                return True
            case Ends.SURVIVED:
                looked.survived += 1
                survivors[mutant.kind] = mutant
            case Ends.NO_TIME:
                return False
        if len(survivors) >= UNNOTICED:
            looked.functions += 1
            looked.unnoticed.append((subject, tuple(survivors.values())))
            return True
    looked.functions += 1  # too few of them could be made
    return True


# --- in words -------------------------------------------------------------------------


def _unnoticed(
    check: Check,
    subject: Subject,
    survivors: tuple[Mutant, ...],
    bench: Bench,
    severity: Severity,
) -> Finding:
    kinds = ", ".join(one.kind for one in survivors)
    content = bench.after(subject.path) or b""
    return Finding(
        check=check.id,
        message=f"no test notices what {subject.name} does: "
        f"{len(survivors)} mutants of it passed every test that runs it ({kinds})",
        path=subject.path,
        line=subject.line,
        severity=severity,
        hint=_HINT,
        detail="\n".join(line for one in survivors for line in _shown(one, content)),
    )


def _shown(mutant: Mutant, content: bytes) -> Iterator[str]:
    """The line as it is, and with the mutant in it."""
    yield f"line {mutant.line}, {mutant.kind}:"
    for sign, text in (("-", content), ("+", mutant.applied_to(content))):
        line = text.split(b"\n")[mutant.line - 1].decode("utf-8", "replace").strip()
        short = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
        yield f"  {sign} {redact(short)}"


def _cut_short(check: Check, looked: _Looked, functions: int, *, strict: bool) -> Iterator[Finding]:
    if looked.cut_short:
        yield Finding(
            check=check.id,
            message=f"mutants of {looked.functions} of {functions} functions were tried: "
            f"{looked.cut_short}",
            severity=Severity.WARNING if strict else Severity.NOTE,
            hint="" if strict else 'mutation = "strict" takes the time',
        )


def _proof(looked: _Looked, laboratory: Laboratory, functions: int, *, strict: bool) -> Proof:
    names = [subject.name for subject, _ in looked.unnoticed]
    more = " …" if len(names) > _MOST_NAMED else ""
    notes = [f"no test notices {', '.join(names[:_MOST_NAMED])}{more}"] if names else []
    if looked.cut_short:
        notes.append(f"{looked.functions} of {functions} functions: {looked.cut_short}")
    bad = Verdict.FAIL if strict else Verdict.SKIPPED
    return Proof(
        id="mutation",
        kind="mutation",
        command="",
        verdict=bad if names else Verdict.PASS,
        exit=int(strict and bool(names)),
        seconds=round(laboratory.used, 3),
        output=digest_of(repr((names, notes)).encode()),
        counts=(
            ("mutants", laboratory.tried),
            ("noticed", looked.noticed),
            ("survived", looked.survived),
        ),
        note="; ".join(notes),
    )
