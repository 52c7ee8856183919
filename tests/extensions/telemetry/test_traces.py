"""Traces: drawn from the journal, the same whenever they are drawn, and never waited for."""

import pytest
from receivers import Receiver
from test_delivery import once, settle, told, wait_for
from workplace import NO_PROOF

from runner.extensions.telemetry.spans import OtlpWork, span_id, trace_id
from runner.journal.events import (
    AttemptFinished,
    AttemptStarted,
    GateCompleted,
    GateStarted,
    RunFinished,
    RunStarted,
    TaskApproved,
    TaskBlocked,
)
from runner.journal.log import Journal
from runner.model import Ending, Finding, Proof, Reason, Spec, Usage, Verdict
from runner.project import JOURNAL

PROOF = Proof("TC-001", "test", "secret --plan", Verdict.FAIL, 1, 0.25, "sha256:0")
BEGAN = RunStarted(head="h", branch="main", plan="sha256:0", pid=1, settings={})
STARTED = AttemptStarted(base="", implementer="agent:x", spec=Spec("w", "p"), model="big")
FAILED = AttemptFinished(
    ending=Ending.FAILED,
    tree="",
    seconds=1.0,
    findings=(Finding("TC-001", "the code says so"),),
    usage=Usage(10, 5, 0.5),
    summary="the prompt said so",
)
BLOCKED = TaskBlocked(reason=Reason.CHECKS, note="why")
ENDED = RunFinished(exit=3, head="h", seconds=1.0, counts={})
RUN = "01a213d1-ef82-7680-909e-a6dc2f0eea59"


@pytest.fixture
def ground(workplace):
    workplace.commit({"a": "1"})
    return workplace


def write(ground, *happened, run=RUN):
    with Journal.open(ground.root / JOURNAL, run=run) as journal:
        return [
            journal.append(event, task=task, attempt=1 if task else 0) for event, task in happened
        ]


def a_run(ground, run=RUN, task="TASK-001"):
    work = [STARTED, GateStarted("TC-001", "secret --plan"), GateCompleted(PROOF), FAILED, BLOCKED]
    return write(ground, (BEGAN, ""), *((one, task) for one in work), (ENDED, ""), run=run)


def work(ground, receiver, **more):
    return OtlpWork(receiver.address, ground.root / JOURNAL, "shop", **more)


