"""A task with a network reaches whatever listens on its machine: what it can do there."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.process.sandbox import choose_sandbox

ATTACKER = Path(__file__).parent / "attacker.py"
CANARY = "what only its owner reads"


@pytest.fixture
def home(alone):
    """A home with a file in it that a sandbox hides."""
    (alone / "canary").write_text(CANARY)
    return alone


def plan(command, network="yes"):
    return (
        "## TASK-001: Look around\n- Status: PENDING\n- Output files: `seen.jsonl`\n"
        f"- Network: {network}\n- Command: `{command}`\n- Timeout: 5 minutes\n"
        "- Proof: none — the test looks at what it saw\n"
    )


def heard(text):
    return [json.loads(line) for line in text.splitlines()]


def family(pid):
    """A process and all below it, whichever thread of whom started them."""
    parents = {}
    for one in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(one.parent.name)] = int(one.read_text().rpartition(")")[2].split()[1])
    found, new = [], [pid]
    while new:
        found += new
        new = [child for child, parent in parents.items() if parent in new]
    return found


def listened_at(pids):
    """Ports at which these processes listen, as this machine's tables say it."""
    sockets = set()
    for pid in pids:
        for one in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                sockets.add(str(one.readlink()))
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        int(words[1].rpartition(":")[2], 16)
        for words in lines
        if words[3] == "0A" and f"socket:[{words[9]}]" in sockets
    }


@pytest.fixture
def ports(home, monkeypatch):
    """A file with where the cluster of a run and its workers listen, written when it started.

    A sandbox shows it: a real attacker tries all that listens, and so might harm others here.
    """
    file = home / "ports/file"
    file.parent.mkdir()
    monkeypatch.setenv("RUNNER_SANDBOX_READ", str(file.parent))
    from runner.extensions.cluster import local_cluster

    began = local_cluster.LocalCluster.__init__

    def noted(self, *given):
        began(self, *given)
        file.write_text(json.dumps(sorted(listened_at(family(self._child.pid)))))

    monkeypatch.setattr(local_cluster.LocalCluster, "__init__", noted)
    return file


def test_a_task_with_a_network_cannot_give_orders_to_the_cluster_it_runs_on(workplace, home, ports):
    if not choose_sandbox("auto").encloses:
        pytest.skip("no sandbox works here, and without one there is nothing to break out of")
    mark = home / "mark"
    words = f"{sys.executable} attacker.py {home} {home / 'canary'} {mark} {ports} > seen.jsonl"
    workplace.write({"attacker.py": ATTACKER.read_text()})
    workplace.plan(plan(words))
    ended = workplace.run("--executor", "dask", "-j", "2", "--review", "off")
    assert ended.code == 0, ended.said
    said = heard(workplace.read("seen.jsonl"))
    assert len(said) >= 5  # a scheduler, two workers and who watches each of them
    assert [one["port"] for one in said] == json.loads(ports.read_text())  # it found them all
    assert CANARY not in workplace.read("seen.jsonl")
    assert not mark.exists()
    assert sum(bool(one["spoken"]) for one in said) >= 5
    for one in said:
        assert all("Closed" in words for words in one["spoken"]), one
        raw = one["raw"]
        silent = raw in ("", "ConnectionResetError", "TimeoutError")
        refused = raw.startswith(("15", b"HTTP/1.1 404".hex()))  # a TLS alert
        assert silent or refused, one


def test_the_same_words_do_give_orders_to_a_cluster_without_keys(scheduler, tmp_path):
    address = json.loads(scheduler.file.read_text())["address"]
    canary, mark = tmp_path / "canary", tmp_path / "mark"
    canary.write_text(CANARY)
    its_home = Path(f"/proc/{scheduler.process.pid}/environ").read_bytes().split(b"\0")
    home = next(one for one in its_home if one.startswith(b"HOME="))[5:].decode()
    ports = tmp_path / "ports"
    ports.write_text(json.dumps([int(address.rpartition(":")[2])]))
    words = [sys.executable, str(ATTACKER), home, *map(str, (canary, mark, ports))]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    (said,) = heard(done.stdout)
    assert CANARY in said["client"]
    assert mark.exists()


def test_on_a_cluster_without_keys_a_task_gets_no_network_and_is_told_why(workplace, healthy):
    workplace.plan(plan("touch seen.jsonl"))
    ended = workplace.run("--executor", healthy.executor, "--review", "off")
    assert ended.code == 3, ended.said
    assert "does not use TLS" in ended.said
    assert "--insecure-cluster" in ended.said
    assert workplace.statuses["TASK-001"] == "BLOCKED"
    assert not workplace.has("seen.jsonl")


@pytest.mark.parametrize("network", ["loopback", "no"])
def test_a_loopback_of_its_own_is_no_way_to_such_a_cluster(workplace, healthy, network):
    workplace.plan(plan("echo {} > seen.jsonl", network))
    ended = workplace.run("--executor", healthy.executor, "--review", "off")
    assert ended.code == 0, ended.said


def test_a_gate_with_a_network_is_refused_there_as_well(workplace, healthy):
    gate = "- Gates:\n  - audit (network): `true`\n"
    workplace.plan(plan("echo {} > seen.jsonl", "no") + gate)
    ended = workplace.run("--executor", healthy.executor, "--review", "off")
    assert ended.code == 3, ended.said
    assert "the gate audit of TASK-001" in ended.said


def test_an_agent_has_a_network_and_is_refused_there(workplace, healthy, home):
    config = home / "config/runner/runner.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('agent.command = "touch seen.jsonl"\n')
    workplace.plan("## TASK-001: Look\n- Status: PENDING\n- Output files: `seen.jsonl`\n")
    ended = workplace.run("--executor", healthy.executor, "--review", "off")
    assert ended.code == 3, ended.said
    assert "the agent agent has network access" in ended.said


def test_a_person_may_accept_it(workplace, healthy):
    workplace.plan(plan("echo {} > seen.jsonl"))
    words = ("--executor", healthy.executor, "--review", "off", "--insecure-cluster")
    ended = workplace.run(*words)
    assert ended.code == 0, ended.said


def test_without_a_way_to_make_a_key_no_cluster_is_started(workplace, monkeypatch):
    from importlib import util

    known = util.find_spec

    def lacking(name, *rest):
        return None if name == "cryptography" else known(name, *rest)

    monkeypatch.setattr(util, "find_spec", lacking)
    workplace.plan(plan("touch seen.jsonl", "no"))
    ended = workplace.run("--executor", "dask", "--review", "off")
    assert ended.code == 3, ended.said
    assert "needs the package cryptography, which is not installed" in ended.said


def test_what_forks_workers_is_never_where_a_task_may_ask_it_to(monkeypatch):
    from runner.extensions.cluster import local_cluster

    assert local_cluster._method("auto") == "forkserver"  # among files that a sandbox hides
    assert local_cluster._method("landlock") == "spawn"
    monkeypatch.setattr(sys, "version_info", (3, 11, 0, "final", 0))
    assert local_cluster._method("auto") == "spawn"


def test_the_folder_for_temporary_files_is_empty_in_a_sandbox_wherever_it_lies(tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    script = (
        "from runner.process.mounts import find_hidden_folders as f; "
        "print(*f('/nonexistent'), sep='\\n')"
    )
    environ = {**os.environ, "TMPDIR": str(place)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=True
    )
    assert any(place.is_relative_to(one) for one in done.stdout.splitlines())
