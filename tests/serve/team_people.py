"""A team with a store, a person of each role, a real server for them, and who signs in there."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

from site_process import Client

from runner.extensions.team.people import ROLES, Doer, add_person, make_token
from runner.extensions.team.repository_list import Registered, add_repository
from runner.extensions.team.store_engine import find_address, make_place, open_engine
from runner.extensions.team.store_upkeep import upgrade_schema

HERE = Doer("root@here")


class Team:
    """One store, and the tokens of its people by name; everybody is called as their role is."""

    def __init__(self, folder):
        self.folder = folder
        self.address = find_address(folder, str(folder / "store.sqlite"))
        make_place(self.address)
        self.store = open_engine(self.address)
        with self.store.write() as connection:
            upgrade_schema(connection)
        self.tokens, self.ids = {}, {}
        for role in ROLES:
            self.add(role, role)
        self.servers = []

    def add(self, name, role):
        add_person(self.store, name, role, HERE)
        self.tokens[name], token = make_token(self.store, name, HERE, label="desk")
        self.ids[name] = token.id

    def repository(self, workplace, name="shop"):
        """A bare remote of what stands in a workplace, registered."""
        bare = self.folder / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True)
        workplace.git("push", "-q", str(bare), "main")
        return add_repository(
            self.store, Registered(name, str(bare), "", "", "", "", "x"), os.environ
        )[0]

    def serve(self, *words, scheme="http", **variables):
        """A server; it is ready when its address is told."""
        server = Server(self, words, scheme, variables)
        self.servers.append(server)
        return server

    def work(self):
        """A real worker, until nothing is left for it."""
        home = self.folder / "home-w"
        told = {f"XDG_{one}_HOME": str(home / one.lower()) for one in ("CACHE", "STATE")}
        quick = {
            "RUNNER_GIT_LEASE_SECONDS": "2",
            "RUNNER_TEAM_WORKER_BEAT": "0.3",
            "RUNNER_TEAM_WORKER_POLL": "1",
            "RUNNER_TEAM_WORKER_FOLDERS": str(self.folder),
        }
        done = subprocess.run(
            [sys.executable, "-m", "runner", "worker", "--trust", "--store", self.address,
             "--until-idle"],
            cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
            env={**os.environ, **quick, **told}, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stderr + done.stdout

    def close(self):
        for one in self.servers:
            one.close()
        self.store.close()


class Server:
    def __init__(self, team, words, scheme, variables):
        self.team = team
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "runner",
                "serve",
                "--team",
                "--store",
                team.address,
                *words,
            ],
            cwd=team.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.link = self.process.stdout.readline().strip()
        assert self.link.startswith(scheme + "://"), self.process.stderr.read()
        self.origin = self.link.rstrip("/")

    def client(self):
        return Client(self.link, self.team.folder)

    def sign_in(self, name):
        """A client of somebody who is in."""
        one = self.client()
        assert one.enter(self.team.tokens[name]) == 200
        return one

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with contextlib.suppress(ValueError):
            self.process.stderr.close()


def status(client, method, path, **headers):
    """The status and what comes first of the answer: a stream has no end."""
    import http.client

    told = {
        "Host": client.host,
        "Cookie": client.cookie,
        "X-Runner-Secret": client.secret,
        **headers,
    }
    body = None
    if method == "POST":
        kind = (
            "application/json" if path.startswith("/api/") else "application/x-www-form-urlencoded"
        )
        body = b"{}" if path.startswith("/api/") else b""
        told |= {"Origin": client.origin, "Content-Type": kind}
    line = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
    line.request(method, path, body, told)
    answer = line.getresponse()
    said = answer.read1(2000).decode()
    line.close()
    return answer.status, said


def certificate(folder):
    """A certificate for localhost that it signed itself, and its key."""
    chain, key = Path(folder) / "chain.pem", Path(folder) / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", chain,
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    return chain, key
