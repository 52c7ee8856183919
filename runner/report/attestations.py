"""Write and parse attestations of proofs: in-toto Statement v1.

A task's proof is a test result, a ship a verification summary. Sources: in-toto attestation
framework, spec/v1 and spec/predicates/test-result (v0.1); SLSA verification summary v1.
Nothing stands in them that a clone could not look up in git.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from runner.model import Verdict
from runner.report.documents import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from runner.journal.evidence import Evidence
    from runner.report.documents import Json

    Object: TypeAlias = dict[str, Json]

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
SUMMARY = "https://slsa.dev/verification_summary/v1"
VERIFIER = "urn:task-graph-runner"
ALL_PROVEN, SOME_PROVEN = "RUNNER_ALL_PROVEN", "RUNNER_SOME_PROVEN"
"""The runner's own levels; SLSA's begin with SLSA_."""
WHAT, PROOF, RECORD = "spec/what", "spec/proof", "told-in"
"""Names for the configuration of a task's proof, and for its record commit."""
RESULTS = ("PASSED", "WARNED", "FAILED")
_HEX = re.compile(r"[0-9a-f]+")
# Git names an object by SHA-1, or by SHA-256 in such a repository (gitrepository-layout(5);
# in-toto, spec/v1/digest_set).
_LENGTHS = {"sha256": (64,), "gitCommit": (40, 64), "gitTree": (40, 64)}


class Fault(NamedTuple):
    """A problem in an attestation, and its place."""

    where: str
    text: str


def task_statement(evidence: Evidence) -> Object:
    """Return the statement that a task's proofs passed on its tree, from its commit."""
    subject = [_descriptor("tree", "gitTree", evidence.tree)]
    if evidence.commit:
        subject.insert(0, _descriptor("commit", "gitCommit", evidence.commit))
    proofs = evidence.proofs
    named = {verdict: [one.id for one in proofs if one.verdict is verdict] for verdict in Verdict}
    passed, warned = named[Verdict.PASS], named[Verdict.FLAKY]
    failed = [*named[Verdict.FAIL], *named[Verdict.KNOWN]]
    return {
        "_type": STATEMENT,
        "subject": plain(subject),
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "FAILED" if failed else "WARNED" if warned else "PASSED",
            "configuration": [
                _descriptor(f"{evidence.task}/{WHAT}", "sha256", evidence.spec.what),
                _descriptor(f"{evidence.task}/{PROOF}", "sha256", evidence.spec.proof),
                _descriptor(f"{evidence.task}/{RECORD}", "gitCommit", evidence.recorded_in),
            ],
            "passedTests": plain(passed),
            "warnedTests": plain(warned),
            "failedTests": plain(failed),
        },
    }


def ship_statement(
    tag: str,
    commit: str,
    tree: str,
    plan: tuple[str, str],
    when: str,
    statements: Mapping[str, Object],
    *,
    whole: bool,
) -> Object:
    """Return the attestation of a verified plan; `plan` is its path and digest.

    `statements` are those of the tasks that are proven, `when` is RFC 3339 in UTC, `whole` says
    whether these are all that there was to prove.
    """
    return {
        "_type": STATEMENT,
        "subject": [
            _descriptor(tag, "gitCommit", commit),
            _descriptor("tree", "gitTree", tree),
        ],
        "predicateType": SUMMARY,
        "predicate": {
            "verifier": {"id": VERIFIER},
            "timeVerified": when,
            "resourceUri": f"git:{commit}",
            "policy": {"uri": plan[0], "digest": {"sha256": _bare(plan[1])}},
            "inputAttestations": [
                {"uri": f"{VERIFIER}:{id_}", "digest": {"sha256": digest_of_statement(one)}}
                for id_, one in statements.items()
            ],
            "verificationResult": "PASSED",
            "verifiedLevels": [ALL_PROVEN if whole else SOME_PROVEN],
            "slsaVersion": "1.0",
        },
    }


def encode(statement: Object) -> str:
    """Encode a statement deterministically."""
    return json.dumps(statement, ensure_ascii=True, indent=2) + "\n"


def digest_of_statement(statement: Object) -> str:
    """Return the SHA-256 of the statement's file, in hex."""
    return hashlib.sha256(encode(statement).encode()).hexdigest()


def _descriptor(name: str, algorithm: str, value: str) -> Object:
    return {"name": name, "digest": {algorithm: _bare(value)}}


def _bare(digest: str) -> str:
    return digest.rpartition(":")[2]


# --- read back ------------------------------------------------------------------------


def find_shape_faults(statement: Json) -> Iterator[Fault]:
    """Yield deviations from the formats, each with its place; additional fields are ignored."""
    if not isinstance(statement, dict):
        yield Fault("", "a statement must be one JSON object")
        return
    if statement.get("_type") != STATEMENT:
        yield Fault("_type", f"must be {STATEMENT}")
    yield from _descriptor_faults("subject", statement.get("subject"), named=False)
    predicate = statement.get("predicate")
    look = _PREDICATES.get(str(statement.get("predicateType")))
    if look is None:
        yield Fault("predicateType", f"must be {TEST_RESULT} or {SUMMARY}")
    elif not isinstance(predicate, dict):
        yield Fault("predicate", "must be an object")
    else:
        yield from look(predicate)


