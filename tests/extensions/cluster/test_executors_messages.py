"""What crosses the border: the same on both sides, and nothing else is let in."""

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from settings_of import settings_of

from runner.config.settings import Settings
from runner.context.brief import Brief
from runner.errors import RunnerError
from runner.extensions.cluster import cluster, recheck, remote_job
from runner.extensions.cluster.addresses import read_address, scheduler_of
from runner.extensions.cluster.executor import require_private
from runner.extensions.cluster.lease import PendingResults
from runner.extensions.cluster.message import (
    Ground,
    Hired,
    Job,
    JobAnswer,
    Lacks,
    Log,
    Others,
    Trouble,
    Work,
    as_bytes,
    decode_frame,
    encode_frame,
    read_answer,
    read_job,
)
from runner.gates.regression import Suspects, Traced
from runner.model import (
    Action,
    Block,
    BlockKind,
    Budget,
    Change,
    Contract,
    Coverage,
    Decision,
    Ending,
    Finding,
    GateSpec,
    Level,
    Observed,
    Outcome,
    Proof,
    Requirement,
    Resource,
    ReviewMode,
    Severity,
    Spec,
    Task,
    TestContract,
    Usage,
    Verdict,
    digest_of,
)
from runner.model.codec import ShapeError
from runner.repo.trees import Prefix
from runner.run.worker_assignment import Assignment
from runner.writes.pipeline import WriteRules

TREE = "a" * 40
GROUND = Ground("shop-0123", "shop", "sha1", "sub/", "refs/heads/main", b"*.log\n", ("A", "a@b"))
TASK = Task(
    "TASK-001",
    "Ünïted \udcff",
    3,
    Spec("sha256:what", "sha256:proof"),
    outputs=("a/**",),
    test_contracts=(TestContract("TC-001", Level.UNIT, "pytest"),),
    gates=(GateSpec("lint", "ruff check"),),
    coverage=80.0,
    uses=(Resource("gpu", "1"),),
    requires=(Requirement("secret", "KEY"),),
    budget=Budget(attempts=2),
    review=ReviewMode.AUTO,
    blocks=(Block(BlockKind.FILE, "a/x.py", "X = 1\n"),),
)
CHANGE = Change("a/x.py", Action.CREATE, 0o100644, None, digest_of(b"\0\xff"), b"\0\xff")
ASSIGNMENT = Assignment(
    task=TASK,
    attempt=2,
    base=TREE,
    brief=Brief(TASK, 2, (Finding("TC-001", "no", severity=Severity.NOTE),), (), "diff", "text"),
    rules=WriteRules("run", "TASK-001", 2, ("a/**",)),
    implementer=Hired("blocks"),
    review=ReviewMode.OFF,
    carried=(CHANGE, replace(CHANGE, path="b", action=Action.DELETE, content=None)),
    unproven=frozenset({"TASK-009"}),
    secrets=(("KEY", "value"),),
)
OUTCOME = Outcome(
    task="TASK-001",
    attempt=2,
    ending=Ending.PASSED,
    base=TREE,
    tree="b" * 40,
    changes=(CHANGE,),
    findings=(Finding("lint", "hm", line=3),),
    proofs=(Proof("TC-001", "test", "pytest", Verdict.PASS, 0, 1.5, "sha256:x", Level.UNIT),),
    decisions=(Decision("use a list"),),
    coverage=Coverage(90.0, 10, 70.0),
    tools=(("pytest", "8"),),
    observed=(Observed("TC-001", "t", "a/x.py", "sha256:y", "1-3"),),
    tainted=frozenset({"z"}),
    seconds=1.25,
)
SUSPECTS = Suspects((Traced(TASK, "TC-001", "a/x.py", 1, "imports it", secrets=(("S", "v"),)),), 1)


def a_job(**fields):
    return Job("t-1", "topic", GROUND, TREE, Settings(), Work(ASSIGNMENT, SUSPECTS), **fields)


def test_a_job_arrives_as_it_was_sent():
    job = a_job()
    assert read_job(as_bytes(job)) == job
    assert job.work.secrets == ("value", "v")


@pytest.mark.parametrize(
    "said",
    [
        {"outcome": OUTCOME},
        {"others": Others(OUTCOME.proofs, OUTCOME.findings, OUTCOME.observed)},
        {"lacks": Lacks((TREE,))},
        {"trouble": Trouble("the disk is full", "free some")},
        {"kept": True, "events": ("{}",), "logs": (Log("a.log", b"\x1b[31m"),)},
    ],
)
def test_an_answer_arrives_as_it_was_sent(said):
    answer = JobAnswer("t-1", "tcp://1.2.3.4:5", **said)
    assert read_answer(as_bytes(answer)) == answer


