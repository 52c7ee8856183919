"""`python -m runner`: takes the working folder out of the import path before anything else.

With `-m` Python puts the working folder first, so a repository that holds `json.py` or `rich.py`
would run it inside the runner. The console script does not do that; this file must undo it before
any other import. A `runner.py` there is taken before this file is reached: `python -P -m runner`
keeps the folder out from the start.
"""

import sys

# Before 3.11.5 `re` matches possessive quantifiers wrongly (CPython issue 106052): the secret scan
# misses keys.
if sys.version_info < (3, 11, 5):
    _FOUND = sys.version.split()[0]
    sys.stderr.write(f"runner: needs Python 3.11.5 or newer; this is {_FOUND}\n")
    sys.exit(2)

if sys.flags.safe_path is False and sys.path and __name__ == "__main__":
    del sys.path[0]


def _begin_in_utf8() -> None:
    """Begin anew where the locale gives names of files another encoding than git does."""
    import os

    # An option, which counts before PYTHONUTF8=0 (Python's documentation, "UTF-8 Mode").
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def main() -> int:
    """The console script."""
    import gc

    if sys.getfilesystemencoding() != "utf-8":
        _begin_in_utf8()

    # Cyclic collections walk everything that was just read: a tenth of a short command's time.
    # A run turns them on again when it begins to build.
    gc.disable()
    from runner.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
