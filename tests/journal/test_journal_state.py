from itertools import count

import pytest
from journal_story import (
    BASE,
    COMMIT,
    COVERAGE,
    DONE,
    FAILED,
    FINDING,
    LANDED,
    LANDING,
    OTHER,
    PASSED,
    PROOF,
    SPEC,
    STARTED,
    TREE,
    records,
    whole_story,
)
from msgspec.structs import replace

from runner.journal import events
from runner.journal.events import (
    NAMES,
    ChangeRecorded,
    CheckpointWritten,
    Record,
    StatusesPublished,
    TaskAdopted,
    TaskApproved,
    TaskBlocked,
    TaskDone,
    TaskFailed,
    TaskReopened,
    TaskStaled,
    WriteRejected,
    WriteReviewed,
)
from runner.journal.session_events import AuthorFinished, ShipDeclared, ShipReopened, TreeVerified
from runner.journal.snapshot import read_state, write_state
from runner.journal.state import PersistentMap, RunState, fold
from runner.journal.task_fold import fold_named_in_change
from runner.journal.task_state import HeldWork, TaskState, Try, UnfinishedLanding
from runner.model import Ending, Finding, Phase, Reason, Spec, Status, TaskPlan, Usage, digest_of

ONE = "TASK-001"


def state_of(*happened):
    return fold(records(*((event, ONE, attempt) for event, attempt in happened))).task(ONE)


def test_one_by_one_and_all_at_once_are_the_same_at_every_prefix():
    story = whole_story()
    state = RunState.empty()
    for number, record in enumerate(story, 1):
        before = state
        kept = (before.seq, dict(before.tasks), dict(before.reviews), before.landing)
        state = state.after(record)
        assert kept == (before.seq, dict(before.tasks), dict(before.reviews), before.landing)
        assert state == fold(story[:number])
        middle = number // 2
        assert state == fold(story[middle:number], start=fold(story[:middle]))


def test_a_started_attempt_is_open():
    task = state_of((STARTED, 1))
    assert task.status is Status.IN_PROGRESS
    assert task.open_attempt.base == BASE
    assert task.open_attempt.spec == SPEC
    assert task.last_attempt == 1
    assert task.spec is None


def test_a_task_that_passed_landed_and_is_done_has_its_evidence():
    task = state_of((STARTED, 1), (PASSED, 1), (LANDING, 1), (LANDED, 1), (DONE, 1))
    assert task.status is Status.DONE
    assert (task.spec, task.commit, task.tree, task.verified) == (SPEC, COMMIT, TREE, True)
    assert (task.proofs, task.coverage, task.patterns) == ((PROOF,), COVERAGE, ("PATTERN-001",))
    assert (task.open_attempt, task.passed, task.landed, task.held) == (None,) * 4
    assert task.seconds == 2.0
    assert task.done_at == "2026-11-21T14:00:05.000000Z"


def test_a_crash_between_landed_and_done_shows_the_commit_and_its_proof():
    task = state_of((STARTED, 1), (PASSED, 1), (LANDING, 1), (LANDED, 1))
    assert task.landed == UnfinishedLanding(COMMIT, TREE, 1, ("src/a.py",))
    assert task.passed == PASSED


def test_a_landing_that_nothing_followed_is_kept_in_sight():
    begun = records((STARTED, ONE, 1), (PASSED, ONE, 1), (LANDING, ONE, 1))
    assert fold(begun).landing == begun[-1]
    for event in (LANDED, DONE, TaskFailed(), STARTED, TaskBlocked(Reason.STUCK, "n")):
        story = records((STARTED, ONE, 1), (PASSED, ONE, 1), (LANDING, ONE, 1), (event, ONE, 1))
        assert fold(story).landing is None
    elsewhere = records((LANDING, ONE, 1), (STARTED, "TASK-002", 1))
    assert fold(elsewhere).landing == elsewhere[0]


def test_failed_attempts_are_counted_once_each():
    task = state_of(
        (STARTED, 1), (FAILED, 1), (TaskFailed(findings=(FINDING,)), 1), (STARTED, 2), (FAILED, 2)
    )
    assert task.status is Status.PENDING
    assert task.attempts_in_row == 2
    assert task.seconds_in_row == 6.0
    assert task.tries[0] == Try(1, TREE, ("TC-002",), 3.0)
    assert task.findings == (FINDING,)


def test_work_that_passed_and_then_failed_to_land_counts_as_a_try():
    task = state_of((STARTED, 1), (PASSED, 1), (LANDING, 1), (TaskFailed((FINDING,)), 1))
    assert task.tries == (Try(1, TREE, ("TC-002",), 2.0),)


