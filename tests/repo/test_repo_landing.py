import json
import os
import resource
import stat
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest
from repo_build import a_change, a_repository, commit_all, files_of, git, put_in_real_tree, write

from runner.errors import ExitCode, RunnerError
from runner.repo.commit import commit_tree, swap_branch
from runner.repo.index_lock import Synced, sync_index
from runner.repo.read import Repository
from runner.repo.scratch import Scratch

MESSAGE = "feat(TASK-001): x\n\nTask: TASK-001\nAttempt: 1\n"


def land(repo, changes, message=MESSAGE):
    head = repo.head()
    made = commit_tree(repo, head.commit, changes, message)
    assert swap_branch(repo, head, head.commit, made.sha)
    put_in_real_tree(repo.root, changes)
    synced = sync_index(repo, [change.path for change in changes], head.commit, made.sha)
    return made, synced


def test_a_landing_leaves_the_repository_clean(tmp_path):
    a_repository(tmp_path, {"src/a.py": "1\n", "src/gone.py": "1\n", "b": "1\n"})
    changes = (
        a_change("src/a.py", "2\n"),
        a_change("src/gone.py", None),
        a_change("deep/er/new.sh", "#!/bin/sh\n", mode=0o100755),
    )
    with Repository.open(tmp_path) as repo:
        made, synced = land(repo, changes)

        assert synced == Synced()
        assert repo.tree_of(made.sha) == made.tree
        assert git(tmp_path, "status", "--porcelain") == ""
        assert git(tmp_path, "rev-parse", "main") == made.sha
        assert git(tmp_path, "fsck", "--strict") == ""
        assert git(tmp_path, "for-each-ref", "refs/runner") == ""
        assert repo.tree_entries(made.sha, ("deep/er/new.sh",))["deep/er/new.sh"].mode == 0o100755
    assert git(tmp_path, "log", "-1", "--format=%an <%ae> %s") == (
        "Ada <ada@example.org> feat(TASK-001): x"
    )


def test_the_first_landing_is_a_root_commit(tmp_path):
    a_repository(tmp_path)
    with Repository.open(tmp_path) as repo:
        made, _ = land(repo, (a_change("a", "1\n"),))

        assert made.parent is None
        assert repo.head().commit == made.sha
    assert git(tmp_path, "rev-list", "--parents", "HEAD") == made.sha
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_person_who_commits_first_keeps_their_root_commit(tmp_path):
    a_repository(tmp_path)
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, None, (a_change("a"),), MESSAGE)
        write(tmp_path, {"theirs": "1"})
        theirs = commit_all(tmp_path, "theirs")

        assert not swap_branch(repo, head, None, made.sha)
    assert git(tmp_path, "rev-parse", "HEAD") == theirs


def test_a_branch_that_moved_is_left_alone(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("a"),), MESSAGE)
        write(tmp_path, {"theirs": "1"})
        theirs = commit_all(tmp_path, "theirs")

        assert not swap_branch(repo, head, head.commit, made.sha)
    assert git(tmp_path, "rev-parse", "HEAD") == theirs


def test_with_another_branch_checked_out_nothing_lands(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("a"),), MESSAGE)
        git(tmp_path, "checkout", "-qb", "elsewhere")

        assert not swap_branch(repo, head, head.commit, made.sha)
        git(tmp_path, "checkout", "-q", "--detach")
        assert not swap_branch(repo, head, head.commit, made.sha)
    assert git(tmp_path, "rev-parse", "main") == head.commit


def test_a_detached_head_moves_alone(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "checkout", "-q", "--detach")
    with Repository.open(tmp_path) as repo:
        before = repo.head().commit
        made, _ = land(repo, (a_change("a", "2"),))

        assert repo.head().detached
        assert repo.head().commit == made.sha
    assert git(tmp_path, "rev-parse", "main") == before
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_branch_whose_name_is_no_utf8_is_one_like_any_other(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    branch = os.fsdecode(b"caf\xe9")
    git(real, "checkout", "-q", "-b", branch)
    with Repository.open(real) as repo:
        scratch = Scratch.open(tmp_path / "slot", repo.lender())
        scratch.reset(repo.head().commit)
        assert (scratch.tree_folder / ".git/HEAD").read_bytes() == b"ref: refs/heads/caf\xe9\n"
        made, synced = land(repo, (a_change("a", "2\n"),))
        assert synced == Synced()
        assert repo.head().commit == made.sha
        assert repo.head().branch == branch
    assert git(real, "status", "--porcelain") == ""


def test_a_linked_worktree_lands_on_its_own_branch_and_index(tmp_path):
    real = a_repository(tmp_path / "real", {"a": "1"})
    git(real, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    with Repository.open(tmp_path / "linked") as repo:
        made, _ = land(repo, (a_change("a", "2"), a_change("n")))

    assert git(tmp_path / "linked", "status", "--porcelain") == ""
    assert git(real, "status", "--porcelain") == ""
    assert git(real, "rev-parse", "side") == made.sha != git(real, "rev-parse", "main")


def test_packed_refs_do_not_hinder_a_landing(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    git(tmp_path, "gc", "-q")
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("a", "2"),))
    assert git(tmp_path, "status", "--porcelain") == ""


def test_the_reflog_says_who_moved_the_branch(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("a"),), MESSAGE)
        swap_branch(repo, head, head.commit, made.sha, "runner: land TASK-001")
    assert git(tmp_path, "reflog", "-1", "--format=%gs", "main") == "runner: land TASK-001"


