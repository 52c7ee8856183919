"""Start `python -m runner`: remove the working folder from the import path first.

With `-m` Python puts the working folder first, so a repository that holds `json.py` or `rich.py`
would run it inside the runner. The console script does not do that; this file must undo it before
any other import. A `runner.py` there is taken before this file is reached: `python -P -m runner`
keeps the folder out from the start.
"""

import sys

# Before Python 3.11.5 `re` mishandles possessive quantifiers (CPython issue 106052): the secret
# scan misses keys.
if sys.version_info < (3, 11, 5):
    _FOUND = sys.version.split()[0]
    sys.stderr.write(f"runner: needs Python 3.11.5 or newer; this is {_FOUND}\n")
    sys.exit(2)

if sys.flags.safe_path is False and sys.path and __name__ == "__main__":
    del sys.path[0]


def _begin_in_utf8() -> None:
    """Begin anew where the locale gives names of files another encoding than git does."""
    import os

    # The -X option overrides PYTHONUTF8=0 (Python's documentation, "UTF-8 Mode").
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606


def main() -> int:
    """Run the console script."""
    import gc

    if sys.getfilesystemencoding() != "utf-8":
        _begin_in_utf8()

    # Cyclic collection walks all objects just loaded: a tenth of a short command's time. A run
    # turns it on again when it begins to build.
    gc.disable()
    from runner.cli import main as run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