def bent(change):
    """An answer's bytes after `change` was made to its JSON."""
    body = json.loads(decode_frame(as_bytes(JobAnswer("t-1", "w", outcome=OUTCOME))))
    change(body)
    return encode_frame(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda body: body.update(more=1), "missing or unknown fields of JobAnswer: more"),
        (lambda body: body["outcome"].pop("tree"), "required field `tree`"),
        (lambda body: body["outcome"].pop("usage"), "missing or unknown fields of Outcome: usage"),
        (lambda body: body["outcome"]["changes"][0].update(more=1), "fields of Change: more"),
        (lambda body: body["outcome"]["coverage"].pop("whole"), "fields of Coverage: whole"),
        (lambda body: body["outcome"].update(ending="done"), "Invalid enum value 'done'"),
        (lambda body: body["outcome"].update(attempt=True), "Expected `int`, got `bool`"),
        (lambda body: body["outcome"].update(attempt=2.0), "Expected `int`, got `float`"),
        (lambda body: body["outcome"].update(attempt=2**63), "<= 9223372036854775807"),
        (lambda body: body["outcome"].update(seconds=float("nan")), "not valid JSON"),
        (lambda body: body["outcome"].update(seconds="1"), "Expected `float`, got `str`"),
        (lambda body: body["outcome"].update(changes={}), "Expected `array`"),
        (lambda body: body["outcome"]["changes"][0].update(content=7), "Expected `bytes"),
        (lambda body: body["outcome"]["changes"][0].update(content="?"), "base64"),
        (lambda body: body["outcome"].update(task=None), "Expected `str`"),
        (lambda body: body.update(outcome=[]), "Expected `object"),
        (lambda body: body.update(events=["{}"] * (5 << 20)), "too many values"),
    ],
)
def test_an_answer_of_another_shape_is_refused(change, said):
    with pytest.raises(ShapeError, match=said):
        read_answer(bent(change))


@pytest.mark.parametrize("data", [None, b"", "text", [], object(), bytearray(40), b"RUNJ" * 20])
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ShapeError):
        read_answer(data)


def test_another_format_names_the_remedy():
    data = bytearray(as_bytes(a_job()))
    data[4] = 9
    with pytest.raises(ShapeError, match="install the same version of runner"):
        read_job(bytes(data))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 255), st.booleans())
def test_no_damaged_byte_gets_through(at, value, cut):
    data = bytearray(as_bytes(JobAnswer("t-1", "w", outcome=OUTCOME)))
    at %= len(data)
    if cut:
        del data[at:]
    else:
        data[at] ^= value or 1
    with pytest.raises(ShapeError):
        read_answer(bytes(data))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["outcome", "others", "lacks", "events", "logs", "ticket"]), JSON)
def test_whatever_json_stands_in_an_answer_it_is_read_or_refused(name, value):
    try:
        read_answer(bent(lambda body: body.update({name: value})))
    except ShapeError:
        return


# --- against what was asked -----------------------------------------------------------


def test_an_outcome_that_was_asked_for_is_taken():
    recheck.require_assigned(OUTCOME, ASSIGNMENT, TREE, Prefix())


@pytest.mark.parametrize(
    "other",
    [
        {"task": "TASK-002"},
        {"attempt": 3},
        {"base": "c" * 40},
        {"ending": Ending.INTERRUPTED},
        {"tree": "HEAD"},
        {"changes": (replace(CHANGE, mode=0o104755),)},
        {"changes": (CHANGE, CHANGE)},
        {"changes": (replace(CHANGE, path="../x"),)},
        {"changes": (replace(CHANGE, path="/etc/passwd"),)},
        {"changes": (replace(CHANGE, path="a//b"),)},
        {"changes": (replace(CHANGE, path="a\nb"),)},
        {"seconds": -1.0},
        {"usage": Usage(input_tokens=-1)},
        {"usage": Usage(dollars=1e300)},
        {"retry_after": -1.0},
    ],
)
def test_an_outcome_about_something_else_is_refused(other):
    with pytest.raises(ShapeError):
        recheck.require_assigned(replace(OUTCOME, **other), ASSIGNMENT, TREE, Prefix())


