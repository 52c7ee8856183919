"""Drafts, builds and proves at once, as the clone of an issue would; what it did outlives kills."""

from msgspec.structs import replace

from runner.extensions.bridge.builder import BuildFacts, CommandExit, IssueTask
from runner.journal.session_events import DraftProposed
from runner.model import Status, digest_of

ROW = IssueTask("TASK-008", "Export", Status.DONE, "", "proven by tests", "", "1 of 1 pass")


class FakeBuilder:
    def __init__(self, head):
        self.final = head
        self.branch, self.there = "", "runner/1"
        """Where it builds, and what the remote has of it already."""
        self.wish, self.done, self.facts = "", [], BuildFacts()
        self.ends = []
        """How the next builds end; then they pass."""
        self.unknown = ("a command",)
        self.ready = False
        self.verdicts = []
        self.stays, self.retired = "", []
        self.refused = []
        self.planned = ""

    def read_request_text(self):
        return self.wish

    def save_request_text(self, text):
        self.wish = text

    def find_branch(self, number):
        return self.there

    def prepare(self, base):
        assert base == "main"
        if not self.ready:
            self.ready = True
            self.facts = replace(self.facts, head="base", tip="base")

    def look(self):
        return replace(self.facts, is_planned=self.planned in ("", self.wish))

    def withdraw(self, draft, reason):
        self.done.append(f"withdraw {draft.number}")
        self.facts = replace(self.facts, draft=None)

    def find_unknown_commands(self, draft):
        return self.unknown

    def draft(self):
        return self._propose("")

    def _propose(self, reason):
        number = self.facts.drafts + 1
        text = f"## TASK-008: Export {number}\n\n{reason}\n"
        digest = digest_of(text.encode())
        draft = DraftProposed(number, "TASK-GRAPH.md", text, digest, ("TASK-008",), self.wish)
        self.planned = self.wish
        self.facts = replace(self.facts, draft=draft, drafts=number)
        self.done.append(f"draft {number}")
        return CommandExit(3, "")

    def approve(self, draft, by):
        if self.facts.draft is not None:
            self.done.append(f"approve {draft.number} by {by}")
        self.facts = replace(self.facts, draft=None, tasks=(replace(ROW, status=Status.PENDING),))

    def reject(self, draft, reason, place=""):
        if place and place in self.refused:
            return CommandExit(0, "")
        self.refused.append(place)
        return self._propose(reason)

    def review(self, draft):
        self.done.append(f"review {draft.number}")
        return self.verdicts.pop(0)

    def build(self, *, is_retried):
        self.done.append("retry" if is_retried else "build")
        if self.ends:
            row = replace(ROW, status=Status.BLOCKED, note="TC-008 fails @everybody")
            self.facts = replace(self.facts, tasks=(row,))
            return CommandExit(self.ends.pop(0), "it failed")
        self.facts = replace(
            self.facts, tasks=(ROW,), head=self.final, tip=self.final, is_cut_off=False
        )
        return CommandExit(0, "")

    def change(self, task, text):
        if f"change {text}" not in self.done:
            self.done.append(f"change {text}")
            self.facts = replace(self.facts, tasks=(replace(ROW, status=Status.STALE),))
        return CommandExit(0, "")

    def verify(self):
        self.done.append("verify")
        self.facts = replace(self.facts, proven=self.facts.head)
        return CommandExit(0, "", {"head": self.facts.head})

    def clear_branch(self):
        self.done.append("clear")
        return self.stays

    def retire(self):
        self.retired.append(self.facts)
        self.wish, self.facts, self.ready, self.planned = "", BuildFacts(), False, ""
