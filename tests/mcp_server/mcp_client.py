"""A client of the Model Context Protocol, over the pipes of a real `runner mcp`."""

import json
import os
import queue
import subprocess
import sys
import threading

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class McpClient:
    """Says messages, and hears those that are answers to them, in whatever order they come."""

    def __init__(self, folder, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runner", "mcp", *words],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(os.environ),
        )
        self.heard, self.others, self._number = queue.Queue(), [], 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def raw(self, line):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def say(self, **message):
        self.raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def begin(self, method, **params):
        """A request; its id."""
        self._number += 1
        self.say(id=self._number, method=method, params=params)
        return self._number

    def next(self, seconds=120):
        message = self.heard.get(timeout=seconds)
        assert message is not None, self.process.stderr.read()
        return message

    def answer(self, id_):
        """The answer to a request; what else is said meanwhile is kept."""
        while (message := self.next()).get("id") != id_ or "method" in message:
            self.others.append(message)
        return message

    def ask(self, method, **params):
        return self.answer(self.begin(method, **params))

    def shake(self, version="2025-11-25"):
        said = self.ask(
            "initialize",
            protocolVersion=version,
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        self.say(method="notifications/initialized")
        return said["result"]

    def call(self, tool, **arguments):
        said = self.ask("tools/call", name=tool, arguments=arguments)
        assert "result" in said, said
        return said["result"]

    def close(self):
        """No more input; gives the exit code."""
        self.process.stdin.close()
        return self.process.wait(30)
