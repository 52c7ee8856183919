"""A real `runner serve` as a process of its own, and a client that says exactly what it is told.

A `Client` is at the page that a link leads to, a `Site` has started its server.
"""

import contextlib
import functools
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse

PATIENCE = 90


class Client:
    def __init__(self, link, folder):
        self.link = link
        self.port = urllib.parse.urlsplit(link).port
        self.host = f"127.0.0.1:{self.port}"
        self.origin = f"http://{self.host}"
        self.cookie = self.secret = ""
        self.folder = folder

    @property
    def token(self):
        return self.link.partition("#")[2]

    def raw(self, data, *, seconds=PATIENCE):
        """Bytes as they are, over a socket; what came back until the other side closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as client:
            found = b""
            with contextlib.suppress(OSError):  # it hangs up on what it does not read
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                while piece := client.recv(65536):
                    found += piece
        return found

    def ask(self, method, path, body=None, **headers):
        """One request with these headers and no other; status, headers and body."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        client.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": self.host, **headers}.items():
            if value is not None:
                client.putheader(name.replace("_", "-"), value)
        if body is not None and "Content_Length" not in headers:
            client.putheader("Content-Length", str(len(body)))
        client.endheaders(body)
        answer = client.getresponse()
        found = answer.status, answer.headers, answer.read()
        client.close()
        return found

    def new_link(self):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "runner", "serve", "--link", "--port", str(self.port)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        return done.stdout.strip()

    def enter(self, token=None):
        """Open the link as its page does; gives the status."""
        body = json.dumps({"token": token or self.token}).encode()
        status, headers, said = self.ask(
            "POST", "/session", body, Origin=self.origin, Content_Type="application/json"
        )
        if status == 200:
            self.cookie = headers["set-cookie"].partition(";")[0]
            self.secret = json.loads(said)["secret"]
        return status

    def get(self, path, **headers):
        status, _, body = self.ask("GET", path, Cookie=self.cookie, **headers)
        return status, body.decode()

    def api(self, path, **headers):
        status, body = self.get(f"/api/v1{path}", X_Runner_Secret=self.secret, **headers)
        return status, json.loads(body)

    def post(self, path, fields, **changes):
        """A call of the API."""
        headers = {
            "Cookie": self.cookie,
            "X_Runner_Secret": self.secret,
            "Origin": self.origin,
            "Content_Type": "application/json",
            **changes,
        }
        body = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        status, _, said = self.ask("POST", f"/api/v1{path}", body, **headers)
        return status, json.loads(said)

    def form(self, path, fields, **changes):
        """A form of a page, as htmx sends it."""
        headers = {
            "Cookie": self.cookie,
            "X_Runner_Secret": self.secret,
            "Origin": self.origin,
            "Content_Type": "application/x-www-form-urlencoded",
            **changes,
        }
        status, _, said = self.ask("POST", path, urllib.parse.urlencode(fields).encode(), **headers)
        return status, said.decode()

    @functools.cached_property
    def build(self):
        return self.api("/builds")[1]["builds"][0]["id"]

    def until(self, condition, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < end
            time.sleep(0.1)
        return value


class Site(Client):
    def __init__(self, folder, *words):
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runner", "serve", *words],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ),
        )
        link = self.process.stdout.readline().strip()
        assert link, self.process.stderr.read()
        super().__init__(link, folder)

    def end(self):
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