def test_an_interrupted_attempt_counts_for_nothing_and_gives_the_status_back():
    interrupted = replace(PASSED, ending=Ending.INTERRUPTED, proofs=(), coverage=None)
    assert state_of((STARTED, 1), (interrupted, 1)).status is Status.PENDING
    proven = state_of((STARTED, 1), (PASSED, 1), (DONE, 1), (STARTED, 2), (interrupted, 2))
    assert proven.status is Status.DONE
    assert proven.attempts_in_row == 0
    again = state_of((STARTED, 1), (PASSED, 1), (DONE, 1), (STARTED, 2), (STARTED, 3))
    assert again.open_attempt.was is Status.DONE


def test_success_approval_reopening_and_a_changed_task_forget_the_tries():
    failed = ((STARTED, 1), (FAILED, 1))
    changed = replace(STARTED, spec=OTHER)
    blocked = TaskBlocked(Reason.CHECKS, "TC-002 failed 5 times", draft="draft/x")
    for more in (
        ((STARTED, 2), (PASSED, 2), (DONE, 2)),
        ((blocked, 0), (TaskApproved(), 0)),
        ((TaskReopened(), 0),),
        ((changed, 2),),
    ):
        assert state_of(*failed).attempts_in_row == 1
        assert state_of(*failed, *more).attempts_in_row == 0
    assert state_of(*failed, (changed, 2)).findings == ()
    assert state_of(*failed, (STARTED, 2)).findings == (FINDING,)


def test_a_blocked_task_says_why_and_where_its_work_is():
    task = state_of((STARTED, 1), (FAILED, 1), (TaskBlocked(Reason.CHECKS, "no", "draft/x"), 1))
    assert (task.status, task.reason, task.note) == (Status.BLOCKED, Reason.CHECKS, "no")
    assert (task.draft, task.findings) == ("draft/x", (FINDING,))
    approved = state_of((TaskBlocked(Reason.TOOL, "no cargo"), 0), (TaskApproved(), 0))
    assert (approved.status, approved.reason, approved.note) == (Status.PENDING, None, "")


def test_an_attempt_that_ended_blocked_is_blocked_before_anything_else_is_said():
    ended = replace(FAILED, ending=Ending.BLOCKED, reason=Reason.ROOT)
    task = state_of((STARTED, 1), (ended, 1))
    assert (task.status, task.reason, task.attempts_in_row) == (Status.BLOCKED, Reason.ROOT, 0)


def test_held_work_keeps_its_proof_until_it_lands():
    held = replace(PASSED, held="review", ref="refs/x")
    waits = (STARTED, 1), (held, 1), (TaskBlocked(Reason.REVIEW, "review"), 1)
    task = state_of(*waits)
    assert task.held == HeldWork("review", "refs/x", BASE, TREE, SPEC, 1)
    assert task.passed == held
    approved = state_of(*waits, (TaskApproved(), 0))
    assert (approved.status, approved.held) == (Status.PENDING, task.held)
    assert approved.passed == held
    assert state_of(*waits, (LANDED, 1)).held is None
    assert state_of(*waits, (STARTED, 2)).held is None


def test_a_test_author_gets_mutants_once_and_its_lines_keep_what_was_spent():
    held = replace(PASSED, held="test-author", ref="refs/held", usage=Usage(2))
    waits = TaskBlocked(Reason.TEST_AUTHOR, "its test author gets mutants")
    author = AuthorFinished("agent", usage=Usage(5))
    begun = (STARTED, 1), (held, 1), (waits, 1)
    edited = replace(STARTED, spec=Spec(SPEC.what, "more contracts"))
    again = state_of(*begun, (author, 0), (edited, 2))
    assert (again.spent, again.mutants_returned) == (Usage(7), True)
    assert state_of(*begun, (edited, 2)).spent == Usage()  # a person's edit begins anew
    done = state_of(*begun, (author, 0), (edited, 2), (PASSED, 2), (DONE, 2))
    assert not done.mutants_returned


def test_a_stale_task_keeps_its_evidence_and_a_reopened_one_does_not():
    done = (STARTED, 1), (PASSED, 1), (DONE, 1)
    stale = state_of(*done, (TaskStaled("CHANGE-001", ("title",)), 0))
    assert (stale.status, stale.spec, stale.changed) == (Status.STALE, SPEC, ("title",))
    reopened = state_of(*done, (TaskReopened("again"), 0))
    assert (reopened.status, reopened.spec, reopened.commit) == (Status.PENDING, None, "")
    assert (reopened.last_attempt, reopened.durations) == (1, (2.0,))


