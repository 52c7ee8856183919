"""A campaign: the wheel in a root with python3-venv, git, ca-certificates and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = "python3-venv,git,ca-certificates"
ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("CAMPAIGN_SECONDS"), reason="set CAMPAIGN_SECONDS to run a campaign"
    ),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("debootstrap") is None,
        reason="a fresh root is made by root, with debootstrap",
    ),
]


def run(*words, **environ):
    done = subprocess.run(
        [str(word) for word in words],
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environ},
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def root(tmp_path):
    """Debian as it comes, with a wheelhouse in /house."""
    suite = os.environ.get("DEBIAN_SUITE", "bookworm")
    fresh = tmp_path / "root"
    run("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, fresh)
    version = run(
        "chroot", fresh, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"
    )
    house = fresh / "house"
    pip = (sys.executable, "-m", "pip")
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    run(*pip, "wheel", "-q", "--no-deps", "-w", house, ".", **settings)
    (wheel,) = house.glob("task_graph_runner-*.whl")
    only = ("--only-binary=:all:", f"--python-version={version.strip()}")
    run(*pip, "download", "-q", "-d", house, "-c", "requirements.lock", *only, wheel, **settings)
    return fresh


def test_campaign_a_fresh_root_installs_the_wheel_and_runs_the_demo(root):
    inside = ("unshare", "--net", "--mount", "chroot", root, "/bin/sh", "-ec")
    proc = "mount -t proc proc /proc; "
    install = "/venv/bin/pip install -q --no-index --find-links /house task-graph-runner"
    run(*inside, f"{proc}python3 -m venv /venv; {install}")
    said = run(*inside, f"{proc}cd /root; /venv/bin/runner demo", HOME="/root", NO_COLOR="1")
    assert "the run stopped at a regression" in said
    assert said.count(" DONE as ") == 3, said
    first = """
      git config --global user.name Ada; git config --global user.email ada@example.org
      mkdir /root/hello; cd /root/hello; git init -q; /venv/bin/runner init > /dev/null
      git add -A; git commit -qm plan; /venv/bin/runner; /venv/bin/runner status
    """
    assert "3 DONE" in run(*inside, proc + first, HOME="/root", NO_COLOR="1")