def test_without_a_name_commits_are_made_all_the_same(tmp_path):
    a_repository(tmp_path, name=None)
    git(tmp_path, "config", "user.useConfigOnly", "true")
    with Repository.open(tmp_path) as repo:
        land(repo, (a_change("a"),))
        assert repo.identity().invented


def test_a_persons_staged_work_stays_staged(tmp_path):
    a_repository(tmp_path, {"a": "1", "b": "1", "c": "1"})
    write(tmp_path, {"a": "staged by hand", "mine": "mine"})
    git(tmp_path, "add", "a", "mine")
    staged = git(tmp_path, "ls-files", "-s", "a", "mine")
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        changes = (a_change("a", "landed"), a_change("b", "landed"))
        made = commit_tree(repo, head.commit, changes, MESSAGE)
        assert swap_branch(repo, head, head.commit, made.sha)
        put_in_real_tree(tmp_path, changes[1:])

        assert sync_index(repo, ["a", "b"], head.commit, made.sha) == Synced(kept=("a",))
    assert git(tmp_path, "ls-files", "-s", "a", "mine") == staged
    assert git(tmp_path, "status", "--porcelain") == "M  a\nA  mine"


def test_an_intent_to_add_is_the_persons(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    write(tmp_path, {"new": "x"})
    git(tmp_path, "add", "-N", "new")
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("new", "landed"),), MESSAGE)
        assert sync_index(repo, ["new"], head.commit, made.sha).kept == ("new",)


def test_following_twice_is_following_once(tmp_path):
    a_repository(tmp_path, {"a": "1", "gone": "1"})
    with Repository.open(tmp_path) as repo:
        base = repo.head().commit
        made, _ = land(repo, (a_change("a", "2"), a_change("gone", None), a_change("n")))
        before = git(tmp_path, "ls-files", "-s")

        assert sync_index(repo, ["a", "gone", "n"], base, made.sha) == Synced()
    assert git(tmp_path, "ls-files", "-s") == before


def test_a_file_that_became_a_folder_lands(tmp_path):
    a_repository(tmp_path, {"a": "1", "d/x": "1", "d/y": "1"})
    changes = (
        a_change("d/x", None),
        a_change("d/y", None),
        a_change("a", None),
        a_change("a/b", "2"),
    )
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (*changes, a_change("d", "file")), MESSAGE)
        swap_branch(repo, head, head.commit, made.sha)
        put_in_real_tree(tmp_path, changes[:3])
        (tmp_path / "d").rmdir()
        put_in_real_tree(tmp_path, (*changes[3:], a_change("d", "file")))
        sync_index(repo, ["d", "d/x", "d/y", "a", "a/b"], head.commit, made.sha)
    assert git(tmp_path, "status", "--porcelain") == ""
    assert files_of(tmp_path) == {"a/b": b"2", "d": b"file"}


def test_a_held_index_is_waited_for_and_then_said(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    lock = tmp_path / ".git/index.lock"
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("a", "2"),), MESSAGE)
        lock.touch()
        threading.Timer(0.15, lock.unlink).start()
        assert sync_index(repo, ["a"], head.commit, made.sha) == Synced()

        lock.touch()
        assert sync_index(repo, ["a"], made.sha, head.commit).locked
        lock.unlink()
        assert sync_index(repo, ["a"], made.sha, head.commit) == Synced()


@pytest.mark.parametrize(
    "path",
    ["with space", "-dash", "--option=x", "ünï/☃", 'quo"te\\back', "tab\there", "new\nline",
     "*", ":(glob)x", "[a]", "bytes-\udcff"],
)  # fmt: skip
def test_any_name_lands_as_it_is(tmp_path, path):
    a_repository(tmp_path, {"a": "1", "x": "1", "other": "1"})
    with Repository.open(tmp_path) as repo:
        made, synced = land(repo, (a_change(path, "1"), a_change("dir/" + path, "2")))

        assert synced == Synced()
        assert repo.blob(made.sha, path) == b"1"
        assert {at.path for at in repo.diff_trees(made.parent, made.sha)} == {path, "dir/" + path}
        assert repo.state().dirty == ()


