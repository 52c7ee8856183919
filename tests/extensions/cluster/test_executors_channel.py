"""One task of Dask that takes job after job: it is shared, shut and lost without losing a job."""

import asyncio
import json
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from test_executors_cluster import landed, on_cluster
from test_executors_faults import Run, first_time_waits
from yard import Scheduler, Yard, running, until

from runner import effects
from runner.extensions.cluster import channel, remote_worker
from runner.extensions.cluster.addresses import read_address
from runner.extensions.cluster.channel import Channels, JobQueue, do_jobs, receive_job
from runner.extensions.cluster.cluster import Cluster as Real
from runner.extensions.cluster.lease import LINE, STARTED, JobLease, PendingResults
from runner.extensions.cluster.local_cluster import Certificates
from runner.extensions.cluster.message import JobAnswer

# --- on a worker ----------------------------------------------------------------------


class Worker:
    """What a lease asks of a worker of Dask."""

    def __init__(self):
        self.status = SimpleNamespace(name="running")
        self.state = SimpleNamespace(tasks={"key": SimpleNamespace(state="executing")}, ready=[])
        self.told = []

    def log_event(self, _topic, said):
        self.told.append(said)


def a_lease(worker=None):
    return JobLease("ticket", "topic", worker or Worker(), "key")


def test_jobs_are_done_in_their_order_until_the_channel_is_taken_back():
    worker, jobs = Worker(), JobQueue()
    waits = [jobs.put(data) for data in (b"a", b"b")]
    worker.state.tasks["key"].state = "executing"
    done = threading.Thread(target=do_jobs, args=(jobs, a_lease(worker), bytes.upper))
    done.start()
    assert [one.result(10) for one in waits] == [b"A", b"B"]
    worker.state.tasks["key"].state = "cancelled"
    done.join(10)
    assert not done.is_alive()
    assert jobs.put(b"c") is None


def test_what_nobody_has_begun_is_given_back_by_a_channel_that_is_shut():
    jobs = JobQueue()
    waits = jobs.put(b"a")
    jobs.shut()
    assert waits.result(0) is None
    assert jobs.put(b"b") is None


def test_after_a_job_the_thread_is_left_to_others_who_wait_for_it():
    worker, jobs = Worker(), JobQueue()
    first, second = jobs.put(b"a"), jobs.put(b"b")

    def run(data):
        worker.state.ready.append("another run's task")
        return data

    do_jobs(jobs, a_lease(worker), run)
    assert first.result(0) == b"a"
    assert second.result(0) is None


def test_a_channel_without_jobs_gives_its_thread_back(monkeypatch):
    monkeypatch.setattr(channel, "_IDLE", 0.2)
    jobs = JobQueue()
    assert jobs.next(a_lease()) is None
    assert jobs.put(b"a") is None


def test_a_job_that_breaks_off_is_no_answer_and_carries_nothing_of_the_error():
    def run(_data):
        raise ValueError("of a foreign class, perhaps")

    jobs = JobQueue()
    waits, later = jobs.put(b"a"), jobs.put(b"b")
    with pytest.raises(ValueError, match="foreign"):
        do_jobs(jobs, a_lease(), run)
    assert isinstance(waits.exception(0), RuntimeError)
    assert "foreign" not in str(waits.exception(0))
    jobs.shut()
    assert later.result(0) is None


def test_what_is_left_of_a_job_that_was_ended_is_no_answer(started):
    worker, jobs = Worker(), JobQueue()
    waits = jobs.put(b"a")

    def run(_data):
        worker.state.tasks["key"].state = "cancelled"

    do_jobs(jobs, a_lease(worker), run)
    assert waits.result(0) == b""
    cluster = started(waits.result(0))
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    assert running.is_lost