def test_an_answer_is_honoured_once_and_a_second_one_is_told():
    said = []
    tickets = PendingResults(said.append)
    ticket = tickets.open("TASK-001", 2, said.append)
    assert tickets.honour(ticket.name)
    assert not tickets.honour(ticket.name)
    assert not tickets.honour("of nobody")
    assert said == ["TASK-001: dropped a late answer to attempt 2, which was already given up"]


def test_what_a_worker_says_is_shown_without_secrets_and_only_while_it_is_asked():
    shown, said = [], []
    tickets = PendingResults(said.append)
    ticket = tickets.open("TASK-001", 1, shown.append, ("hush-hush",))
    tickets.hear(ticket.name, "line", "the key is hush-hush")
    tickets.hear("another", "line", "hello")
    tickets.close(ticket)
    tickets.hear(ticket.name, "line", "still here")
    assert len(shown) == 1
    assert "hush-hush" not in shown[0]
    tickets.hear(ticket.name, "late", "")
    assert len(said) == 1


# --- pickles --------------------------------------------------------------------------


class Evil:
    ran = False

    def __reduce__(self):
        return setattr, (Evil, "ran", True)


def test_a_pickle_that_names_anything_is_not_opened():
    with pytest.raises(cluster.NotOpenedError, match=r"builtins\.setattr"):
        cluster.plain_loads(pickle.dumps(Evil()))
    assert not Evil.ran
    assert cluster.plain_loads(pickle.dumps([1, b"x", {"a": None}])) == [1, b"x", {"a": None}]
    assert cluster.plain_loads(pickle.dumps(bytes)) is bytes


def test_nothing_in_dask_opens_a_pickle_in_this_process():
    pytest.importorskip("distributed")
    cluster.import_distributed()
    from distributed.core import clean_exception
    from distributed.protocol import deserialize, serialize
    from distributed.protocol.core import dumps, loads
    from distributed.protocol.serialize import Pickled, ToPickle

    evil = pickle.dumps(Evil())
    clean_exception(evil, evil)
    for message in ({"op": ToPickle(Evil())}, {"op": Pickled(*_header(evil))}):
        with pytest.raises(TypeError):
            loads(dumps(message))
    with pytest.raises(TypeError):
        deserialize(*serialize(Evil()), deserializers=cluster.FAMILIES)
    with pytest.raises(TypeError):
        deserialize({"serializer": "dask", "type-serialized": evil, "sub-header": {}}, [])
    assert not Evil.ran
    assert deserialize(*serialize(b"x" * 10), deserializers=cluster.FAMILIES) == b"x" * 10


def _header(data):
    return {"pickled-obj": data}, []


# --- addresses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "private"),
    [
        ("tcp://127.0.0.1:8786", True),
        ("tcp://localhost:8786", True),
        ("tcp://[::1]:8786", True),
        ("tls://scheduler.example.org:8786", True),
        ("tcp://10.0.0.7:8786", False),
        ("tcp://127.example.org:8786", False),
        ("tcp://0.0.0.0:8786", False),
    ],
)
def test_an_address_may_be_overheard_unless_it_is_here_or_encrypted(text, private):
    address = read_address(text)
    assert address.is_private is private
    assert str(address) == text
    if private:
        require_private(address, Settings())
    else:
        with pytest.raises(RunnerError, match="does not use TLS"):
            require_private(address, Settings())
        require_private(address, settings_of(insecure_cluster=True))


def test_a_scheduler_file_names_the_address(tmp_path):
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tcp://127.0.0.1:1234"}')
    assert str(scheduler_of(f"dask:{file}")) == "tcp://127.0.0.1:1234"
    assert scheduler_of("dask") is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"address": "file:///etc"}'])
def test_a_scheduler_file_that_says_nothing_is_refused(tmp_path, content):
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(RunnerError):
        scheduler_of(f"dask:{file}")
    with pytest.raises(RunnerError, match="cannot be read"):
        scheduler_of(f"dask:{tmp_path}/none.json")
    with pytest.raises(RunnerError, match="not a valid scheduler address"):
        scheduler_of("dask:http://example.org")
    with pytest.raises(RunnerError, match="has no protocol") as told:
        scheduler_of("dask:10.0.0.9:8786")
    assert "dask:tls://10.0.0.9:8786" in told.value.hint


# --- events ---------------------------------------------------------------------------


def a_line(event):
    from runner.extensions.cluster.remote_worker import _as_line

    return _as_line("TASK-001", 1, event)


