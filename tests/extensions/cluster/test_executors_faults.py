"""What goes wrong on a cluster: in all of it no task is lost, and none lands twice."""

import os
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from test_executors_cluster import FENCE, landed, on_cluster, statuses
from yard import Scheduler, Yard, alive, children, running, until

from runner.extensions.cluster import cluster


@pytest.fixture
def impatient(monkeypatch):
    """Nobody waits long for a sign of life."""
    short = cluster.WaitTimes(heartbeat=3.0, scheduler=2.0, workers=4.0, silence=1.0, look=0.2)
    monkeypatch.setattr(cluster, "WaitTimes", lambda: short)


def first_time_waits(mark, path="one.py", *, seconds=654321):
    """A task that hangs for ever when it is tried first, and is done the second time."""
    command = f"if test -e {mark}; then echo X = 1 > {path}; else touch {mark}; sleep {seconds}; fi"
    return (
        f"## TASK-001: One\n- Status: PENDING\n- Output files: {path}\n- Command: `{command}`\n"
        "- Proof: none — it only has to be there\n"
    )


class Run(threading.Thread):
    """`runner run` on a cluster, while the test hurts somebody."""

    def __init__(self, workplace, yard, *words):
        super().__init__()
        self.words = (workplace, yard, "--no-sandbox", *words)
        self.ended = None
        self.start()

    def run(self):
        self.ended = on_cluster(*self.words)

    def result(self):
        self.join(60)
        assert self.ended is not None, "the run does not end"
        return self.ended


def test_a_worker_that_is_killed_in_the_middle_loses_no_task(workplace, yard, tmp_path):
    mark = tmp_path / "began"
    first = yard.worker()
    workplace.plan(first_time_waits(mark, seconds=654321))
    run = Run(workplace, yard)
    until(mark.exists, what="the command")
    yard.worker(wait=False)
    os.kill(first.pid, signal.SIGKILL)
    ended = run.result()
    assert ended.code == 0, ended.said
    assert "was lost during the job" in ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]
    for pid in running("sleep\x00654321"):  # nobody is left on the dead worker to end it
        os.kill(pid, signal.SIGKILL)


def test_a_nanny_that_is_killed_takes_its_worker_along_and_no_task(workplace, yard, tmp_path):
    mark = tmp_path / "began"
    nanny = yard.worker(nanny=True)
    workplace.plan(first_time_waits(mark, seconds=654322))
    run = Run(workplace, yard)
    until(mark.exists, what="the command")
    below = children(nanny.pid)
    yard.worker(wait=False)
    os.kill(nanny.pid, signal.SIGKILL)
    ended = run.result()
    assert ended.code == 0, ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]
    until(lambda: not any(alive(pid) for pid in below), what="the end of its worker")
    for pid in running("sleep\x00654322"):
        os.kill(pid, signal.SIGKILL)


def test_a_worker_that_hangs_is_given_up_and_its_late_answer_is_dropped(
    workplace, yard, tmp_path, impatient
):
    mark, other = tmp_path / "began", tmp_path / "other"
    hangs = yard.worker()
    workplace.plan(
        first_time_waits(mark, seconds=654323),
        "## TASK-002: Wait\n- Status: PENDING\n- Depends on: TASK-001\n"
        f"- Command: `touch {other}; sleep 2.5`\n",
    )
    run = Run(workplace, yard)
    until(mark.exists, what="the command")
    yard.worker()
    os.kill(hangs.pid, signal.SIGSTOP)
    until(other.exists, 30, what="the next task")  # TASK-001 is done by now, elsewhere
    os.kill(hangs.pid, signal.SIGCONT)
    ended = run.result()
    assert ended.code == 0, ended.said
    assert "was lost during the job" in ended.said
    assert "TASK-001: dropped a late answer to attempt 1" in ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]
    until(lambda: not running("sleep\x00654323"), what="the end of the command that hung")


def test_a_job_that_says_nothing_for_too_long_runs_elsewhere(
    workplace, yard, monkeypatch, impatient
):
    monkeypatch.setenv("RUNNER_LIMITS_HARD_SECONDS", "3")
    yard.worker(preload="silent")
    workplace.plan("## TASK-001: Look\n- Status: PENDING\n- Command: `true`\n")
    run = Run(workplace, yard)
    until(lambda: "silent now" in yard.log(0), what="the job")
    yard.worker(wait=False)
    ended = run.result()
    assert ended.code == 0, ended.said
    assert "has been silent for too long" in ended.said
    assert statuses(workplace) == ["DONE — unproven: nothing proves it"]


def test_a_scheduler_that_is_killed_ends_the_run_and_the_next_one_goes_on(
    workplace, tmp_path, impatient
):
    mark = tmp_path / "began"
    scheduler = Scheduler.start(tmp_path)
    yard = Yard(scheduler, tmp_path / "workers")
    try:
        yard.worker()
        workplace.plan(first_time_waits(mark, seconds=654324))
        run = Run(workplace, yard)
        until(mark.exists, what="the command")
        scheduler.kill()
        ended = run.result()
    finally:
        yard.close()
    assert ended.code == 3, ended.said
    assert "stopped answering" in ended.said
    assert landed(workplace) == []
    until(lambda: not running("sleep\x00654324"), what="the end of the command")
    again = workplace.run("--no-sandbox", "--review", "off")
    assert again.code == 0, again.said
    assert landed(workplace) == ["feat(TASK-001): one"]


