"""Whole runs on a cluster of separate processes: what is built there lands here."""

import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest
from yard import alive, children, running, until

from runner.extensions.cluster.message import read_job

FENCE = "```"
ONE = f"""\
## TASK-001: One
- Status: PENDING
- Output files: one.py
- Test contracts:
  - TC-001 (unit): `python3 -c "import one; assert one.X"`

{FENCE}python file=one.py
X = 1
{FENCE}
"""
TWO = """\
## TASK-002: Two
- Status: PENDING
- Depends on: TASK-001
- Output files: two.py
- Command: `echo working; echo 'from one import X as Y' > two.py`
- Test contracts:
  - TC-002 (unit): `python3 -c "import two; assert two.Y"`
"""


def statuses(workplace):
    lines = workplace.read("TASK-GRAPH.md").splitlines()
    return [line.removeprefix("- Status: ") for line in lines if line.startswith("- Status: ")]


def landed(workplace):
    """Titles of the tasks' commits, the first one first."""
    titles = workplace.git("log", "--reverse", "--format=%s").splitlines()
    return [title for title in titles if "TASK-" in title]


def on_cluster(workplace, yard, *words):
    return workplace.run("--executor", yard.executor, "--review", "off", *words)


@pytest.fixture
def sent(monkeypatch):
    """Every job that went out, with its size."""
    from runner.extensions.cluster.cluster import Cluster

    jobs, begin = [], Cluster.begin

    def noted(self, worker, ticket, data):
        jobs.append((worker, read_job(data), len(data)))
        return begin(self, worker, ticket, data)

    monkeypatch.setattr(Cluster, "begin", noted)
    return jobs


def test_what_workers_build_lands_here_and_they_share_nothing_with_us(workplace, healthy, sent):
    workplace.write({"big.bin": os.urandom(200_000)})
    workplace.plan(ONE, TWO)
    ended = on_cluster(workplace, healthy)
    assert ended.code == 0, ended.said
    assert landed(workplace) == ["feat(TASK-001): one", "feat(TASK-002): two"]
    assert workplace.read("two.py") == "from one import X as Y\n"
    assert workplace.has("artifacts/build/logs/TASK-002/1/implementer.log")
    first, whole, *later = sent
    assert first[1].pack is None  # nobody knew what the worker has: it was asked
    assert whole[2] > 200_000
    assert later[-1][1].pack is not None  # what TASK-001 landed, and no more
    assert all(size < 20_000 for _, _, size in later)


def test_a_worker_that_has_most_of_a_tree_comes_before_one_that_has_nothing(
    workplace, healthy, sent, monkeypatch
):
    from runner.extensions.cluster.cluster import Cluster

    take, took = Cluster.take, []

    def last_one_first(self, avoid, how_far, ended):
        until(lambda: len(self._seen) > 1, what="two workers")
        last = max(self._seen)
        far = how_far if took else lambda one: one != last  # where addresses decide, it is last
        took.append(take(self, avoid, far, ended))
        return took[-1]

    monkeypatch.setattr(Cluster, "take", last_one_first)
    workplace.write({"big.bin": os.urandom(200_000)})
    workplace.plan(ONE, TWO)
    assert on_cluster(workplace, healthy).code == 0
    assert len(set(took)) == 1, took
    assert sent[-1][2] < 20_000


def test_the_next_task_on_the_same_base_sends_none_of_it(workplace, healthy, sent):
    workplace.write({"big.bin": os.urandom(200_000)})
    checks = [f"## TASK-00{n}: Look\n- Status: PENDING\n- Command: `true`\n" for n in (1, 2, 3)]
    workplace.plan(*checks)
    assert on_cluster(workplace, healthy, "-j", "1").code == 0
    assert [job.pack is None for _, job, _ in sent] == [True, False, True, True]
    assert all(size < 20_000 for _, _, size in sent[2:])