def test_bytes_land_exactly_whatever_the_configuration_converts(tmp_path):
    content = {
        "crlf.txt": b"one\r\ntwo\r\n",
        "mixed.txt": b"one\r\ntwo\n\r",
        "nul": bytes(range(256)) * 10,
        "ident.c": b"$Id$\n",
        "empty": b"",
        "utf16.txt": "hé\n".encode("utf-16"),
    }
    attributes = "* text=auto eol=lf ident\n*.txt working-tree-encoding=UTF-16\n"
    a_repository(tmp_path, {".gitattributes": attributes})
    git(tmp_path, "config", "core.autocrlf", "true")
    with Repository.open(tmp_path) as repo:
        changes = [a_change(path, said) for path, said in content.items()]
        made = commit_tree(repo, repo.head().commit, changes, MESSAGE)

        assert {path: repo.blob(made.sha, path) for path in content} == content


def test_two_landings_one_after_the_other_are_two_commits(tmp_path):
    a_repository(tmp_path, {"a": "1"})
    with Repository.open(tmp_path) as repo:
        first, _ = land(repo, (a_change("b"),))
        second, _ = land(repo, (a_change("c"),))
        assert second.parent == first.sha
        assert repo.blob(second.sha, "b") == b"new\n"


def a_signer(tmp_path, marker):
    program = tmp_path / f"sign-{marker}"
    program.write_text(
        f"#!/bin/sh\ntouch '{tmp_path}/{marker}'\ncat >/dev/null\n"
        "echo '[GNUPG:] SIG_CREATED ' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def test_commits_are_signed_by_the_persons_own_program(tmp_path, home):
    real = a_repository(tmp_path / "real", {"a": "1"})
    own, theirs = a_signer(tmp_path, "own"), a_signer(tmp_path, "theirs")
    (home / "gitconfig").write_text(f"[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = {own}\n")
    git(real, "config", "gpg.program", str(theirs))
    git(real, "config", "gpg.openpgp.program", str(theirs))
    with Repository.open(real) as repo:
        made, _ = land(repo, (a_change("a", "2"),))

    assert "gpgsig -----BEGIN PGP" in git(real, "cat-file", "commit", made.sha)
    assert git(real, "rev-parse", made.sha + "^{tree}") == made.tree
    assert git(real, "log", "-1", "--format=%B", made.sha).strip() == MESSAGE.strip()
    assert (tmp_path / "own").exists()
    assert not (tmp_path / "theirs").exists()


def test_a_signature_that_fails_is_said_and_nothing_lands(tmp_path, home):
    real = a_repository(tmp_path / "real", {"a": "1"})
    (home / "gitconfig").write_text("[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = false\n")
    with Repository.open(real) as repo:
        with pytest.raises(RunnerError) as refused:
            land(repo, (a_change("a", "2"),))
        assert repo.head().commit == git(real, "rev-parse", "HEAD")
    assert refused.value.code is ExitCode.PERSON
    assert "could not be signed" in refused.value.message


def test_a_repository_of_many_files_lands_as_fast_as_a_small_one(tmp_path):
    small = a_repository(tmp_path / "small", {"d0/f0": "1"})
    many = {f"d{n % 20}/f{n}": f"{n}\n" for n in range(2000)}
    large = a_repository(tmp_path / "large", many)
    took = {}
    for folder in (small, large):
        with Repository.open(folder) as repo:
            repo.identity()
            times = []
            for number in range(5):
                began = _processor_seconds()
                land(repo, (a_change("d0/f0", str(number)),))
                times.append(_processor_seconds() - began)
            took[folder.name] = sorted(times)[2]
    assert took["large"] < 4 * took["small"] + 0.05


def _processor_seconds():
    """Of this process and of the git processes that have ended: what others do counts little."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def test_a_branch_is_durable_before_it_has_moved(tmp_path):
    """Git counts its fsyncs in its trace."""
    a_repository(tmp_path, {"a": "1"})
    trace = tmp_path / "trace"
    with Repository.open(tmp_path) as repo:
        head = repo.head()
        made = commit_tree(repo, head.commit, (a_change("a", "2"),), MESSAGE)
        repo.git = repo.git.with_settings(GIT_TRACE2_EVENT=str(trace))
        swap_branch(repo, head, head.commit, made.sha)

    said = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [one for one in said if one.get("key") == "fsync/hardware-flush"]


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
