"""Which cluster a person named, whether others may listen, and what must not reach it."""

import json
from types import SimpleNamespace

import pytest
from settings_of import settings_of

from runner.config.settings import Settings
from runner.errors import RunnerError
from runner.extensions.cluster.addresses import (
    explain_exposing,
    explain_exposure,
    is_sealed,
    read_address,
    scheduler_of,
)
from runner.model import GateSpec, Network, Spec, Task


@pytest.mark.parametrize(
    ("text", "private", "encrypted"),
    [
        ("tcp://127.0.0.1:8786", True, False),
        ("tcp://localhost:8786", True, False),
        ("tcp://[::1]:8786", True, False),
        ("tcp://10.0.0.7:8786", False, False),
        ("tcp://head.example:8786", False, False),
        ("tls://head.example:8786", True, True),
    ],
)
def test_nobody_listens_on_this_machine_or_where_it_is_encrypted(text, private, encrypted):
    found = read_address(f" {text}\n")
    assert (str(found), found.is_private, found.is_encrypted) == (text, private, encrypted)


def test_a_local_cluster_is_meant_where_no_address_is_given():
    assert scheduler_of("dask") is None
    assert scheduler_of("threads") is None


def test_an_address_without_its_protocol_is_refused_with_both_that_may_be_meant():
    with pytest.raises(RunnerError, match="has no protocol") as caught:
        scheduler_of("dask:head:8786")
    assert caught.value.hint == "write dask:tcp://head:8786 or dask:tls://head:8786"
    with pytest.raises(RunnerError, match="is not a valid scheduler address"):
        scheduler_of("dask:http://head/")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read"),
        ("{", "not JSON"),
        ("[]", "has no scheduler address"),
        ('{"address": "somewhere"}', "has no scheduler address"),
    ],
)
def test_a_scheduler_file_that_says_nothing_is_refused(tmp_path, content, why):
    file = tmp_path / "scheduler.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(RunnerError, match=why):
        scheduler_of(f"dask:{file}")
    file.write_text(json.dumps({"address": "tls://h:1"}))
    assert scheduler_of(f"dask:{file}").is_encrypted


OPEN, SEALED = read_address("tcp://127.0.0.1:1"), read_address("tls://127.0.0.1:1")


def networked(**fields):
    return Task("TASK-001", "Fetch", 1, Spec("", ""), **fields)


def test_a_key_or_a_persons_word_seals_a_cluster():
    assert is_sealed(SEALED, Settings())
    assert not is_sealed(OPEN, Settings())
    assert is_sealed(OPEN, settings_of(insecure_cluster=True))


def test_a_task_or_gate_with_a_network_would_reach_a_cluster_without_a_key():
    settings = settings_of(network=Network.YES)
    quiet = networked()
    assert explain_exposing([quiet], None, settings) == ""
    assert explain_exposing([quiet, networked(network=Network.YES)], None, settings) == "TASK-001"
    gate = GateSpec("audit", "pip-audit", network=Network.YES)
    by_gate = explain_exposing([networked(gates=(gate,))], None, settings)
    assert by_gate == "the gate audit of TASK-001"
    without = settings_of(network=Network.YES, sandbox="none")
    assert explain_exposing([networked(network=Network.YES)], None, without) == ""


def test_it_is_refused_before_it_starts_only_where_the_cluster_has_no_key():
    task = networked(network=Network.YES)
    told = {"network": Network.YES}
    agent = None
    open_one = settings_of(executor="dask:tcp://127.0.0.1:1", **told)
    assert explain_exposure(task, agent, open_one).startswith("TASK-001 has network access")
    assert explain_exposure(task, agent, settings_of(executor="dask:tls://h:1", **told)) == ""
    assert explain_exposure(task, agent, settings_of(executor="dask", **told)) == ""


def test_an_agent_that_talks_to_its_model_would_reach_it_and_a_plain_command_would_not():
    settings = settings_of(network=Network.YES)
    agent = SimpleNamespace(name="claude", is_agent=True, network=Network.YES)
    assert explain_exposing([networked()], agent, settings) == "the agent claude"
    command = SimpleNamespace(name="command", is_agent=False, network=Network.YES)
    assert explain_exposing([networked()], command, settings) == ""