def _result_faults(predicate: Object) -> Iterator[Fault]:
    result = predicate.get("result")
    if result not in RESULTS:
        yield Fault("predicate.result", f"must be one of {', '.join(RESULTS)}")
    yield from _descriptor_faults("predicate.configuration", predicate.get("configuration"))
    lists = [_names(predicate, name) for name in ("passedTests", "warnedTests", "failedTests")]
    for name, found in zip(("passedTests", "warnedTests", "failedTests"), lists, strict=True):
        if found is None:
            yield Fault(f"predicate.{name}", "must be a list of names")
    passed, warned, failed = (found or [] for found in lists)
    every = [*passed, *warned, *failed]
    if len(set(every)) < len(every):
        yield Fault("predicate", "a test is listed twice")
    if result == "PASSED" and (warned or failed or not passed):
        yield Fault("predicate.result", "PASSED, but not every test passed")
    if result == "WARNED" and (failed or not warned):
        yield Fault("predicate.result", "WARNED needs a test that warned, and none that failed")


def _summary_faults(predicate: Object) -> Iterator[Fault]:
    if predicate.get("verificationResult") not in ("PASSED", "FAILED"):
        yield Fault("predicate.verificationResult", "must be PASSED or FAILED")
    for name in ("verifier", "policy"):
        if not isinstance(predicate.get(name), dict):
            yield Fault(f"predicate.{name}", "must be an object")
    for name in ("timeVerified", "resourceUri"):
        if not isinstance(predicate.get(name), str):
            yield Fault(f"predicate.{name}", "must be a string")
    if not _names(predicate, "verifiedLevels"):
        yield Fault("predicate.verifiedLevels", "must be a non-empty list of levels")
    inputs = predicate.get("inputAttestations")
    if inputs != []:
        yield from _descriptor_faults("predicate.inputAttestations", inputs, named=False)


_PREDICATES: Mapping[str, Callable[[Object], Iterator[Fault]]] = {
    TEST_RESULT: _result_faults,
    SUMMARY: _summary_faults,
}


def _descriptor_faults(where: str, found: Json, *, named: bool = True) -> Iterator[Fault]:
    if not isinstance(found, list) or not found:
        yield Fault(where, "must be a list of at least one resource")
        return
    seen = set()
    for number, one in enumerate(found):
        place = f"{where}[{number}]"
        digest = one.get("digest") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(digest, dict) or not digest:
            yield Fault(place, "has no digest")
            continue
        name = one.get("name")
        if named and not isinstance(name, str):
            yield Fault(f"{place}.name", "must be a string")
        key = json.dumps([name, one.get("uri"), sorted(digest)])
        if key in seen:
            yield Fault(place, "is listed twice")
        seen.add(key)
        yield from _digest_faults(place, digest)


def _digest_faults(place: str, digest: Object) -> Iterator[Fault]:
    for algorithm, value in digest.items():
        lengths = _LENGTHS.get(algorithm)
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            yield Fault(f"{place}.digest.{algorithm}", "must be lower-case hex")
        elif lengths and len(value) not in lengths:
            yield Fault(f"{place}.digest.{algorithm}", f"must have {lengths[0]} digits")


def _names(predicate: Object, name: str) -> list[str] | None:
    found = predicate.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return None
    return [str(one) for one in found]


def find_digest(found: Json, name: str, algorithm: str) -> str:
    """Return the digest of the resource of this name; empty if there is none."""
    for one in found if isinstance(found, list) else ():
        if not isinstance(one, dict):
            continue
        digest, called = one.get("digest"), str(one.get("name") or "")
        if isinstance(digest, dict) and (called == name or called.endswith(f"/{name}")):
            return str(digest.get(algorithm) or "")
    return ""


def find_differences(claimed: Json, known: Json, where: str = "") -> Iterator[Fault]:
    """Find where a claim differs from what is known; fields only of the claim are ignored."""
    if isinstance(claimed, dict) and isinstance(known, dict):
        for name, value in known.items():
            place = f"{where}.{name}" if where else name
            yield from find_differences(claimed.get(name), value, place)
    elif isinstance(claimed, list) and isinstance(known, list) and len(claimed) == len(known):
        for number, (one, other) in enumerate(zip(claimed, known, strict=True)):
            yield from find_differences(one, other, f"{where}[{number}]")
    elif claimed != known:
        yield Fault(where, f"is {_shown(claimed)} here, but {_shown(known)} in the commit")


def _shown(value: Json) -> str:
    if isinstance(value, list):
        named = (one.get("name", one) if isinstance(one, dict) else one for one in value)
        return ", ".join(map(str, named)) or "nothing"
    return str(value) if value not in (None, "") else "nothing"