def test_a_check_that_a_worker_makes_needs_no_scratch_tree_here(workplace, healthy, alone):
    workplace.plan(
        *(f"## TASK-00{n}: Look\n- Status: PENDING\n- Command: `sleep 0.2`\n" for n in (1, 2, 3))
    )
    assert on_cluster(workplace, healthy, "-j", "3").code == 0
    trees = [one for one in (alone / "cache").rglob("slots/*") if one.is_dir()]
    assert len(trees) == 1, trees  # the first slot's, as the pattern of all


def test_a_check_in_a_slot_that_was_used_before_goes_to_a_worker_too(
    workplace, healthy, alone, sent
):
    # The first lands, so its slot holds a tree here; the checks are quick ones, whose commands
    # start no other program, and follow in that slot and in others.
    checks = (
        f"## TASK-00{n}: Look\n- Status: PENDING\n- Depends on: TASK-001\n"
        f"- Test contracts:\n  - TC-00{n} (unit): `sleep 0.{n}`\n"
        for n in range(2, 8)
    )
    workplace.plan(ONE, *checks)
    assert on_cluster(workplace, healthy, "-j", "2", "--no-sandbox").code == 0
    went = {job.work.assignment.task.id for _, job, _ in sent if job.work}
    assert went == {f"TASK-00{n}" for n in range(1, 8)}
    trees = [one for one in (alone / "cache").rglob("slots/*") if one.is_dir()]
    assert len(trees) == 1, trees


def test_an_answer_that_comes_late_and_twice_lands_once_and_is_told_once(
    workplace, healthy, yard, monkeypatch
):
    from runner.extensions.cluster import cluster

    soon = cluster.WaitTimes(look=0.1)
    monkeypatch.setattr(cluster, "WaitTimes", lambda: soon)
    yard.worker(preload="late_twice")
    workplace.plan(
        *(
            f"## TASK-00{n}: File\n- Status: PENDING\n- Output files: f{n}.py\n"
            f"- Command: `echo X = {n} > f{n}.py; sleep 0.5`\n"
            "- Proof: none — it only has to be there\n"
            for n in (1, 2, 3)
        )
    )
    ended = on_cluster(workplace, healthy, "-j", "3", "--no-sandbox")
    assert ended.code == 0, ended.said
    assert "answered twice" in yard.log(0)
    assert ended.said.count("was lost during the job") == 2  # as it happens, and with its task
    assert ended.said.count("dropped a late answer") == 1, ended.said
    assert len(landed(workplace)) == 3
    assert workplace.dirt == []


def test_a_change_that_breaks_another_task_is_found_by_a_second_job(workplace, healthy, sent):
    breaks = TWO.replace("two.py\n- Command", "one.py\n- Command").replace(
        "echo working; echo 'from one import X as Y' > two.py", "echo X = 0 > one.py"
    )
    breaks = breaks.replace("import two; assert two.Y", "import one")
    workplace.plan(ONE)
    assert on_cluster(workplace, healthy).code == 0
    workplace.plan(ONE.replace("PENDING", "DONE"), breaks)
    ended = on_cluster(workplace, healthy, "--regression", "halt")
    assert ended.code == 4, ended.said
    assert landed(workplace) == ["feat(TASK-001): one"]
    assert any(job.work and job.work.suspects for _, job, _ in sent)


def test_output_of_a_command_is_seen_while_it_runs_without_its_secrets(
    workplace, healthy, tmp_path
):
    key = "sk-" + "ant-api03-" + "a1B2" * 24
    goes_on = tmp_path / "goes-on"
    command = f"echo half way {key}; while ! test -e {goes_on}; do sleep 0.1; done"
    workplace.plan(f"## TASK-001: Talk\n- Status: PENDING\n- Command: `sh -c '{command}'`\n")
    words = ("run", "--trust", "--executor", healthy.executor, "--no-sandbox")
    process = workplace.start(*words, "--output", "interleaved")
    heard = b""
    while b"half way" not in heard:
        chunk = os.read(process.stderr.fileno(), 4096)
        assert chunk, heard
        heard += chunk
    goes_on.touch()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert key not in heard.decode() + out + err