@pytest.mark.parametrize("state", ["executing", "cancelled"])
def test_a_job_whose_task_is_taken_back_leaves_nothing_that_looks_like_an_answer(
    monkeypatch, state
):
    worker, ended = Worker(), threading.Event()
    monkeypatch.setattr(
        JobLease, "of", lambda ticket, topic: JobLease(ticket, topic, worker, "key")
    )
    monkeypatch.setattr(
        remote_worker, "read_job", lambda _data: SimpleNamespace(ticket="t", topic="")
    )

    def work(_job, lease):
        with lease.watch(ended.set, lambda: None):
            worker.state.tasks["key"].state = state
            ended.wait(10 if state == "cancelled" else 0.3)
        return JobAnswer("", "", kept=True)

    monkeypatch.setattr(remote_worker, "_answer", work)
    said = remote_worker.run_job(b"job")
    assert ended.is_set() == (state == "cancelled")
    assert (said is None) == (state == "cancelled")


def test_a_job_for_a_channel_that_is_not_there_is_told_so():
    assert asyncio.run(receive_job(channel="of nobody", data=b"a")) is None


@pytest.mark.parametrize("heard", [0, 1, 2, 3])
def test_each_line_of_a_job_is_shown_once_whether_it_was_told_or_came_with_the_answer(heard):
    worker, shown = Worker(), []
    lease = a_lease(worker)
    tickets = PendingResults(shown.append)
    ticket = tickets.open("TASK-001", 1, shown.append)
    for line in ("one", "two"):
        lease.say(line)
    lease.look()
    lease.say("three")
    lease.look()
    lease.say("four")
    told = [said for said in worker.told if f'"{LINE}"' in said]
    assert len(told) == 3
    assert STARTED in worker.told[0]
    for text in ("one", "two", "three")[: max(heard, 2)]:  # the last one is perhaps on its way
        tickets.hear(ticket.name, LINE, text)
    tickets.show_remaining_lines(ticket, lease.lines, lease.line_count)
    assert shown == ["one", "two", "three", "four"]


def test_very_many_lines_at_once_are_told_before_they_are_forgotten():
    worker = Worker()
    lease = a_lease(worker)
    for number in range(2_500):
        lease.say(str(number))
    lease.look()
    assert len([said for said in worker.told if f'"{LINE}"' in said]) == 2_500


@pytest.mark.parametrize("said", [-5, 0, 2, 10**12])
def test_whatever_number_a_worker_says_no_line_is_shown_that_did_not_come(said):
    shown = []
    tickets = PendingResults(shown.append)
    ticket = tickets.open("TASK-001", 1, shown.append)
    tickets.show_remaining_lines(ticket, ("a", "b"), said)
    assert shown == (["a", "b"] if said >= 2 else [])


# --- at home --------------------------------------------------------------------------


class Cluster:
    """A client in a thread of its own, and workers that answer as they are told to."""

    def __init__(self, *answers):
        self.asyncio_loop = asyncio.new_event_loop()
        self.loop, self.scheduler = self, self
        self.answers = list(answers)
        self.opened, self.sent, self.looks, self.taken_back = [], [], 0, []
        self.thread = threading.Thread(target=self.asyncio_loop.run_forever)
        self.thread.start()
        self.channels = Channels(self, self.submit, self.look)

    def submit(self, worker, name):
        self.opened.append((worker, name))
        self.asyncio_loop.call_soon_threadsafe(self.channels.mark_opened, name)
        return SimpleNamespace(
            add_done_callback=lambda _call: None, cancel=lambda: self.taken_back.append(name)
        )

    async def look(self):
        self.looks += 1

    async def broadcast(self, *, msg, workers, on_error):
        assert on_error == "ignore"
        self.sent.append(msg)
        said = self.answers.pop(0)
        if isinstance(said, Exception):
            raise said
        if said == "hangs":
            await asyncio.sleep(60)
        return {} if said == "gone" else {workers[0]: said}

    def close(self):
        self.asyncio_loop.call_soon_threadsafe(self.asyncio_loop.stop)
        self.thread.join(10)
        self.asyncio_loop.close()


@pytest.fixture
def started():
    there = []

    def start(*answers):
        there.append(Cluster(*answers))
        return there[-1]

    yield start
    for one in there:
        one.close()


