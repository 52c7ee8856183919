"""A `python3` for the commands of tests: our own packages, without what slows each start.

A Python of many packages runs their `.pth` files and loads the plug-ins of pytest each time that it
starts, which takes two to six times as long as a test's command needs itself; and tests start
thousands. This one is an environment beside (PEP 405) whose packages are links, and the same on
every machine.
"""

import os
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

_OURS = ("__editable__", "__pycache__")
"""What makes the product itself importable: a task's command has none."""
_NAMES = ("python", "python3", f"python3.{sys.version_info.minor}")


def plain_python():
    """The folder with its programs, made when it is asked for first; `None` where none can be."""
    base = Path(sys.base_prefix, "bin", "python3")
    if sys.prefix == sys.base_prefix or not base.exists():
        return None
    ours = Path(sysconfig.get_path("purelib"))
    # Below our own environment, which every sandbox shows; made anew when packages or this change.
    stamp = max(ours.stat().st_mtime_ns, Path(__file__).stat().st_mtime_ns)
    made = Path(sys.prefix, f"plain-{stamp:x}")
    if not made.exists() and os.access(sys.prefix, os.W_OK):
        begun = Path(tempfile.mkdtemp(prefix="plain-", dir=sys.prefix))
        _make(begun, base, ours)
        _write_pytest(begun / "bin" / "pytest", made / "bin" / "python3")
        try:
            os.replace(begun, made)
        except OSError:  # a worker beside made it meanwhile
            shutil.rmtree(begun)
    return made / "bin" if made.exists() else None


def _make(folder, base, ours):
    packages = folder / ours.relative_to(sys.prefix)
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    said = f"home = {base.parent}\ninclude-system-site-packages = false\n"
    (folder / "pyvenv.cfg").write_text(said, "utf-8")
    for name in _NAMES:
        (folder / "bin" / name).symlink_to(base)
    for one in ours.iterdir():
        if one.suffix != ".pth" and not one.name.startswith(_OURS) and not _is_plug_in(one):
            (packages / one.name).symlink_to(one)


def _write_pytest(script, python):
    said = f"#!{python}\nimport sys\n\nimport pytest\n\nsys.exit(pytest.main())\n"
    script.write_text(said, "utf-8")
    script.chmod(0o755)


def _is_plug_in(info):
    """Whether these are the words of a package by which pytest would find it."""
    words = info / "entry_points.txt"
    return info.suffix == ".dist-info" and words.exists() and "[pytest11]" in words.read_text()
