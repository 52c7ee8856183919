"""A disk that does not keep what it was told to keep is never followed by DONE."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from crash_house import SMALL, Story
from crash_ways import BROKEN

NUMBERS = (1, 2, 4, 7, 11, 16)
"""Which fsync of a process fails; every process counts its own, git's too."""
_HIT = re.compile(r"fsync\(\d+<([^>]*)>.*\(INJECTED\)")


def _traces():
    if shutil.which("strace") is None:
        return False
    tried = subprocess.run(["strace", "-qq", "-o", os.devnull, "true"], check=False)
    return tried.returncode == 0


strace = pytest.mark.skipif(not _traces(), reason="strace does not work here")


@pytest.fixture(scope="module")
def story(ground):
    return Story.told(ground / "fsync", SMALL)


def run_with_broken_disk(house, number, log):
    """The real command, every process of which is refused its `number`-th fsync."""
    before = ("strace", "-f", "-y", "-qq", "-o", str(log), "-e", "trace=fsync,fdatasync")
    inject = ("-e", f"inject=fsync,fdatasync:error=EIO:when={number}")
    process = house.start("--no-sandbox", "-j", "1", before=(*before, *inject))
    said, _ = process.communicate(timeout=120)
    return process.returncode, said, _HIT.findall(log.read_text(errors="replace"))


@pytest.mark.nightly(
    sibling="tests/journal/test_journal_log.py::test_after_an_error_of_fsync_nothing_is_called_done_any_more"
)
@strace
@pytest.mark.parametrize("number", NUMBERS)
def test_an_fsync_error_is_never_followed_by_success(story, number, tmp_path):
    house = story.begin()
    code, said, hit = run_with_broken_disk(house, number, tmp_path / "trace")
    assert "Traceback" not in said
    ours = [path for path in hit if path.startswith(str(house.repo))]
    assert not ours or code != 0, f"{ours}\n{said}"
    story.still_holds(house, f"fsync {number} of {hit}")
    story.goes_on(house, f"fsync {number} of {hit}")


def test_after_an_fsync_error_of_the_journal_nothing_more_is_written_to_it(story):
    journal = str(story.place / "repo/artifacts/build/journal.jsonl")
    syncs = [n for n, (kind, path) in enumerate(story.ended.effects, 1) if kind == "fsync"]
    sure = [n for n in syncs if story.ended.effects[n - 1][1].endswith("journal.jsonl")]
    hit = 0
    for at in range(0, len(sure), 3):
        sizes, synced = [], []

        def fail(number, kind, target, at=at, sizes=sizes, synced=synced):
            if target != journal:
                return
            synced += [number] if kind == "fsync" else []
            if len(synced) > at:
                sizes.append(Path(journal).stat().st_size)
                (story.place / "sizes").write_text(" ".join(map(str, sizes)))
                if synced[at:] == [number]:
                    raise OSError(BROKEN, os.strerror(BROKEN), target)

        house = story.begin()
        (story.place / "sizes").unlink(missing_ok=True)
        ended = house.run(watch=fail)
        if not (story.place / "sizes").exists():  # what lands together is made durable together
            assert ended.code == 0
            continue
        hit += 1
        assert ended.code == 6
        assert "the disk reported an I/O error" in ended.said
        at_error = int((story.place / "sizes").read_text().split()[0])
        assert house.journal.stat().st_size == at_error
        story.goes_on(house, story.told_at(sure[at]))
    assert hit
