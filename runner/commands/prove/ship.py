"""`runner ship`: everything proven together, SHIP declared in CHECKPOINT.md, the commit tagged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.app.build.run_status import last_ship_tag
from runner.app.prove.declare_ship import ShipRequest, ship
from runner.app.prove.publish import find_request, publish_ship
from runner.app.prove.verify_done import whole_lines
from runner.commands.consent import add_proof_flags, load_trusted_plan, open_with_gates, tell
from runner.errors import ExitCode
from runner.report.documents import document
from runner.text.display import display
from runner.text.wording import join_few, plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runner.app.prove.declare_ship import Shipped
    from runner.app.prove.publish import Request
    from runner.project import Project
    from runner.run.proof.verification import Verified

EXAMPLES = """\
examples:
  runner ship               verify --all, then the tag runner-ship-2026-11-21
  runner ship --tag v1.0.0
  runner ship --pr          then pushes the branch and opens one pull request, with gh
  runner run --reopen       afterwards, to go on with the plan
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What `runner ship` takes."""
    add = parser.add_argument
    add("--tag", metavar="NAME", default="", help="the tag (default: runner-ship-<date>)")
    add("--unproven", action="store_true", help="ship tasks that are DONE and unproven, too")
    add(
        "--strict",
        action="store_true",
        help="what wrote code needs tests or a contract, and tests that notice mutants of it",
    )
    add("--pr", action="store_true", help="push the branch and open a pull request, with gh")
    add_proof_flags(parser)


def execute(given: argparse.Namespace, environ: Mapping[str, str]) -> ExitCode:
    """Ship, or say what stands in the way."""
    flags = {"task_graph": given.task_graph, "sandbox": given.sandbox, "jobs": given.jobs}
    flags["mutation"] = "strict" if given.strict else None
    project = open_with_gates(environ, flags)
    load_trusted_plan(project, trusted=given.trust, again="runner ship --trust")
    pull = find_request(project) if given.pr else None
    if pull is not None and (tag := last_ship_tag(project, project.state())):
        return _publish(project, pull, tag, as_json=given.json)
    done = ship(project, ShipRequest(given.tag, given.unproven, given.strict), tell)
    if done.shortfall is not None:
        _say_shortfall(done.shortfall, as_json=given.json)
        return ExitCode.FAILED
    if pull is None or not given.json:
        _say(done, as_json=given.json)
    return _publish(project, pull, done.tag, as_json=given.json) if pull else ExitCode.OK


def _publish(project: Project, pull: Request, tag: str, *, as_json: bool) -> ExitCode:
    """Push what was shipped, maybe by an earlier ship, and open its pull request."""
    address = publish_ship(project, pull, tag)
    if as_json:
        commit = project.head().commit
        print(document("ship", shipped=True, tag=tag, commit=commit, pull_request=address), end="")
    else:
        print(f"pull request: {address}")
    return ExitCode.OK


def _say_shortfall(verified: Verified, *, as_json: bool) -> None:
    if as_json:
        shortfalls = verified.shortfalls
        print(document("ship", shipped=False, tag=None, shortfalls=shortfalls), end="")
    else:
        print("\n".join(whole_lines(verified)))
        print("nothing was shipped: the whole tree falls short")


def _say(done: Shipped, *, as_json: bool) -> None:
    tag, commit, verified = done.tag, done.commit, done.verified
    if as_json:
        said = document(
            "ship",
            shipped=True,
            tag=tag,
            commit=commit,
            verified=verified,
            unproven=list(done.unproven),
            attestation=done.attestation,
        )
        print(said, end="")
        return
    print(f"SHIP: {plural(verified.tasks, 'task')} as {display(tag)} on {commit[:12]}")
    if done.unproven:
        print(f"shipped without a proof: {join_few(done.unproven)}; the tag says why")
    print(f"what others can check: {done.attestation} (runner verify-attestation)")
    print(f"publish it: git push --follow-tags; what is in it: git show {display(tag)}")
