"""`runner mcp` with the client of the protocol's own SDK, in both of the protocol's forms."""

import os
import sys

import pytest

pytest.importorskip("mcp.client.client", reason="the SDK of the protocol (extra dev) is not here")

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

PLAN = "## TASK-001: Look\n- Status: PENDING\n- Command: `true`\n"


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_sdk_lists_and_calls(workplace, mode, version):
    workplace.plan(PLAN)

    async def talk():
        program = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "runner", "mcp"],
            cwd=workplace.root,
            env=dict(os.environ),
        )
        async with Client(stdio_client(program), mode=mode) as client:
            tools = await client.list_tools()
            status = await client.call_tool("status", {})
            why = await client.call_tool("why", {"task": "TASK-009"})
            return client.protocol_version, tools, status, why

    spoken, tools, status, why = anyio.run(talk)
    assert spoken == version
    assert "run" in [tool.name for tool in tools.tools]
    assert status.structured_content["counts"] == {"PENDING": 1}
    assert why.is_error
    assert "unknown task" in why.content[0].text