def test_of_a_task_that_becomes_done_each_field_says_its_own():
    before = TaskState(
        "TASK-001",
        note="old",
        tree="old",
        tried=Spec("w", "p"),
        last_attempt=4,
        plan_sessions=2,
        base="base",
        last_tree="last",
        durations=(1.0,),
        draft="draft",
        published=Status.BLOCKED,
        usage=Usage(1),
        spent=Usage(2),
        findings=(FINDING,),
        tries=(Try(3, "t", ()),),
        culprit="X-1",
        aside=2.0,
        unproven="old",
    )
    event = TaskDone(SPEC, "commit", "tree", patterns=("P",), note="n", unproven="u")
    (record,) = records((event, "TASK-001", 3))
    start = RunState(tasks=PersistentMap([("TASK-001", before)]))
    assert fold([record], start).task("TASK-001") == TaskState(
        id="TASK-001",
        status=Status.DONE,
        note="n",
        spec=SPEC,
        commit="commit",
        tree="tree",
        verified=True,
        tried=Spec("w", "p"),
        last_attempt=4,
        plan_sessions=2,
        base="base",
        last_tree="last",
        patterns=("P",),
        durations=(1.0,),
        published=Status.BLOCKED,
        done_at=record.time,
        cause=record.id,
        origin=record.origin,
        usage=Usage(1),
        unproven="u",
    )


def test_an_adopted_task_is_done_on_somebodys_word():
    task = state_of((TaskAdopted(spec=None, note="by hand"), 0))
    assert (task.status, task.verified, task.spec) == (Status.DONE, False, None)
    trailers = TaskAdopted(spec=SPEC, commit=COMMIT, verified=True, source="trailers")
    assert state_of((trailers, 0)).commit == COMMIT


def test_the_last_five_durations_give_the_typical_one():
    events = []
    for number, seconds in enumerate([100.0, 1.0, 9.0, 2.0, 3.0, 8.0], 1):
        events += [
            (STARTED, number),
            (replace(PASSED, seconds=seconds), number),
            (DONE, number),
        ]
    task = state_of(*events)
    assert task.durations == (1.0, 9.0, 2.0, 3.0, 8.0)
    assert (task.typical_seconds, task.seconds) == (3.0, 8.0)
    assert TaskState(ONE).typical_seconds == 0.0


def test_published_statuses_add_up():
    first = StatusesPublished({ONE: Status.IN_PROGRESS, "TASK-002": Status.DONE}, BASE, "sha256:1")
    second = StatusesPublished({ONE: Status.DONE}, COMMIT, "sha256:2")
    state = fold(records(first, second))
    assert state.task(ONE).published is Status.DONE
    assert state.task("TASK-002").published is Status.DONE
    assert state.task("TASK-009").published is None
    assert (state.published_head, state.published_plan) == (COMMIT, "sha256:2")


def test_only_what_a_person_decided_about_a_write_is_remembered():
    after = digest_of(b"x")
    state = fold(
        records(
            (WriteReviewed("a", None, after, "auto"), ONE, 1),
            (WriteReviewed("b", None, after, "off"), ONE, 1),
            (WriteReviewed("c", None, after, "edited", "me"), ONE, 1),
            (WriteRejected("d", after, None, "no"), ONE, 1),
        )
    )
    assert len(state.reviews) == 2
    assert state.review(ONE, "c", None, after).by == "me"
    assert state.review(ONE, "d", after, None).reason == "no"
    assert state.review(ONE, "c", after, None) is None


def test_finished_tasks_wait_for_their_line_and_for_the_full_checkpoint():
    other = "TASK-002"
    story = records(
        (DONE, ONE, 1),
        (DONE, other, 1),
        (DONE, ONE, 2),
        CheckpointWritten("line", 0, (ONE,)),
        CheckpointWritten("full", 4, (ONE,)),
    )
    assert fold(story[:3]).since_checkpoint == (ONE, other)
    assert fold(story[:4]).awaiting_line == (other,)
    assert fold(story[:4]).since_checkpoint == (ONE, other)
    assert fold(story).since_checkpoint == (other,)
    assert fold(story).checkpoints == 4


def test_the_run_is_open_until_it_says_that_it_ended():
    story = whole_story()
    state = fold(story)
    assert fold(story[:5]).run_open
    assert not state.run_open
    assert (state.ended_head, state.ended_exit) == (COMMIT, 3)
    assert fold(story[:5]).ended_head == ""
    assert (state.run, state.run_pid, state.run_started) == (
        "run-1",
        7,
        "2026-11-21T14:00:01.000000Z",
    )
    assert (state.plan, state.mode, state.stuck) == (digest_of(b"plan"), "serial", ("TASK-003",))
    assert (state.decisions, state.changes, state.last_landing_head) == (1, 1, COMMIT)


