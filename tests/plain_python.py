"""A `python3` for the commands of tests: the machine's own packages, without what slows each start.

The machine's Python runs the `.pth` files of its packages and loads the plug-ins of its pytest each
time that it starts, which takes two to four times as long as a test's command needs itself; and
tests start thousands. This one is an environment beside (PEP 405) whose packages are links.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_NAMES = ("python", "python3", f"python3.{sys.version_info.minor}")


def plain_python():
    """The folder with its programs, made when it is asked for first; `None` where none can be."""
    base = Path(sys.base_prefix, "bin", "python3")
    lib = f"lib/python3.{sys.version_info.minor}/site-packages"
    if sys.prefix == sys.base_prefix or not base.exists():
        return None
    places = _packages_of(base)
    # Below our own environment, which every sandbox shows; made anew when packages change.
    stamp = max((place.stat().st_mtime_ns for place in places), default=0)
    made = Path(sys.prefix, f"plain-{stamp:x}")
    if not made.exists() and os.access(sys.prefix, os.W_OK):
        begun = Path(tempfile.mkdtemp(prefix="plain-", dir=sys.prefix))
        _make(begun, base, begun / lib, places)
        try:
            os.replace(begun, made)
        except OSError:  # a worker beside made it meanwhile
            shutil.rmtree(begun)
    return made / "bin" if made.exists() else None


def _packages_of(base):
    asked = [base, "-c", "import site; print(*site.getsitepackages(), sep='\\n')"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return [place for place in map(Path, said.splitlines()) if place.is_dir()]


def _make(folder, base, packages, places):
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    said = f"home = {base.parent}\ninclude-system-site-packages = false\n"
    (folder / "pyvenv.cfg").write_text(said, "utf-8")
    for name in _NAMES:
        (folder / "bin" / name).symlink_to(base)
    for place in places:
        for one in place.iterdir():
            if one.suffix != ".pth" and not _is_plug_in(one) and not (packages / one.name).exists():
                (packages / one.name).symlink_to(one)


def _is_plug_in(info):
    """Whether these are the words of a package by which pytest would find it."""
    words = info / "entry_points.txt"
    return info.suffix == ".dist-info" and words.exists() and "[pytest11]" in words.read_text()
