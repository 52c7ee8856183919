"""A raw client of the Language Server Protocol: frames over the pipes of a real `runner lsp`."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading

WAIT = 40
"""Seconds after which a test gives up: for a machine that is very busy."""


class LanguageClient:
    """Starts the server in a folder; what it says is kept until it is asked for."""

    def __init__(self, folder, *, environ=None):
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runner", "lsp", "--stdio"],
            cwd=folder,
            env=environ or dict(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._said = queue.Queue()
        self._kept = []
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()
        self.errors = b""
        threading.Thread(target=self._read_errors, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors += line

    def _read(self):
        while True:
            size = 0
            while (line := self.process.stdout.readline()).strip():
                name, _, value = line.partition(b":")
                size = int(value) if name.lower() == b"content-length" else size
            if not line:
                self._said.put(None)
                return
            self._said.put(json.loads(self.process.stdout.read(size)))

    # --- frames -----------------------------------------------------------------------

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def notify(self, method, **params):
        self.send({"method": method, "params": params})

    def request(self, method, **params):
        """The result; an error of the server is raised."""
        answer = self.ask(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method, **params):
        """The error that the server answers with."""
        return self.ask(method, **params)["error"]

    def ask(self, method, **params):
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        return self.wait(lambda one: one.get("id") == self._number and "method" not in one)

    def wait(self, fits):
        """The first message that fits, among those that came and those that come."""
        for at, one in enumerate(self._kept):
            if fits(one):
                return self._kept.pop(at)
        while True:
            one = self._said.get(timeout=WAIT)
            assert one is not None, f"the server ended: {self.errors.decode()}"
            if fits(one):
                return one
            self._kept.append(one)

    # --- what an editor does ------------------------------------------------------------

    def initialize(self, *, encodings=None, folders=None, **options):
        general = {"positionEncodings": encodings} if encodings else {}
        roots = [self.folder] if folders is None else folders
        result = self.request(
            "initialize",
            processId=os.getpid(),
            rootUri=None,
            capabilities={"general": general, "textDocument": {"publishDiagnostics": {}}},
            workspaceFolders=[{"uri": one.as_uri(), "name": one.name} for one in roots],
            initializationOptions=options or None,
        )
        self.notify("initialized")
        return result["capabilities"]

    def uri(self, path):
        return (self.folder / path).as_uri()

    def open(self, path, text=None):
        """Open a document and give its mistakes."""
        text = (self.folder / path).read_text() if text is None else text
        item = {"uri": self.uri(path), "languageId": "markdown", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)
        return self.problems(path)

    def edit(self, path, start, end, text):
        """Replace what lies between two (line, character) positions."""
        change = {"range": {"start": position(start), "end": position(end)}, "text": text}
        self.notify(
            "textDocument/didChange",
            textDocument={"uri": self.uri(path), "version": 2},
            contentChanges=[change],
        )

    def problems(self, path):
        """The next mistakes that are published of a file."""
        published = self.wait(
            lambda one: (
                one.get("method") == "textDocument/publishDiagnostics"
                and one["params"]["uri"] == self.uri(path)
            )
        )
        return published["params"]["diagnostics"]

    def at(self, method, path, line, character, **more):
        document = {"uri": self.uri(path)}
        return self.request(
            f"textDocument/{method}",
            textDocument=document,
            position=position((line, character)),
            **more,
        )

    def of(self, method, path, **more):
        return self.request(f"textDocument/{method}", textDocument={"uri": self.uri(path)}, **more)

    def leave(self):
        """Shut down and exit; gives the exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(WAIT)


def position(place):
    return {"line": place[0], "character": place[1]}


def messages(problems):
    return [one["message"].partition("\n")[0] for one in problems]