def test_a_result_that_is_a_pickle_is_never_opened(workplace, yard, impatient):
    yard.worker(preload="evil_pickle")
    workplace.plan(
        *(
            f"## TASK-00{n}: Evil\n- Status: PENDING\n- Output files: f{n}.py\n"
            f"- Command: `echo X = {n} > f{n}.py`\n- Proof: none — it only has to be there\n"
            for n in (1, 2)
        )
    )
    ended = on_cluster(workplace, yard, "-j", "2")
    assert ended.code == 3, ended.said
    assert [status.split()[0] for status in statuses(workplace)] == ["BLOCKED", "BLOCKED"]
    assert landed(workplace) == []
    opened = list(yard.workers[0][1].glob("evil*"))  # by the worker that made them, perhaps
    assert [one.name for one in opened if str(os.getpid()) in one.name.split("-")] == []
    assert "sent an unreadable answer" in ended.said


def test_paths_that_nobody_asked_for_are_refused_here(workplace, yard, tmp_path):
    yard.worker(preload="evil_paths")
    workplace.plan(
        *(
            f"## TASK-00{n}: More\n- Status: PENDING\n- Output files: mine.py\n"
            f"- Depends on: none\n\n{FENCE}python file=mine.py\nX = {n}\n{FENCE}\n"
            for n in (1, 2, 3, 4)
        )
    )
    ended = on_cluster(workplace, yard, "-j", "1")
    assert ended.code == 1, ended.said
    assert landed(workplace) == []
    assert {status.split()[0] for status in statuses(workplace)} == {"BLOCKED"}
    assert not (workplace.root / ".git/hooks/post-commit").exists()
    assert not list(tmp_path.rglob("outside.py"))
    assert "the files that the worker sent are not those that it tested" in ended.said


def test_a_full_disk_on_a_worker_sends_the_task_elsewhere(workplace, yard, impatient):
    yard.worker(preload="full_disk")
    head = "## TASK-001: One\n- Status: PENDING\n- Output files: one.py\n\n"
    workplace.plan(f"{head}{FENCE}python file=one.py\nX = 1\n{FENCE}\n")
    alone = on_cluster(workplace, yard)
    assert alone.code == 3, alone.said
    assert "the disk is full" in alone.said
    assert statuses(workplace)[0].startswith("BLOCKED")
    yard.worker()
    workplace.edit_plan(statuses(workplace)[0], "PENDING")
    ended = on_cluster(workplace, yard)
    assert ended.code == 0, ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]


def test_a_cluster_without_workers_says_so(workplace, scheduler, tmp_path, impatient):
    workplace.plan("## TASK-001: Look\n- Status: PENDING\n- Command: `true`\n")
    ended = on_cluster(workplace, Yard(scheduler, tmp_path))
    assert ended.code == 3
    assert "has no workers" in ended.said
    assert "hint: start one: dask worker tcp://127.0.0.1:" in ended.said


def own_address():
    """An address of this machine that is not loopback; empty where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            asked.connect(("192.0.2.77", 9))  # nothing is sent: the kernel says which address
            found = asked.getsockname()[0]
        except OSError:
            return ""
    return "" if found.startswith("127.") or found == "0.0.0.0" else found


def test_without_tls_a_secret_stays_here_and_the_rest_goes_only_if_a_person_says_so(
    workplace, tmp_path, monkeypatch
):
    address = own_address()
    if not address:
        pytest.skip("this machine has no address but loopback")
    monkeypatch.setenv("STRIPE_KEY", "not-so-secret")
    scheduler = Scheduler.start(tmp_path, address)
    yard = Yard(scheduler, tmp_path / "workers")
    try:
        yard.worker()
        where = "echo $TMPDIR > %s"
        workplace.plan(
            "## TASK-001: Secret\n- Status: PENDING\n- Requires: secret STRIPE_KEY\n"
            f"- Command: `{where % (tmp_path / 'secret')}`\n",
            f"## TASK-002: Open\n- Status: PENDING\n- Command: `{where % (tmp_path / 'open')}`\n",
        )
        refused = on_cluster(workplace, yard, "--no-sandbox")
        assert refused.code == 3, refused.said
        assert "does not use TLS" in refused.said
        ended = on_cluster(workplace, yard, "--no-sandbox", "--insecure-cluster")
    finally:
        yard.close()
        scheduler.close()
    assert ended.code == 0, ended.said
    assert (
        "TASK-001 runs here, not on the cluster: its secrets are sent only over TLS" in ended.said
    )
    assert "/cluster/" not in (tmp_path / "secret").read_text()
    assert "/cluster/" in (tmp_path / "open").read_text()


def test_over_tls_a_secret_goes_to_the_worker_that_needs_it(
    workplace, alone, tmp_path, monkeypatch
):
    address = own_address()
    if not address or not shutil.which("openssl"):
        pytest.skip("this machine has no address but loopback, or no openssl")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"),
            *("/CN=runner", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    tls = ("--tls-ca-file", str(cert), "--tls-cert", str(cert), "--tls-key", str(key))
    monkeypatch.setenv("STRIPE_KEY", "not-so-secret")
    scheduler = Scheduler.start(tmp_path, address, ("--protocol", "tls", *tls))
    yard = Yard(scheduler, tmp_path / "workers")
    settings = alone / "config" / "runner" / "runner.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(
        f'cluster.tls_ca = "{cert}"\ncluster.tls_cert = "{cert}"\ncluster.tls_key = "{key}"\n'
    )
    try:
        yard.worker()
        workplace.plan(
            "## TASK-001: Secret\n- Status: PENDING\n- Requires: secret STRIPE_KEY\n"
            f"- Command: `echo $STRIPE_KEY $TMPDIR > {tmp_path / 'secret'}`\n"
        )
        ended = on_cluster(workplace, yard, "--no-sandbox")
    finally:
        yard.close()
        scheduler.close()
    assert ended.code == 0, ended.said
    assert "/cluster/" in (tmp_path / "secret").read_text()
    assert (tmp_path / "secret").read_text().startswith("not-so-secret")
