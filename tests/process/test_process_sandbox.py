"""Which sandbox is chosen, and what bubblewrap promises, tried from inside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from process_bench import Bench, a_place, bubblewrap

from runner.errors import RunnerError
from runner.model import Network
from runner.process import sandbox
from runner.process.base import Ended, command_environment
from runner.process.mounts import alternates
from runner.process.sandbox import NoSandbox, choose_sandbox, explain_opening, landlock_gaps


def environment(**more) -> dict[str, str]:
    return command_environment({**os.environ, **more})


# --- the scratch tree ------------------------------------------------------------------


def test_the_repositorys_path_shows_the_scratch_tree(walled):
    (walled.place.tree / "file").write_text("scratch")
    (walled.place.shown / "file").write_text("real")
    assert walled.says("pwd") == f"{walled.place.shown}\n"
    assert walled.says(f"cat {walled.place.shown}/file") == "scratch"


def test_what_is_written_lands_in_the_scratch_tree_alone(walled):
    (walled.place.shown / "file").write_text("real")
    walled.says(f"echo x > file; echo y > {walled.place.shown}/new")
    assert (walled.place.shown / "file").read_text() == "real"
    assert not (walled.place.shown / "new").exists()
    assert (walled.place.tree / "file").read_text() == "x\n"
    assert (walled.place.tree / "new").read_text() == "y\n"


def test_a_tree_that_is_only_read_cannot_be_written(walled):
    (walled.place.tree / "file").write_text("scratch")
    assert not walled.run("echo x > file", reads_only=True).passed
    assert not walled.run("mkdir folder || rm file || mv file other", reads_only=True).passed
    assert walled.says("cat file", reads_only=True) == "scratch"
    assert [one.name for one in walled.place.tree.iterdir()] == ["file"]


def test_an_editable_install_imports_the_scratch_code(walled, tmp_path):
    for folder, said in ((walled.place.tree, "scratch"), (walled.place.shown, "real")):
        (folder / "src").mkdir()
        (folder / "src" / "booking.py").write_text(f"print({said!r})\n")
    code = f"import sys; sys.path.insert(0, {str(walled.place.shown / 'src')!r}); import booking"
    assert walled.says((sys.executable, "-c", code)) == "scratch\n"


def test_shared_folders_are_seen_and_cannot_be_written(walled):
    real = walled.place.shown / ".venv" / "bin"
    real.mkdir(parents=True)
    (real / "tool").write_text("#!/bin/sh\necho shared\n")
    (real / "tool").chmod(0o755)
    context = walled.at(replace(walled.place, shares=(".venv", "node_modules")))
    assert context.says(".venv/bin/tool") == "shared\n"
    assert context.says((f"{walled.place.shown}/.venv/bin/tool",)) == "shared\n"
    assert context.run("echo x > .venv/bin/tool").exit != 0
    assert context.run("rm -rf .venv/bin").exit != 0
    assert (real / "tool").exists()


@pytest.mark.parametrize(
    ("package", "written"),
    [
        ("vite", (".vite", ".vite-temp")),
        ("nyc", (".cache",)),
        ("ava", (".cache",)),
        ("find-cache-dir", (".cache",)),
    ],
)
def test_what_packages_keep_beside_themselves_is_the_commands_own(walled, package, written):
    packages = walled.place.shown / "node_modules"
    (packages / package).mkdir(parents=True)
    context = walled.at(replace(walled.place, shares=("node_modules",)))
    for name in written:
        assert context.run(f"mkdir -p node_modules/{name}/a && touch node_modules/{name}/b").passed
    assert context.run(f"touch node_modules/{package}/x").exit != 0
    assert {one.name for one in packages.iterdir()} == {package, *written}
    assert [list(one.iterdir()) for one in packages.iterdir()] == [[] for _ in (package, *written)]


def test_vite_writes_in_the_packages_of_each_folder(walled):
    shown = walled.place.shown
    (shown / "node_modules/.pnpm/node_modules/vite").mkdir(parents=True)
    (shown / "packages/app/node_modules").mkdir(parents=True)
    (walled.place.tree / "packages/app").mkdir(parents=True)
    context = walled.at(replace(walled.place, shares=("node_modules", "packages/app/node_modules")))
    assert context.run("mkdir packages/app/node_modules/.vite/vitest").passed
    assert context.run("mkdir packages/app/node_modules/other").exit != 0


def test_nothing_is_mounted_in_a_folder_that_the_tree_does_not_have(walled):
    (walled.place.shown / "packages/app/node_modules").mkdir(parents=True)
    context = walled.at(replace(walled.place, shares=("packages/app/node_modules",)))
    assert context.says("ls") == ""


def test_a_share_replaced_by_a_link_does_not_start_or_stays_inside(walled, tmp_path):
    (walled.place.shown / "node_modules").mkdir()
    target = tmp_path / "elsewhere"
    target.mkdir()
    (walled.place.tree / "node_modules").symlink_to(target)
    ran = walled.at(replace(walled.place, shares=("node_modules",))).run("touch node_modules/x")
    assert not ran.passed
    assert list(target.iterdir()) == []
    assert list((walled.place.shown / "node_modules").iterdir()) == []


def test_the_box_is_the_same_path_inside_and_outside(context):
    context.says(f"echo decided > '{context.place.box}/decision'")
    assert (context.place.box / "decision").read_text() == "decided\n"


def test_sees_says_where_a_path_of_ours_is_found_inside(walled):
    (walled.place.tree / "a").write_text("found")
    inside = walled.sandbox.sees(walled.place, walled.place.tree / "a")
    assert inside == walled.place.shown / "a"
    assert walled.says(("cat", str(inside))) == "found"
    box = walled.place.box / "brief"
    assert walled.sandbox.sees(walled.place, box) == box
    assert NoSandbox().sees(walled.place, walled.place.tree) == walled.place.tree


@pytest.mark.parametrize("name", ["with space", "ünï☃", "-dash", 'quo"te', "new\nline", "$HOME;x"])
def test_paths_of_any_name(walled, tmp_path, name):
    folder = tmp_path / name
    context = walled.at(a_place(folder, shares=("sha red",)))
    (context.place.shown / "sha red").mkdir()
    (context.place.tree / "file").write_text("here")
    assert context.says("cat ./file; echo x > out; ls -d 'sha red'") == "heresha red\n"
    assert (context.place.tree / "out").exists()


def test_a_repository_reached_through_a_link(walled, tmp_path):
    (tmp_path / "link").symlink_to(walled.place.shown)
    (walled.place.tree / "file").write_text("scratch")
    context = walled.at(replace(walled.place, shown=tmp_path / "link"))
    assert context.says("cat file") == "scratch"


def test_a_repository_under_home_and_tools_under_home(walled, tmp_path):
    home = tmp_path / "home"
    tools = home / "tools" / "bin"
    tools.mkdir(parents=True)
    (tools / "mytool").write_text("#!/bin/sh\necho mine\n")
    (tools / "mytool").chmod(0o755)
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("private")
    context = walled.at(a_place(home / "work" / "repository"))
    (context.place.shown / "secret").write_text("real")
    env = environment(HOME=str(home), PATH=f"{tools}:/usr/bin:/bin")
    assert context.says("mytool; ls", environment=env) == "mine\n"
    assert context.says('ls -A "$HOME"', environment=env) == "tools\nwork\n"


def test_the_python_that_an_environment_was_made_from_is_seen(walled, tmp_path):
    home = tmp_path / "home"
    base = home / "pythons" / "3.9"
    context = walled.at(a_place(home / "work" / "repository", shares=(".venv",)))
    own = context.place.shown / ".venv"
    for folder in (base / "bin", base / "lib" / "python3.9", own / "bin"):
        folder.mkdir(parents=True)
    (base / "lib" / "python3.9" / "os.py").write_text("library")
    program = base / "bin" / "python3.9"
    program.write_text(f"#!/bin/sh\ncat {base}/lib/python3.9/os.py\n")
    program.chmod(0o755)
    (own / "pyvenv.cfg").write_text(f"home = {base}/bin\n")
    (own / "bin" / "python").symlink_to(program)
    env = environment(HOME=str(home), PATH=f"{own}/bin:/usr/bin:/bin")
    assert context.says("python", environment=env) == "library"
    assert context.says('ls -A "$HOME"', environment=env) == "pythons\nwork\n"


def test_go_reads_a_build_cache_that_a_person_shows_and_changes_nothing_in_it(walled, tmp_path):
    home = tmp_path / "home"
    cache = home / ".cache" / "go-build"
    (cache / "ff").mkdir(parents=True)
    (cache / "trim.txt").write_text("long ago")
    env = environment(HOME=str(home), PATH="/usr/bin:/bin")
    assert walled.says('ls -A "$HOME"; echo $GODEBUG', environment=env) == "\n"
    shown = Bench(walled.place, replace(bubblewrap(), read=(cache,)))
    line = f"cd {cache}; touch ff/a 2>&- || echo now > trim.txt; echo $GODEBUG; ls . ff"
    assert shown.says(line, environment=env) == "goindex=0\n.:\nff\ntrim.txt\n\nff:\n"
    assert (cache / "trim.txt").read_text() == "long ago"


def test_git_works_in_a_scratch_repository_that_borrows_objects(walled):
    def git(folder: Path, *words: str) -> str:
        told = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(told, check=True, capture_output=True, text=True).stdout

    real, scratch = walled.place.shown, walled.place.tree
    git(real, "init", "-q")
    (real / "file").write_text("one\n")
    git(real, "add", ".")
    git(real, "commit", "-qm", "first")
    git(scratch, "init", "-q")
    (scratch / ".git/objects/info/alternates").write_text(f"{real}/.git/objects\n")
    git(scratch, "reset", "-q", "--hard", git(real, "rev-parse", "HEAD").strip())
    context = walled.at(replace(walled.place, objects=real / ".git/objects"))
    (scratch / "file").write_text("two\n")
    assert context.says("git status --porcelain; git log --oneline | wc -l") == " M file\n1\n"
    context.says("git -c user.name=a -c user.email=a@b commit -qam second")
    assert git(real, "log", "--format=%s").split() == ["first"]


def test_objects_that_are_borrowed_in_turn_are_there_as_git_follows_them(walled, tmp_path):
    folders = [tmp_path / name / "objects" for name in "abcdefgh"]
    for folder in folders:
        (folder / "info").mkdir(parents=True)
    for folder, lent in pairwise([*folders, folders[0]]):
        (folder / "info" / "alternates").write_text(f"{lent}\n")
    assert alternates(folders[0]) == folders[1:6]
    (folders[1] / "info" / "alternates").write_text(f"{folders[0]}\n{folders[2]}\n")
    assert alternates(folders[0]) == folders[1:6]
    (folders[5] / "some").write_text("borrowed")
    context = walled.at(replace(walled.place, objects=folders[0]))
    assert context.says(f"cat {folders[5]}/some") == "borrowed"


@pytest.mark.parametrize("how", ["borrowed", "a link"])
def test_what_a_clone_calls_its_objects_shows_nothing_else(walled, tmp_path, how):
    private, objects = tmp_path / "private", tmp_path / "clone" / ".git" / "objects"
    private.mkdir()
    (private / "key").write_text("a person's own")
    objects.parent.mkdir(parents=True)
    if how == "a link":
        objects.symlink_to(private)
    else:
        (objects / "info").mkdir(parents=True)
        (objects / "info" / "alternates").write_text(f"{private}\n")
    context = walled.at(replace(walled.place, objects=objects))
    assert context.says(f"cat {private}/key /tmp/.objects/key 2>/dev/null; echo end") == "end\n"


# --- what is out of reach --------------------------------------------------------------


def test_home_is_empty_and_may_be_written(walled, tmp_path):
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("private")
    env = environment(HOME=str(home), PATH="/usr/bin:/bin")
    assert walled.says('ls -A "$HOME"; echo x > "$HOME/cache"', environment=env) == ""
    ran = walled.run(f"cat {home}/.ssh/id", environment=env)
    assert "No such file" in ran.tail
    assert [each.name for each in home.iterdir()] == [".ssh"]


def test_the_persons_own_credentials_are_not_there(walled):
    home = Path(os.environ["HOME"])
    names = [".ssh", ".aws", ".netrc", ".git-credentials", ".cargo/credentials.toml", ".npmrc"]
    line = "; ".join(f"test -e '{home}/{name}' && echo '{name}'" for name in names)
    assert walled.run(line).tail == ""


def test_further_paths_are_shown_only_when_the_person_says_so(tmp_path, walled):
    extra = tmp_path / "models"
    extra.mkdir()
    (extra / "weights").write_text("here")
    assert walled.run(f"cat {extra}/weights").exit != 0
    told = Bench(walled.place, choose_sandbox("bubblewrap", (extra,)))
    assert told.says(f"cat {extra}/weights") == "here"
    assert told.run(f"echo x > {extra}/weights").exit != 0


def test_the_parents_environment_is_nowhere_in_proc(walled, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "hunter2" + "hunter2")
    said = walled.says("cat /proc/[0-9]*/environ | tr '\\0' '\\n'")
    assert "RUNNER_COMMAND=" in said
    assert "SECRET_OF_THE_PARENT" not in said


def test_its_own_variables_are_in_nobodys_command_line(walled):
    env = {"PATH": "/usr/bin:/bin", "TOKEN": "for-my" + "-eyes-only"}
    found = threading.Event()

    def look(_line: str) -> None:
        lines = [
            path for path in Path("/proc").glob("[0-9]*/cmdline") if _holds(path, env["TOKEN"])
        ]
        if lines:
            found.set()

    ran = walled.run('echo "${TOKEN%-only}"; sleep 0.4', environment=env, tell=look)
    assert ran.passed
    assert not found.is_set()


def _holds(path: Path, text: str) -> bool:
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False


def test_other_processes_are_not_seen(walled):
    numbers = [int(number) for number in walled.says("ls /proc | grep '^[0-9]'").split()]
    assert max(numbers) < 20
    assert walled.run(f"kill -0 {os.getpid()}").exit != 0


@pytest.mark.parametrize(
    "target",
    ["/etc/x", "/usr/bin/x", "/var/lib/x", "/sys/x", "/dev/x", "/proc/sys/kernel/core_pattern"],
)
def test_writing_outside_fails(walled, target):
    before = Path(target).read_bytes() if Path(target).exists() else None
    ran = walled.run(f"true >> {target} && cat {target} > {target}")
    assert ran.exit != 0
    assert any(word in ran.tail for word in ("Read-only", "denied", "cannot create"))
    assert (Path(target).read_bytes() if Path(target).exists() else None) == before


def test_no_control_of_the_kernel_can_be_opened_for_writing(walled):
    code = (
        "import os\n"
        "for top in ('/proc/sys', '/proc/irq', '/proc/fs', '/sys'):\n"
        "    for folder, _, files in os.walk(top):\n"
        "        for name in files:\n"
        "            try: os.close(os.open(f'{folder}/{name}', os.O_WRONLY | os.O_NONBLOCK))\n"
        "            except OSError: continue\n"
        "            print(folder, name)\n"
    )
    assert walled.says((sys.executable, "-c", code)) == ""


def test_a_link_in_the_tree_leads_nowhere_outside(walled, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (walled.place.tree / "link").symlink_to(outside)
    walled.run("echo x > link")
    assert outside.read_text() == "mine"
    (walled.place.tree / "passwords").symlink_to("/etc/shadow")
    assert walled.run("cat passwords").exit != 0


def test_the_real_repositorys_hooks_cannot_be_written(walled):
    hooks = walled.place.shown / ".git" / "hooks"
    hooks.mkdir(parents=True)
    walled.run(f"mkdir -p {hooks}; echo evil > {hooks}/post-commit")
    assert list(hooks.iterdir()) == []


def test_tcp_udp_and_abstract_sockets_of_the_machine_are_out_of_reach(walled):
    code = (
        "import socket, sys\n"
        "tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)\n"
        "try: tcp.connect(('127.0.0.1', int(sys.argv[1]))); print('tcp')\n"
        "except OSError: pass\n"
        "try: udp.sendto(b'x', ('127.0.0.1', int(sys.argv[2])))\n"
        "except OSError: pass\n"
        "name = sys.argv[3].replace('@', chr(0))\n"
        "try: socket.socket(socket.AF_UNIX).connect(name); print('unix')\n"
        "except OSError: pass\n"
    )
    name = f"runner-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.2)
        abstract.bind("\0" + name)
        abstract.listen()
        ports = str(tcp.getsockname()[1]), str(udp.getsockname()[1])
        argv = (sys.executable, "-c", code, *ports, "@" + name)
        assert walled.says(argv) == ""
        with pytest.raises(TimeoutError):
            udp.recv(1)
        # With the network asked for, the same words arrive: the test can fail.
        assert walled.says(argv, network=Network.YES) == "tcp\nunix\n"
        assert udp.recv(1) == b"x"


def test_a_loopback_of_its_own_works(walled):
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('ok')"
    )
    assert walled.says((sys.executable, "-c", code), network=Network.LOOPBACK) == "ok\n"


def test_no_capabilities_no_new_privileges_and_no_further_namespaces(walled):
    said = walled.says("grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status")
    assert said.split() == ["CapPrm:", "0" * 16, "CapEff:", "0" * 16, "NoNewPrivs:", "1"]
    if "--disable-userns" in walled.sandbox.features:
        assert walled.run("unshare -U true").exit != 0


def test_temporary_files_are_its_own(walled):
    assert walled.says('echo "$TMPDIR"; echo x > /tmp/of-the-sandbox; mktemp').startswith("/tmp\n")
    assert not Path("/tmp/of-the-sandbox").exists()


def test_a_place_the_sandbox_cannot_build_is_a_command_that_could_not_start(walled, tmp_path):
    ran = walled.at(replace(walled.place, tree=tmp_path / "gone")).run("true")
    assert (ran.ended, ran.exit) == (Ended.COULD_NOT_START, 126)
    assert ran.tail.startswith("the sandbox could not be created: bwrap: ")


def test_an_unknown_word_is_refused_with_the_known_ones():
    with pytest.raises(RunnerError) as caught:
        choose_sandbox("docker")
    assert caught.value.hint == "one of auto, bubblewrap, landlock, seatbelt, none"


def test_none_is_none():
    chosen = choose_sandbox("none")
    assert (chosen.name, chosen.contains) == ("none", False)


@pytest.fixture
def fresh_choice():
    """Choices made anew, before and after."""
    from runner.process import sandbox

    sandbox._probe.cache_clear()
    yield
    sandbox._probe.cache_clear()


@pytest.fixture
def old_kernel(monkeypatch):
    """A kernel whose Landlock is too old."""
    from runner.process import syscalls

    monkeypatch.setattr(syscalls, "landlock_version", lambda: 2)


def test_landlock_is_chosen_by_name_alone(monkeypatch, tmp_path, fresh_choice):
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox._probe.cache_clear()
    auto = choose_sandbox("auto")
    assert auto.name == "none"
    try:
        chosen = choose_sandbox("landlock")
    except RunnerError:
        pytest.skip("this kernel has no Landlock")
    assert auto.reason == 'bubblewrap is not installed; sandbox.kind = "landlock" works here'
    assert (chosen.name, chosen.contains, chosen.encloses) == ("landlock", False, True)
    with pytest.raises(RunnerError, match="does not work here") as caught:
        choose_sandbox("bubblewrap")
    assert "apt-get install bubblewrap" in caught.value.hint


def test_without_either_auto_is_none_and_says_why(monkeypatch, tmp_path, fresh_choice, old_kernel):
    monkeypatch.setenv("PATH", str(tmp_path))
    chosen = choose_sandbox("auto")
    assert (chosen.name, chosen.contains, chosen.encloses) == ("none", False, False)
    assert chosen.reason == "bubblewrap is not installed"
    with pytest.raises(RunnerError, match="landlock does not work here"):
        choose_sandbox("landlock")


@pytest.fixture
def closed_bwrap(monkeypatch, tmp_path):
    """A bubblewrap that is installed and may not make namespaces."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def test_a_bubblewrap_that_may_not_make_namespaces_is_noticed(fresh_choice, closed_bwrap):
    assert "bwrap: No permissions to create new namespace" in choose_sandbox("auto").reason
    with pytest.raises(RunnerError, match="No permissions") as caught:
        choose_sandbox("bubblewrap")
    assert "apt-get" not in caught.value.hint
    assert caught.value.hint.endswith(', or set sandbox.kind = "none" in your own settings')


@pytest.mark.parametrize(
    ("name", "value", "opening"),
    [
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "/etc/apparmor.d/bwrap"),
        ("kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sysctl user.max_user_namespaces="),
        ("user/max_user_namespaces", "1", "allow user namespaces in the settings"),
    ],
)
def test_what_closes_the_door_of_bubblewrap_is_said_with_what_opens_it(
    tmp_path, closed_bwrap, name, value, opening
):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_text(f"{value}\n")
    assert opening in explain_opening(tmp_path)


def test_without_bubblewrap_it_is_to_be_installed(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert explain_opening() == "apt-get install bubblewrap"


def test_what_landlock_does_not_hold_is_said_beforehand(fresh_choice):
    gaps = landlock_gaps()
    if not gaps:
        pytest.skip("this kernel has no Landlock")
    assert any("no private loopback" in gap for gap in gaps)


def test_an_old_kernel_s_landlock_is_not_offered(fresh_choice, old_kernel):
    assert landlock_gaps() == ()
