"""The small forge, workplaces of the stories, and a team's store."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
for folder in ("forge", "stories", "stories/crash", "extensions/team"):
    sys.path.insert(0, str(TESTS / folder))

import pytest  # noqa: E402 - the folders come first


@pytest.fixture
def shop(tmp_path, alone):
    from shop import Shop, open_shop

    workplace, forge = open_shop(tmp_path, alone)
    with forge:
        yield Shop(workplace, tmp_path, forge)
    assert forge.mismatches == []


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forge") / "shop.git"
    who = ("-c", "user.name=Ada", "-c", "user.email=a@example.org")

    def git(*words, given=b""):
        told = ("git", f"--git-dir={folder}", *who, *words)
        done = subprocess.run(told, input=given, capture_output=True, check=True)
        return done.stdout.decode().strip()

    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", folder], check=True)
    tree = git("mktree")
    first = git("commit-tree", tree, "-m", "one")
    git("update-ref", "refs/heads/main", first)
    git("update-ref", "refs/heads/runner/1", git("commit-tree", tree, "-p", first, "-m", "two"))
    return folder


@pytest.fixture
def case(bare):
    from forge_server import ForgeServer
    from issue_case import Case

    with ForgeServer("acme/shop", bare) as server:
        server.people |= {"ada": "write", "tom": "triage", "mia": "maintain"}
        main = server.sha_of("main")
        yield Case(server, server.sha_of("runner/1"))
        server._git("update-ref", "refs/heads/main", main)
    assert server.mismatches == []
