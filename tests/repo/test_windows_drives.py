"""A build on a Windows drive is refused with words; any other 9p is not."""

import pytest

from runner.errors import ExitCode, RunnerError
from runner.repo.repo_state import find_windows_drive, require_no_windows_drive

WSL = r"""/dev/sdc / ext4 rw,relatime,discard 0 0
none /mnt/wsl tmpfs rw,relatime 0 0
C:\134 /mnt/c 9p rw,noatime,dirsync,aname=drvfs;path=C:\;uid=1000;gid=1000;symlinkroot=/mnt/ 0 0
D:\134 /mnt/my\040drive drvfs rw,noatime 0 0
/dev/sdd /mnt/c/inner ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "drive"),
    [
        ("/mnt/c/src/shop", "/mnt/c"),
        ("/mnt/c", "/mnt/c"),
        ("/mnt/my drive/shop", "/mnt/my drive"),
        ("/mnt/c/inner/shop", ""),
        ("/mnt/cellar/shop", ""),
        ("/home/ada/shop", ""),
    ],
)
def test_the_innermost_mount_says_what_a_folder_is_on(path, drive):
    assert find_windows_drive(path, WSL) == drive


def test_another_9p_is_as_good_as_any_disk():
    assert find_windows_drive("/work/shop", "none / 9p rw,trans=fd,cache=remote 0 0\n") == ""


def test_a_later_mount_on_the_same_place_counts():
    mounts = WSL + "tmpfs /mnt/c tmpfs rw 0 0\n"
    assert find_windows_drive("/mnt/c/src", mounts) == ""


def test_it_is_refused_with_what_to_do(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text(WSL + f"E:\\134 {tmp_path} 9p rw,aname=drvfs;path=E:\\ 0 0\n")
    with pytest.raises(RunnerError, match="Windows drive") as caught:
        require_no_windows_drive(tmp_path, mounts)
    assert caught.value.code is ExitCode.PERSON
    assert "~/src" in caught.value.hint


def test_where_nothing_tells_of_mounts_nothing_is_refused(tmp_path):
    require_no_windows_drive(tmp_path, tmp_path / "none")