def test_job_after_job_goes_by_one_channel(started):
    cluster = started(b"1", b"2", b"3")
    for expected in (b"1", b"2", b"3"):
        running = cluster.channels.begin("tcp://w", b"job")
        assert running.wait(10)
        assert running.data() == expected
        running.give_up()
    assert len(cluster.opened) == 1
    assert cluster.taken_back == []


def test_two_jobs_at_once_have_a_channel_each(started):
    cluster = started("hangs", b"2")
    first, second = (cluster.channels.begin("tcp://w", b"job") for _ in range(2))
    assert second.wait(10) or first.wait(10)
    assert len(cluster.opened) == 2
    first.give_up()
    second.give_up()
    assert len(cluster.taken_back) == 1


def test_what_a_shut_channel_did_not_begin_goes_by_another(started):
    cluster = started(None, None, b"3")
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    assert running.data() == b"3"
    names = [name for _, name in cluster.opened]
    assert [msg["channel"] for msg in cluster.sent] == names
    assert len(set(names)) == 3


def test_a_job_handed_to_a_channel_that_ends_at_that_moment_goes_by_another(started):
    cluster = started(b"1", b"2")
    first = cluster.channels.begin("tcp://w", b"job")
    assert first.wait(10)
    ((used,),) = cluster.channels._free.values()
    goes_on = threading.Event()
    cluster.asyncio_loop.call_soon_threadsafe(goes_on.wait, 10)
    second = cluster.channels.begin("tcp://w", b"job")
    cluster.channels._note_over(used)
    goes_on.set()
    assert second.wait(10)
    assert (second.data(), second.is_lost) == (b"2", False)
    assert len(cluster.opened) == 2


@pytest.mark.parametrize("said", ["gone", TypeError("a pickle")])
def test_what_brought_no_answer_is_taken_back_since_its_worker_may_go_on_with_it(started, said):
    cluster = started(said)
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    running.give_up()
    assert cluster.taken_back == [cluster.opened[0][1]]


def test_channels_that_never_take_a_job_are_not_asked_for_ever(started):
    cluster = started(*[None] * 100)
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    assert running.data() is None
    assert len(cluster.sent) == channel._TRIES


@pytest.mark.parametrize("said", ["gone", OSError("no way")])
def test_a_worker_that_does_not_answer_is_lost_once_it_was_asked_who_is_there(started, said):
    cluster = started(said)
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    assert running.is_lost
    assert cluster.looks == 1


def test_an_answer_that_cannot_be_opened_is_none(started):
    cluster = started(TypeError("a pickle"))
    running = cluster.channels.begin("tcp://w", b"job")
    assert running.wait(10)
    assert (running.data(), running.is_lost) == (None, False)


# --- whole runs -----------------------------------------------------------------------


def test_a_run_opens_no_more_channels_than_it_has_slots(workplace, healthy, monkeypatch):
    opened, submit = [], Real._open_channel

    def noted(self, worker, name):
        opened.append(worker)
        return submit(self, worker, name)

    monkeypatch.setattr(Real, "_open_channel", noted)
    workplace.plan(
        *(f"## TASK-00{n}: Look\n- Status: PENDING\n- Command: `true`\n" for n in range(1, 9))
    )
    assert on_cluster(workplace, healthy, "-j", "2").code == 0
    assert len(opened) == 2, opened


SHARES = """\
import sys
from distributed import Client
with Client(sys.argv[1]) as client:
    print(client.submit(max, 1, 2, pure=False).result(timeout=60))
"""