def test_a_record_of_another_process_that_comes_late_does_not_turn_the_count_back():
    story = records((STARTED, ONE, 1), (TaskApproved(), "TASK-002", 0), (FAILED, ONE, 1))
    state = RunState.empty().after(story[0]).after(story[2]).after(story[1])
    assert (state.seq, state.last_id) == (3, "id-3")


def test_evidence_stands_or_falls_with_the_digests_of_the_task():
    from runner.journal.evidence import EvidenceState, evaluate_standing, evidence_of

    done = state_of((STARTED, 1), (PASSED, 1), (DONE, 1))
    assert evidence_of(done).commit == COMMIT
    assert evidence_of(done).outputs == (PROOF.output,)
    assert evidence_of(TaskState(ONE)) is None
    assert evaluate_standing(TaskState(ONE), SPEC) is EvidenceState.NONE
    assert evaluate_standing(done, SPEC) is EvidenceState.CURRENT
    assert evaluate_standing(done, Spec(SPEC.what, "sha256:x")) is EvidenceState.PROOF_CHANGED
    assert evaluate_standing(done, OTHER) is EvidenceState.WORK_CHANGED


def test_a_change_named_beside_an_edit_stays_a_reason_when_the_edit_is_taken_back():
    edited = TaskState("T", status=Status.STALE, changed=("prose",))
    event = ChangeRecorded(number=1, text="more of it", tasks=("T",))
    assert fold_named_in_change(edited, event).changed == ("prose", "change")
    assert fold_named_in_change(replace(edited, changed=()), event).changed == ()


def test_of_a_done_task_only_what_is_no_matter_of_its_tries_stays():
    told = replace(
        TaskState(*(f"{name} before" for name in TaskState.__struct_fields__)),
        id=ONE,
        last_attempt=7,
        proofs=(PROOF,),
        durations=(1.0,),
    )
    start = RunState(tasks={ONE: told})
    (record,) = records((TaskAdopted(spec=None, source="person", note="by hand"), ONE, 0))
    task = fold([record], start).task(ONE)
    kept = {
        name for name in TaskState.__struct_fields__ if getattr(task, name) == getattr(told, name)
    }
    assert kept == {
        *("id", "tried", "last_attempt", "plan_sessions", "base", "last_tree", "durations"),
        *("published", "usage"),
    }


def test_states_of_a_plan_that_a_person_says_is_done_are_published_with_it():
    ids = [f"TASK-{number:03}" for number in range(1, 4)]
    adopted = [(TaskAdopted(spec=None, source="person", note="by hand"), id_, 0) for id_ in ids]
    published = StatusesPublished(dict.fromkeys(ids, Status.DONE), "head", "plan")
    state = fold(records(*adopted, (published, "", 0)))
    assert [state.task(id_).published for id_ in ids] == [Status.DONE] * 3


def verified(tree, *, passed):
    return TreeVerified(tree=tree, head="h", passed=passed)


def test_the_tree_that_was_proven_whole_is_remembered_until_it_fails():
    good = verified("a", passed=True)
    assert fold(records(good)).verified_tree == "a"
    assert fold(records(good, verified("b", passed=False))).verified_tree == "a"
    assert fold(records(good, verified("a", passed=False))).verified_tree == ""


def test_a_ship_holds_until_it_is_reopened_and_survives_a_snapshot():
    shipped = fold(records(ShipDeclared(tag="v1", commit="c", tasks=2)))
    assert read_state(write_state(shipped)).shipped == "v1"
    ended = records(ShipDeclared(tag="v1", commit="c"), ShipReopened(by="person"))
    assert fold(ended).shipped == ""


ID = "TASK-001"
PLANNED_SPEC = Spec("sha256:what", "sha256:proof")
PLAN = TaskPlan(
    steps=("Write it",), files=("a.py",), phases=(Phase("One", ("x",), ("a.py",)), Phase("Two"))
)
BAD = Finding("plan", "the plan has no steps")


def told(*happened, spec=PLANNED_SPEC):
    """The state after these events, each (attempt, event)."""
    seq = count(1)
    return fold(
        Record(f"id{n}", n, "", "run", NAMES[type(event)], ID, attempt, "", f"id{n}", "test", event)
        for (attempt, event), n in zip(happened, seq, strict=False)
    )


