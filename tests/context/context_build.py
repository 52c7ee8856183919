"""Builders for what a task is told: trees of files, tasks."""

import hashlib
import subprocess

from runner.context.tree import Tree
from runner.model import Spec, Task


def a_task(id_="TASK-002", title="Booking model", **fields):
    return Task(id=id_, title=title, line=1, spec=Spec("", ""), **fields)


class Files:
    """A tree's files; it remembers which of them were read."""

    def __init__(self, **texts):
        self.texts = texts
        self.read = []

    def tree(self, allow=()):
        return Tree(self._paths, self._bytes, allow)

    def _paths(self):
        return {path: hashlib.sha1(self._of(path)).hexdigest() for path in self.texts}

    def _bytes(self, path):
        self.read.append(path)
        return self._of(path) if path in self.texts else None

    def _of(self, path):
        text = self.texts[path]
        return text if isinstance(text, bytes) else text.encode()


def a_tree(texts, allow=()):
    return Files(**texts).tree(allow)


def a_repository(folder, texts):
    """A real repository with these files committed; the commit."""

    def git(*words):
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    folder.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main")
    for path, text in texts.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    git("add", "-A", "-f")
    git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "all")
    return git("rev-parse", "HEAD")