def spans_of(receiver):
    """Every span that was accepted, decoded, with its attributes as a dict."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    found = []
    for body in receiver.accepted:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    said = {
                        one.key: getattr(one.value, one.value.WhichOneof("value"))
                        for one in span.attributes
                    }
                    found.append((span, said))
    return found


def tree_of(spans):
    names = {span.span_id: span.name for span, _ in spans}
    return {(span.name, names.get(span.parent_span_id, "")) for span, _ in spans}


def test_a_run_is_a_trace_of_build_task_attempt_and_what_was_in_it(ground, receiver):
    a_run(ground)
    assert once(told(ground), work(ground, receiver)) == ((), [])
    path, headers, _ = receiver.taken[0]
    assert (path, headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
    spans = spans_of(receiver)
    assert tree_of(spans) == {
        ("build", ""),
        ("task TASK-001", "build"),
        ("attempt", "task TASK-001"),
        ("implementer", "attempt"),
        ("gate", "attempt"),
    }
    assert {span.trace_id.hex() for span, _ in spans} == {RUN.replace("-", "")}
    known = {span.name: said for span, said in spans}
    assert known["attempt"]["runner.tokens"] == 15
    assert (known["attempt"]["runner.end"], known["attempt"]["runner.model"]) == ("failed", "big")
    assert (known["gate"]["runner.verdict"], known["build"]["runner.exit"]) == ("fail", 3)
    assert known["task TASK-001"]["runner.reason"] == "checks"
    assert {span.name: span.status.code for span, _ in spans}["gate"] == 2
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span, _ in spans)
    once(told(ground), work(ground, receiver))
    assert len(spans_of(receiver)) == len(spans)


@pytest.mark.parametrize("content", [False, True])
def test_what_people_and_programs_wrote_goes_only_where_it_is_asked_for(ground, receiver, content):
    a_run(ground)
    once(told(ground), work(ground, receiver, content=content))
    said = b"".join(receiver.accepted)
    for words in (b"secret --plan", b"the code says so", b"the prompt said so", b"why"):
        assert (words in said) is content


def test_an_answer_ends_a_wait_in_the_trace_of_the_run_that_asked(ground, receiver):
    records = a_run(ground)
    once(told(ground), work(ground, receiver))
    write(ground, (TaskApproved(by="ada"), "TASK-001"), run="")
    once(told(ground), work(ground, receiver))
    (wait,) = [(span, said) for span, said in spans_of(receiver) if span.name == "wait"]
    assert wait[0].trace_id.hex() == RUN.replace("-", "")
    assert wait[0].span_id == span_id("wait", records[5].id).to_bytes(8)
    parent = next(span for span, _ in spans_of(receiver) if span.name == "task TASK-001")
    assert wait[0].parent_span_id == parent.span_id
    assert wait[1]["runner.wait"] == "checks"


def test_a_killed_run_ends_where_the_next_begins_which_links_to_it(ground, receiver):
    write(ground, (BEGAN, ""), (STARTED, "TASK-001"))
    once(told(ground), work(ground, receiver))
    assert spans_of(receiver) == []
    a_run(ground, run="01a213d1-ef82-7680-909e-a6dc2f0eea60")
    once(told(ground), work(ground, receiver))
    killed, second = [(span, said) for span, said in spans_of(receiver) if span.name == "build"]
    assert killed[1]["runner.end"] == "killed"
    (link,) = second[0].links
    assert (link.trace_id, link.span_id) == (killed[0].trace_id, killed[0].span_id)
    ends = [said["runner.end"] for span, said in spans_of(receiver) if span.name == "attempt"]
    assert sorted(ends) == ["failed", "interrupted"]


def test_sent_twice_it_is_the_same_span(ground, receiver):
    a_run(ground)
    once(told(ground), work(ground, receiver))
    first = {span.SerializeToString() for span, _ in spans_of(receiver)}
    once(told(ground, "lost"), work(ground, receiver))
    assert {span.SerializeToString() for span, _ in spans_of(receiver)} == first


def test_a_collector_that_is_away_gets_all_when_it_is_back(ground):
    a_run(ground)
    file = told(ground)
    with Receiver() as receiver:
        receiver.answers = [503, "cut", 400]
        one = work(ground, receiver)
        assert once(file, one, seconds=0.1)[0] == ("otlp",)
        assert file.list_statuses()[0].events == 0
        receiver.answers = [200]
        assert once(file, work(ground, receiver)) == ((), [])
        assert len(spans_of(receiver)) == 5


def test_hostile_text_makes_no_span_that_cannot_be_sent(ground, receiver):
    leaked = "ghp_" + "a1B2" * 9
    many = " ".join([leaked] * 12)  # each is told shorter than it is, so the cut comes later
    for number, word in enumerate(
        ["\udc80\x00", "\u202e" * 500, leaked, "a\r\nb", many, "x" * 10_000]
    ):
        a_run(ground, run=f"run {number} {word}", task=word)
    assert once(told(ground), work(ground, receiver, content=True)) == ((), [])
    spans = spans_of(receiver)
    assert len([span for span, _ in spans if span.name == "build"]) == 6
    assert leaked[:20] not in str(spans)
    assert all(len(span.name) < 250 for span, _ in spans)
    assert trace_id("") != trace_id("0" * 32) != 0


def test_a_build_with_a_collector_that_hangs_takes_no_longer_for_it(ground, receiver):
    receiver.answers = ["hang"]
    settle(ground, f'[telemetry]\notlp = "{receiver.address}"\n')
    ground.plan(
        f"## TASK-001: note\n\n{NO_PROOF}\nOutput files: `n.txt`\n\n```text file=n.txt\nn\n```\n"
    )
    assert ground.run().code == 0  # it ended, and the collector has not answered
    wait_for(lambda: receiver.taken)
    assert receiver.accepted == []
    receiver.over.set()
    receiver.answers = [200]
    wait_for(lambda: any(span.name == "build" for span, _ in spans_of(receiver)))
    assert ("landing", "task TASK-001") in tree_of(spans_of(receiver))
    (row,) = ground.runner("events", "--doors", "--json").document["doors"]
    assert row["name"] == "otlp"
