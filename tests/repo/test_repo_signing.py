"""Commits are signed as git would sign them, by real programs with keys made here."""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, git

from runner.errors import ExitCode, RunnerError
from runner.repo.commit import commit_tree
from runner.repo.read import Repository

MESSAGE = "feat(TASK-001): x\n\nTask: TASK-001\nAttempt: 1\n"


def run(*words):
    subprocess.run(words, check=True, capture_output=True)


def make_commit(folder, message=MESSAGE, **policy):
    with Repository.open(folder) as repo:
        for name, value in policy.items():
            setattr(repo, name, value)
        return commit_tree(repo, repo.head().commit, (a_change("a", "2"),), message)


@pytest.fixture
def ssh_key(tmp_path, home):
    """A key of ssh's, which git takes for this person's."""
    key = tmp_path / "key"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    allowed = tmp_path / "allowed"
    allowed.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    with (home / "gitconfig").open("a") as file:
        file.write(f'[gpg "ssh"]\n\tallowedSignersFile = {allowed}\n')
    return key


@pytest.fixture
def gpg_home(monkeypatch):
    """A key ring with one key; its folder's name is short, since sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="g", dir="/tmp") as folder:
        monkeypatch.setenv("GNUPGHOME", folder)
        words = ("--batch", "--passphrase", "", "--quick-gen-key", "Ada <ada@example.org>")
        run("gpg", *words, "ed25519", "sign", "never")
        yield Path(folder)
        run("gpgconf", "--kill", "gpg-agent")


@pytest.mark.parametrize("where", ["repository", "person"])
def test_a_commit_is_signed_by_ssh(tmp_path, home, ssh_key, where):
    real = a_repository(tmp_path / "real", {"a": "1"})
    scope = "--local" if where == "repository" else "--global"
    for name, value in (
        ("commit.gpgSign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingKey", str(ssh_key)),
    ):
        git(real, "config", scope, name, value)
    made = make_commit(real)
    git(real, "verify-commit", made.sha)
    assert git(real, "log", "-1", "--format=%G? %GS", made.sha) == "G ada@example.org"
    assert git(real, "log", "-1", "--format=%B", made.sha).strip() == MESSAGE.strip()
    assert git(real, "rev-parse", f"{made.sha}^{{tree}}") == made.tree


@pytest.mark.parametrize("key", ["", "ada@example.org"])
def test_a_commit_is_signed_by_gpg(tmp_path, home, gpg_home, key):
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(real, "config", "commit.gpgSign", "true")
    if key:
        git(real, "config", "user.signingKey", key)
    made = make_commit(real)
    git(real, "verify-commit", made.sha)
    assert git(real, "log", "-1", "--format=%G?", made.sha) in ("G", "U")


def test_the_persons_own_command_names_the_key_of_ssh(tmp_path, home, ssh_key):
    real = a_repository(tmp_path / "real", {"a": "1"})
    evil = tmp_path / "evil"
    public = ssh_key.with_suffix(".pub")
    git(real, "config", "commit.gpgSign", "true")
    git(real, "config", "gpg.format", "ssh")
    git(real, "config", "gpg.ssh.defaultKeyCommand", f"touch {evil}")
    git(real, "config", "--global", "gpg.ssh.defaultKeyCommand", f"echo key::$(cat {public})")
    with (home / "gitconfig").open("a") as file:
        file.write(f'[gpg "ssh"]\n\tdefaultKeyCommand = "sh -c \'echo key::$(cat {public})\'"\n')
    agent = subprocess.run(["ssh-agent", "-s"], check=True, capture_output=True, text=True).stdout
    words = dict(part.split("=", 1) for part in agent.replace("\n", "").split(";") if "=" in part)
    os.environ |= {"SSH_AUTH_SOCK": words["SSH_AUTH_SOCK"]}
    try:
        run("ssh-add", "-q", str(ssh_key))
        made = make_commit(real)
        git(real, "verify-commit", made.sha)
    finally:
        del os.environ["SSH_AUTH_SOCK"]
        os.kill(int(words["SSH_AGENT_PID"]), 15)
    assert not evil.exists()


@pytest.mark.parametrize(
    ("format_", "key"),
    [("openpgp", "gpg.program"), ("openpgp", "gpg.openpgp.program"), ("ssh", "gpg.ssh.program"),
     ("x509", "gpg.x509.program"), ("ssh", "gpg.ssh.defaultKeyCommand")],
)  # fmt: skip
def test_a_program_that_the_repository_names_never_runs(tmp_path, home, format_, key):
    real = a_repository(tmp_path / "real", {"a": "1"})
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\nexit 1\n")
    evil.chmod(0o755)
    git(real, "config", "commit.gpgSign", "true")
    git(real, "config", "gpg.format", format_)
    git(real, "config", key, str(evil))
    with pytest.raises(RunnerError) as refused:
        make_commit(real)
    assert refused.value.code is ExitCode.PERSON
    assert "could not be signed" in refused.value.message
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("start", ["", "setsid "], ids=["child", "own session"])
def test_a_signer_that_does_not_answer_is_stopped_with_its_children(tmp_path, home, start):
    real = a_repository(tmp_path / "real", {"a": "1"})
    signer = tmp_path / "signer"
    signer.write_text(
        f"#!/bin/sh\n{start}sleep 987.{os.getpid()} &\necho $! > {tmp_path}/pid\nwait\n"
    )
    signer.chmod(0o755)
    (home / "gitconfig").write_text(f"[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {signer}\n")
    began = time.monotonic()
    with pytest.raises(RunnerError) as refused:
        make_commit(real, sign_seconds=0.5)
    assert time.monotonic() - began < 5
    assert refused.value.code is ExitCode.PERSON
    assert f"{signer} did not sign the commit within 0.5 s and was stopped" in str(refused.value)
    assert "raise git.sign_seconds" in refused.value.hint
    child = int((tmp_path / "pid").read_text())
    for _ in range(50):
        if not _lives(child):
            break
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("configured", "setting", "signed_off"),
    [(None, None, False), ("true", None, True), ("true", False, False), (None, True, True)],
)
@pytest.mark.parametrize("message", [MESSAGE, "chore(runner): record\n"])
def test_a_commit_is_signed_off_as_git_or_the_setting_says(
    tmp_path, configured, setting, signed_off, message
):
    real = a_repository(tmp_path / "real", {"a": "1"})
    if configured:
        git(real, "config", "format.signOff", configured)
    made = make_commit(real, message, signs_off=setting)
    said = git(real, "log", "-1", "--format=%(trailers:key=Signed-off-by,valueonly)", made.sha)
    assert said.strip() == ("Ada <ada@example.org>" if signed_off else "")
    task = git(real, "log", "-1", "--format=%(trailers:key=Task,valueonly)", made.sha).strip()
    assert task == ("TASK-001" if message is MESSAGE else "")