def test_ctrl_c_reaches_what_runs_on_a_worker(workplace, healthy, tmp_path):
    mark = tmp_path / "began"
    command = f"setsid sleep 98{os.getpid()} & touch {mark}; wait"
    workplace.plan(f"## TASK-001: Wait\n- Status: PENDING\n- Command: `{command}`\n")
    process = workplace.start(
        "run", "--trust", "--executor", healthy.executor, "--no-sandbox", "--review", "off"
    )
    until(mark.exists, what="the command")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "late answer" not in err  # who ended it is not told that its end came too late
    until(lambda: not running(f"sleep\x0098{os.getpid()}"), what="the end of the command")


def test_cancel_ends_one_task_on_its_worker_and_keeps_what_it_wrote(workplace, healthy, tmp_path):
    mark, key = tmp_path / "began", "_1b6tQ0zX9pLk3mVn8cRw5yDfGh2jAeS7uKiT"
    writes = f"echo half > a.txt; printf gh%s p{key} > a.env"
    command = f"sh -c '{writes}; touch {mark}; exec sleep 876543'"
    section = f"## TASK-001: Wait\n- Status: PENDING\n- Output files: `a.*`\n- Command: {command}\n"
    workplace.plan(f"{section}- Proof: none — a trial\n")

    def cancel():
        until(mark.exists, what="the command")
        workplace.start("cancel", "TASK-001").communicate(timeout=30)

    canceller = threading.Thread(target=cancel)
    canceller.start()
    ended = on_cluster(workplace, healthy, "--no-sandbox")
    canceller.join()
    assert statuses(workplace)[0].startswith("BLOCKED — cancelled by a person; work kept"), (
        ended.said
    )
    assert "late answer" not in ended.said
    until(lambda: not running("sleep\x00876543"), what="the end of the command")
    (branch,) = [one for one in workplace.branches if one.startswith("draft/")]
    assert workplace.git("show", f"{branch}:a.txt") == "half"
    assert workplace.git("ls-tree", "--name-only", branch, "a.env") == ""
    assert f"ghp{key}".encode() not in workplace.objects()


def test_a_second_coordinator_is_refused_by_the_lock(workplace, healthy, tmp_path):
    mark, goes_on = tmp_path / "began", tmp_path / "goes-on"
    command = f"touch {mark}; while ! test -e {goes_on}; do sleep 0.1; done"
    workplace.plan(f"## TASK-001: Wait\n- Status: PENDING\n- Command: `{command}`\n")
    words = ("run", "--trust", "--executor", healthy.executor, "--no-sandbox", "--review", "off")
    first = workplace.start(*words)
    until(mark.exists, what="the command")
    second = on_cluster(workplace, healthy, "--no-sandbox")
    assert second.code != 0
    assert "another run" in second.said, second.said
    goes_on.touch()
    _, err = first.communicate(timeout=30)
    assert first.returncode == 0, err
    assert statuses(workplace) == ["DONE — unproven: nothing proves it"]


def ours():
    """Clusters that this process has started: tests beside it have their own."""
    for pid in running("executors.local_cluster import serve"):
        with contextlib.suppress(OSError):
            parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                yield pid


def test_dask_alone_starts_a_cluster_here_that_ends_with_the_run(workplace, tmp_path, monkeypatch):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    workplace.plan(ONE, TWO)
    others = {*ours()}  # of stories that share one
    ended = workplace.run("--executor", "dask", "-j", "2", "--review", "off")
    assert ended.code == 0, ended.said
    assert landed(workplace) == ["feat(TASK-001): one", "feat(TASK-002): two"]
    until(lambda: {*ours()} <= others, what="its end")
    until(lambda: not list(temporary.iterdir()), what="an empty folder for temporary files")