def started(attempt, mode, spec=PLANNED_SPEC):
    return attempt, events.AttemptStarted("base", "agent", spec, mode=mode)


def ended(attempt, ending=Ending.PASSED, **fields):
    return attempt, events.AttemptFinished(ending, "tree", 2.0, **fields)


def proposed(attempt=1, digest="sha256:plan"):
    return attempt, events.PlanProposed(PLAN, "plans/1.md", digest, what=PLANNED_SPEC.what)


def reviewed(*, approved, digest="sha256:plan", **fields):
    return 1, events.PlanReviewed(digest, approved, **fields)


PLANNED = (started(1, "plan"), proposed(), ended(1))
BLOCKED = (1, events.TaskBlocked(Reason.REVIEW, "its plan waits"))


def test_a_session_leaves_the_task_where_it_stood_with_its_plan_on_the_table():
    known = told(*PLANNED).task(ID)
    assert (known.status, known.tries, known.passed) == (Status.PENDING, (), None)
    assert (known.planned.plan, known.planned.approved) == (PLAN, False)
    assert known.seconds_in_row == 2.0, "it counts for the minutes of the task"


def test_an_approval_is_of_one_digest_and_lets_a_waiting_task_go_on():
    assert not told(*PLANNED, reviewed(approved=True, digest="sha256:x")).task(ID).planned.approved
    known = told(*PLANNED, BLOCKED, reviewed(approved=True, review="applied")).task(ID)
    assert (known.status, known.planned.review) == (Status.PENDING, "applied")


def test_a_plan_that_is_sent_back_is_off_the_table_and_counted():
    known = told(*PLANNED, BLOCKED, reviewed(approved=False, reason="smaller")).task(ID)
    assert (known.status, known.planned, known.plans_refused) == (Status.PENDING, None, 1)
    assert known.findings[0].message == "the plan was rejected: smaller"


def test_a_refused_plan_is_no_failed_attempt_and_another_failure_is():
    refused = told(started(1, "plan"), ended(1, Ending.FAILED, findings=(BAD,))).task(ID)
    assert (refused.tries, refused.plans_refused) == ((), 1)
    other = Finding("implementer", "the agent ended with exit 1")
    failed = told(started(1, "plan"), ended(1, Ending.FAILED, findings=(other,))).task(ID)
    assert (len(failed.tries), failed.plans_refused) == (1, 0)


def test_a_waiting_plan_is_no_persons_hand_and_an_edit_of_the_task_is_heard():
    assert told(*PLANNED, BLOCKED).task(ID).tried == PLANNED_SPEC


APPROVED = (*PLANNED, reviewed(approved=True, review="off"))
KEPT = (*APPROVED, started(2, "phase"), ended(2, ref="phases/TASK-001"))


def test_a_phase_is_kept_and_the_next_one_counts_on():
    known = told(*KEPT).task(ID)
    assert (known.status, known.kept.phases, known.kept.ref) == (
        *(Status.PENDING, 1),
        "phases/TASK-001",
    )
    failed = ended(3, Ending.FAILED, findings=(Finding("compile", "no"),))
    again = told(*KEPT, started(3, "phase"), failed).task(ID)
    assert (again.kept.phases, len(again.tries), again.seconds_in_row) == (1, 1, 6.0)
    assert told(*KEPT, started(3, "phase"), ended(3, ref="r")).task(ID).kept.phases == 2


@pytest.mark.parametrize(
    "last",
    [
        proposed(3, "sha256:other"),
        reviewed(approved=False, reason="no"),
        started(3, "build", Spec("sha256:else", "sha256:proof")),
        (3, events.TaskDone(PLANNED_SPEC)),
        (3, events.TaskReopened()),
    ],
)
def test_another_plan_other_words_and_the_end_let_go_of_kept_phases(last):
    assert told(*KEPT, last).task(ID).kept is None


def test_a_killed_session_and_a_killed_phase_lose_nothing_that_was_accepted():
    killed = ended(1, Ending.INTERRUPTED)
    assert told(started(1, "plan"), killed).task(ID).planned is None
    assert told(started(1, "plan"), proposed(), killed).task(ID).planned.plan == PLAN
    known = told(*KEPT, started(3, "build"), ended(3, Ending.INTERRUPTED)).task(ID)
    assert (known.kept.phases, known.planned.approved) == (1, True)


@pytest.mark.parametrize("happened", [PLANNED, APPROVED, KEPT])
def test_a_snapshot_has_all_of_it(happened):
    state = told(*happened)
    assert read_state(write_state(state)) == state
    assert isinstance(state, RunState)
