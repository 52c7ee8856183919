"""A bare remote beside the repository, and a `gh` that writes down what it is asked."""

import json
import os
import stat
from pathlib import Path

GH = """\
#!/usr/bin/env python3
import json, os, sys
from pathlib import Path
words, kept = sys.argv[1:], Path(__file__).parent / "asked.jsonl"
body = sys.stdin.read() if "-" in words else ""
before = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
with kept.open("a") as file:
    file.write(json.dumps({"words": words, "body": body}) + "\\n")
if words[:2] == ["pr", "list"]:
    head = words[words.index("--head") + 1]
    made = any(one["words"][:2] == ["pr", "create"] and head in one["words"] for one in before)
    print(json.dumps([{"url": "https://forge.test/pull/1"}] if made else []))
elif "--label" in words and os.environ.get("NO_LABEL"):
    sys.exit("could not add label: 'needs-manual-fix' not found")
else:
    print("https://forge.test/pull/1")
"""


class Forge:
    """Both of them, for one workplace."""

    def __init__(self, workplace, folder, monkeypatch):
        self.bare, self.bin = folder / "remote.git", folder / "bin"
        workplace.git("init", "-q", "--bare", str(self.bare))
        workplace.git("remote", "add", "origin", str(self.bare))
        self.bin.mkdir()
        program = self.bin / "gh"
        program.write_text(GH)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{self.bin}{os.pathsep}{os.environ['PATH']}")
        self._workplace = workplace

    @property
    def asked(self):
        """What `gh` was asked: words and what came on standard input."""
        kept = Path(self.bin / "asked.jsonl")
        lines = kept.read_text().splitlines() if kept.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def made(self):
        return [one for one in self.asked if one["words"][:2] == ["pr", "create"]]

    def has(self, ref):
        """The commit that a ref of the remote is on."""
        return self._workplace.git(
            f"--git-dir={self.bare}",
            "rev-parse",
            "-q",
            "--verify",
            f"{ref}^{{commit}}",
            check=False,
        )