def test_others_on_the_same_cluster_have_their_turn_while_a_run_goes_on(
    workplace, scheduler, tmp_path
):
    yard = Yard(scheduler, tmp_path / "workers")
    try:
        yard.worker()
        mark, stop = tmp_path / "began", tmp_path / "stop"
        waits = f"touch {mark}; for i in 1 2 3 4 5 6; do test -e {stop} || sleep 0.5; done"
        workplace.plan(
            *(
                f"## TASK-0{n:02d}: Look\n- Status: PENDING\n- Command: `{waits}`\n"
                for n in range(1, 13)
            )
        )
        words = ("--executor", yard.executor, "--no-sandbox", "--review", "off", "-j", "1")
        process = workplace.start("run", "--trust", *words)
        until(mark.exists, what="the first task")
        address = json.loads(scheduler.file.read_text())["address"]
        told = subprocess.run(
            [sys.executable, "-c", SHARES, address],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert told.stdout == "2\n", told.stderr
        assert process.poll() is None
        stop.touch()
        _, err = process.communicate(timeout=90)
        assert process.returncode == 0, err
    finally:
        yard.close()


LEAVES = """\
def leave(dask_worker):
    from distributed.core import Status
    dask_worker.loop.add_callback(setattr, dask_worker, "status", Status.closing_gracefully)
client.run(leave, workers=[one for one, jobs in client.processing().items() if jobs])
"""
TAKEN_BACK = """\
def take_back(dask_scheduler):
    keys = [key for key in dask_scheduler.tasks if key.startswith("runner-")]
    for one in list(dask_scheduler.clients):
        dask_scheduler.client_releases_keys(keys, one, "by somebody else")
client.run_on_scheduler(take_back)
"""
CUT_OFF = """\
def cut_off(dask_scheduler):
    for one, comm in list(dask_scheduler.client_comms.items()):
        if "runner" in one:
            comm.abort()
client.run_on_scheduler(cut_off)
"""


@pytest.fixture
def own_yard(tmp_path):
    """Workers of a scheduler that no other test shares: one of them leaves for good."""
    scheduler = Scheduler.start(tmp_path)
    place = Yard(scheduler, tmp_path / "workers")
    yield place
    place.close()
    scheduler.close()


@pytest.mark.parametrize("hurts", [LEAVES, TAKEN_BACK, CUT_OFF])
def test_a_job_that_its_worker_had_to_end_runs_elsewhere(workplace, own_yard, tmp_path, hurts):
    mark, yard = tmp_path / "began", own_yard
    yard.worker()
    workplace.plan(first_time_waits(mark, seconds=654325))
    run = Run(workplace, yard)
    until(mark.exists, what="the command")
    address = json.loads(yard.scheduler.file.read_text())["address"]
    script = f"from distributed import Client\nwith Client({address!r}) as client:\n"
    script += "".join(f"    {line}\n" for line in hurts.splitlines())
    subprocess.run([sys.executable, "-c", script], check=True, timeout=90)
    yard.worker(wait=False)
    ended = run.result()
    assert ended.code == 0, ended.said
    assert "was lost during the job" in ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]
    until(lambda: not running("sleep\x00654325"), what="the end of the command")


def test_more_jobs_than_a_client_commonly_has_connections_leave_one_to_ask_who_is_there(yard):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    address = json.loads(yard.scheduler.file.read_text())["address"]
    cluster = Real(read_address(address), Certificates(), lambda *_said: None)
    try:
        client = cluster._client

        async def take_many():
            return await asyncio.gather(*(client.rpc.connect(address) for _ in range(600)))

        client.sync(take_many, callback_timeout=60)  # as so many jobs that run would
        assert client.sync(cluster._refresh_workers, callback_timeout=20)
    finally:
        cluster.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_was_stopped_for_a_while_does_not_take_the_others_for_gone(healthy, monkeypatch):
    asleep, really = [0.0], effects.monotonic
    monkeypatch.setattr(effects, "monotonic", lambda: really() + asleep[0])
    address = json.loads(healthy.scheduler.file.read_text())["address"]
    cluster = Real(read_address(address), Certificates(), lambda *_said: None)
    try:
        until(lambda: cluster.threads >= 2, what="two workers")  # and of tests before, perhaps
        there = list(cluster._seen)
        asleep[0] = 1_000.0  # Ctrl-Z, and `fg` a quarter of an hour later
        cluster.require_there()
        assert sum(cluster.is_alive(one) for one in there) >= 2
    finally:
        cluster.close()
