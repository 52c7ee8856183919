"""Messages of commits name no place of a machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SINCE = "67a1db91aa12"
PLACE = re.compile(r"(?<![\w.~$}/-])/(?:home|root|tmp|work|Users|check)/\S*")


def git(*words):
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.skipif(not git("cat-file", "-t", SINCE), reason="needs a clone with its history")
def test_no_message_names_a_place_of_a_machine():
    assert PLACE.findall("Merge branch 'main' of /work/hub") == ["/work/hub"]
    assert PLACE.findall(git("log", "--format=%B", f"{SINCE}..HEAD")) == []
