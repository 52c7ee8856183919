"""A remote with a shop in it, and the clone in which one issue of it is built."""

import os

from shop import BASE

from runner.app.observer import Silent
from runner.extensions.bridge.issue_clone import IssueClone
from runner.project import Project

BRANCH = "runner/7"


class Place:
    """A remote with a shop in it, and the clone of one issue."""

    def __init__(self, workplace, folder, inside="."):
        self.workplace, self.bare = workplace, folder / "shop.git"
        workplace.plan(BASE)
        if inside != ".":
            (workplace.root / inside).mkdir()
            workplace.git("mv", "TASK-GRAPH.md", inside)
            workplace.git("commit", "-q", "-m", "moved")
        workplace.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        workplace.git("remote", "add", "origin", str(self.bare))
        workplace.git("push", "-q", "-u", "origin", "main")
        workplace.runner("status", "--trust", here=inside)
        self.project = Project.open(workplace.root / inside, {**os.environ, "CI": "true"})
        self.clone = IssueClone(self.project, "origin", folder / "state/7", Silent(), BRANCH)

    def prepare(self):
        from runner.config.trust import Trust

        Trust(self.project.places.state).give(self.project.root, "asked")
        self.clone.save_request_text("# Export")
        self.clone.prepare("main")
        return self

    def tip(self):
        found = self.workplace.git(f"--git-dir={self.bare}", "for-each-ref", f"refs/heads/{BRANCH}")
        return found.partition(" ")[0]

    def push(self, file, onto="origin/main"):
        """What a person pushes to the branch, from a clone of their own."""
        self.workplace.git("fetch", "-q", "origin")
        self.workplace.git("checkout", "-q", "-B", BRANCH, onto)
        self.workplace.commit({file: "theirs\n"})
        self.workplace.git("push", "-q", "origin", BRANCH)
