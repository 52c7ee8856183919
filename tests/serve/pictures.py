"""The pictures of docs/guides/page.md: a real build of examples/bookings, looked at with Chromium.

make pictures
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from types import SimpleNamespace

from browser import CHROMIUM, Browser
from site_process import Site

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 300_000


def main() -> int:
    """Build a part of the plan, hold a part for review, and look."""
    if CHROMIUM is None:
        sys.stderr.write("error: chromium is not installed\n")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        shop = _begin(Path(folder))
        _run(shop, "--trust", "TASK-001", "TASK-002", "TASK-004")
        _run(shop, "--review", "prompt", "TASK-003", "TASK-005", may_wait=True)
        site, browser = Site(shop), Browser()
        try:
            _take(site, browser.tab())
        finally:
            browser.close()
            site.close()
        _take_team(Path(folder), shop)
    return 0


def _begin(folder: Path) -> Path:
    for name in ("home", "cache"):
        (folder / name).mkdir()
    os.environ |= {"HOME": str(folder / "home"), "XDG_CACHE_HOME": str(folder / "cache")}
    shop = folder / "bookings"
    shutil.copytree(ROOT / "examples" / "bookings", shop)
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "Ada"),
        ("config", "user.email", "ada@example.com"),
        ("add", "-A"),
        ("commit", "-qm", "plan"),
    ):
        subprocess.run(["git", *words], cwd=shop, check=True)
    return shop


def _run(shop: Path, *words: str, may_wait: bool = False) -> None:
    argv = [sys.executable, "-P", "-m", "runner", "run", *words]
    done = subprocess.run(argv, cwd=shop, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != (3 if may_wait else 0):
        raise SystemExit(done.returncode)


def _take(site: Site, tab: object) -> None:
    tab.enter(site.link)
    base = tab.script("location.origin + location.pathname")
    _look(tab, "build", base)
    _look(tab, "review", f"{base}/review/TASK-003")
    _look(tab, "build-dark-narrow", base, width=360, dark=True)


def _take_team(folder: Path, shop: Path) -> None:
    """A build of a team that waits for a person, as a reviewer sees it."""
    from team_people import Team

    from runner.extensions.team.build_queue import BuildOrder, queue_build

    plan = shop / "TASK-GRAPH.md"
    head, mark, rest = plan.read_text().partition("## TASK-003")
    rest = rest.replace("- Output files", "- Review: prompt\n- Output files", 1)
    plan.write_text(head + mark + rest)
    _git(shop, "commit", "-qam", "a person reviews the rule")
    team, browser = Team(folder), Browser()
    try:
        repository = team.repository(SimpleNamespace(git=partial(_git, shop)))
        build = queue_build(team.store, BuildOrder(repository, "operator", tasks=("TASK-003",)))
        server, tab = team.serve(), browser.tab()
        tab.go(f"{server.origin}/open")
        tab.type("#token", team.tokens["reviewer"])
        tab.press("#sign-in button")
        tab.until("location.pathname === '/' && document.readyState === 'complete'")
        team.work()
        _look(tab, "team-build", f"{server.origin}/q/{build.short}")
    finally:
        browser.close()
        team.close()


def _git(shop: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=shop, check=True)


def _look(tab: object, name: str, address: str, *, width: int = 1280, dark: bool = False) -> None:
    tab.go(address)
    PICTURES.mkdir(exist_ok=True)
    file = PICTURES / f"{name}.png"
    tab.look(file, width=width, height=900, dark=dark)
    size = file.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{file} has {size} bytes")
    sys.stdout.write(f"{file.relative_to(ROOT)}: {size} bytes\n")


if __name__ == "__main__":
    sys.exit(main())
