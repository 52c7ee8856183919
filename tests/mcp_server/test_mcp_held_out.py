"""An assistant hears states and counts of held-out tests alone."""

import json

import held_out_plans
from held_out_plans import TESTS, told
from mcp_client import McpClient


def test_every_tool_that_reads_tells_states_and_counts_alone(workplace, monkeypatch):
    held_out_plans.failed(workplace, monkeypatch)
    client = McpClient(workplace.root)
    try:
        client.shake()
        tools = client.ask("tools/list")["result"]["tools"]
        reads = [one["name"] for one in tools if one["annotations"]["readOnlyHint"]]
        said = {
            name: json.dumps([client.call(name), client.call(name, task="TASK-001")])
            for name in reads
        }
    finally:
        client.process.kill()
        client.process.wait()
    assert {name: told(text) for name, text in said.items() if told(text)} == {}
    assert "3 of 3 held-out tests fail: A1, A2" in said["show"]
    assert TESTS in said["show"]
