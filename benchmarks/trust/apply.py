"""Puts the files of one case into the working folder: the implementer of every case.

    python3 apply.py EDITS.json

The document maps paths to the whole new text of a file, or to null for a file that goes.
"""

import json
import sys
from pathlib import Path

edits = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
for path, text in edits.items():
    target = Path(path)
    if text is None:
        target.unlink()
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
print(f"{len(edits)} files")