def test_a_coordinator_that_is_killed_leaves_no_worker_behind(workplace, tmp_path):
    mark = tmp_path / "began"
    workplace.plan(
        f"## TASK-001: Wait\n- Status: PENDING\n- Command: `touch {mark}; sleep 76{os.getpid()}`\n"
    )
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    words = ("run", "--trust", "--executor", "dask", "-j", "1", "--no-sandbox", "--review", "off")
    process = workplace.start(*words, TMPDIR=str(temporary))
    until(mark.exists, what="the command")
    child = next(pid for pid in children(process.pid) if pid in running("local_cluster import"))
    below = [pid for one in children(child) for pid in (one, *children(one))]
    process.kill()
    process.communicate(timeout=30)
    until(lambda: not any(alive(pid) for pid in (child, *below)), what="the end of all workers")
    until(lambda: not running(f"sleep\x0076{os.getpid()}"), what="the end of the command")
    until(lambda: not list(temporary.iterdir()), what="an empty folder for temporary files")


def test_a_base_too_large_for_one_message_is_sent_in_pieces(workplace, healthy, sent, monkeypatch):
    from runner.extensions.cluster import object_store, remote_job

    monkeypatch.setattr(object_store, "PIECE", 100_000)
    monkeypatch.setattr(remote_job, "PIECE", 100_000)
    workplace.write({"big.bin": os.urandom(350_000)})
    workplace.plan(ONE)
    assert on_cluster(workplace, healthy).code == 0
    assert [job.part.number for _, job, _ in sent if job.part] == [0, 1, 2, 3]
    assert landed(workplace) == ["feat(TASK-001): one"]


def test_a_project_below_the_top_of_a_repository_is_built_there(tmp_path, alone, healthy):
    from workplace import Workplace

    top = Workplace.begin(tmp_path / "mono", alone)
    top.commit({"other/file.txt": "theirs\n"})
    (top.root / "shop").mkdir()
    shop = Workplace(top.root / "shop", alone)
    shop.plan(ONE, TWO)
    ended = on_cluster(shop, healthy)
    assert ended.code == 0, ended.said
    assert shop.read("one.py") == "X = 1\n"


def test_a_repository_alone_names_no_cluster(workplace):
    workplace.write({"runner.toml": 'cluster.executor = "dask:tcp://192.0.2.1:8786"\n'})
    workplace.plan(ONE)
    ended = workplace.run("--review", "off")
    assert ended.code == 0, ended.said
    assert "runner.toml:1: cluster.executor is ignored" in ended.said


def test_a_person_may_name_one_in_the_environment_but_not_without_tls(workplace, monkeypatch):
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask:tcp://192.0.2.1:8786")
    workplace.plan(ONE)
    ended = workplace.run("--review", "off")
    assert ended.code == 3, ended.said
    assert "does not use TLS" in ended.said
    assert "--insecure-cluster" in ended.said
    assert landed(workplace) == []


def test_tls_without_certificates_is_told_before_anybody_is_called(workplace, monkeypatch):
    workplace.plan(ONE)
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask:tls://127.0.0.1:9")
    ended = workplace.run()
    assert ended.code == 3
    assert "needs TLS, but no certificates are set" in ended.err
    assert "tls_ca, tls_cert and tls_key in [cluster]" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_tls_file_that_is_missing_or_none_is_named_without_a_traceback(
    workplace, monkeypatch, tmp_path, content
):
    workplace.plan(ONE)
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    for name in ("CA", "CERT", "KEY"):
        monkeypatch.setenv(f"RUNNER_DASK_TLS_{name}", str(file))
    monkeypatch.setenv("RUNNER_CLUSTER_EXECUTOR", "dask:tls://127.0.0.1:9")
    ended = workplace.run()
    assert ended.code == 3, ended.said
    assert "a TLS file cannot be used" in ended.err
    assert "check tls_ca" in ended.err
    assert (str(file) in ended.err) == (content is None)