def test_a_worker_tells_of_its_own_checks_and_of_nothing_else():
    from runner.journal.events import GateCompleted, GateStarted, TaskApproved
    from runner.journal.session_events import ToolCalled

    key = "sk-" + "ant-api03-" + "a1B2" * 24
    started = remote_job._event(a_line(GateStarted(gate="TC-001", command=f"x {key}")), ())
    assert started.gate == "TC-001"
    assert key not in started.command
    proof = replace(OUTCOME.proofs[0], log="../../etc/passwd")
    completed = remote_job._event(a_line(GateCompleted(proof=proof)), ())
    assert completed.proof == replace(proof, log="")
    assert remote_job._event(a_line(TaskApproved(by="person", note="")), ()) is None
    called = remote_job._event(a_line(ToolCalled(f"\x1b[2J{key}" + "x" * 9_000, key)), ())
    assert key not in called.name
    assert "\x1b" not in called.name
    assert len(called.name) < 300
    known = "hush-hush-of-the-person"
    for at in (0, 190):  # where it is cut a secret would be told in part
        word = "x" * at + known
        called = remote_job._event(a_line(ToolCalled(word, word, path=word)), (known,))
        assert "hush" not in called.name + called.arguments + called.path
    for line in ("", "{}", "no line", a_line(GateStarted(gate="g", command="c"))[:-9]):
        assert remote_job._event(line, ()) is None


def test_no_part_of_a_secret_is_left_where_what_a_worker_found_is_cut():
    known = "hush-hush-of-the-person"
    said = "x" * 3_990 + known
    one = Finding("test", said, hint=said, detail=f"{known}{'x' * 63_990}")
    (told,) = recheck.redact_findings((one,), (known,))
    assert "hush" not in told.message + told.hint + told.detail
    assert "person" not in told.detail


def test_of_a_key_where_a_word_of_a_worker_is_cut_nothing_is_shown():
    from runner.journal.session_events import PermissionAsked, ToolCalled

    key = "sk-" + "ant-api03-" + "a1B2" * 24
    for room in range(0, len(key), 5):
        before, behind = "x" * (4_000 - room - 1) + " ", " " + "x" * (64_000 - room - 1)
        said = Finding("lint", before + key, hint=before + key, detail=key + behind)
        (shown,) = recheck.redact_findings((said,), ())
        assert "sk-a" not in shown.message + shown.hint
        assert key[-8:] not in shown.detail
        assert len(shown.message) < 4_100
        assert len(shown.detail) < 64_100
        word = "x" * (200 - room - 1) + " " + key
        called = remote_job._event(a_line(ToolCalled(word, word)), ())
        asked = remote_job._event(a_line(PermissionAsked(word, "x" * 800 + word, word)), ())
        assert "sk-a" not in f"{called} {asked}"


def a_proof(id_, kind="test", verdict=Verdict.PASS):
    return Proof(id_, kind, "x", verdict, 0, 1.0, "sha256:x")


@pytest.mark.parametrize(
    ("stands", "proofs", "lacks"),
    [
        (False, (a_proof("TC-001"), a_proof("gate:lint", "gate")), []),
        (False, (a_proof("gate:lint", "gate"),), ["TC-001"]),
        (False, (a_proof("TC-001"),), ["gate:lint"]),
        (False, (a_proof("TC-001", verdict=Verdict.FAIL), a_proof("gate:lint")), ["TC-001"]),
        (True, (a_proof("gate:lint", "gate"),), []),
        (True, (), ["gate:lint"]),
        (True, (a_proof("TC-009"), a_proof("gate:lint", "gate")), ["TC-001"]),
    ],
)
def test_what_comes_back_is_whole_before_what_stands_is_joined_to_it(stands, proofs, lacks):
    asked, said = replace(ASSIGNMENT, stands=stands), replace(OUTCOME, proofs=proofs)
    assert recheck._find_unproven(asked, said, settings_of(default_gates=False)) == lacks


@pytest.mark.parametrize("stand", [True, False])
def test_contracts_that_stand_are_not_waited_for(stand):
    task = replace(ASSIGNMENT.task, contracts=(Contract("schema", "a.json = a:A", 1),))
    asked = replace(ASSIGNMENT, task=task, stands=True, contracts_stand=stand)
    said = replace(OUTCOME, proofs=(a_proof("gate:lint", "gate"),))
    lacks = recheck._find_unproven(asked, said, settings_of(default_gates=False))
    assert lacks == ([] if stand else ["contract:schema"])
