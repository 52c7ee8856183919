"""Builders for a small repository that is only asked about, never on disk."""

from __future__ import annotations

import textwrap

from runner.impact.answer import judge
from runner.impact.change import Changed
from runner.impact.inputs import Knowledge
from runner.impact.owners import Owners
from runner.impact.reach import Entry, References
from runner.impact.reasons import Width
from runner.impact.store import ImpactStore
from runner.impact.traces import Observations
from runner.model import Contract, Level, Observed, Spec, Task, TestContract, digest_of


def code(text):
    return textwrap.dedent(text).lstrip("\n").encode()


def a_task(id_, *commands, outputs=(), inputs=(), contracts=()):
    """A task whose test contracts are `TC-002`, `TC-002b` … after its number."""
    number = id_.partition("-")[2]
    ids = [f"TC-{number}{letter}" for letter in ("", *"bcdefg")]
    return Task(
        id_,
        id_.lower(),
        1,
        Spec("", ""),
        outputs=tuple(outputs),
        inputs=tuple(inputs),
        contracts=tuple(Contract("schema", value) for value in contracts),
        test_contracts=tuple(
            TestContract(name, Level.UNIT, command)
            for name, command in zip(ids, commands, strict=False)
        ),
    )


WIDE = Width()


class House:
    """Files, tasks and what is known of them."""

    def __init__(self, files, tasks, owners=None, **more):
        self.files = {
            path: one if isinstance(one, bytes) else code(one) for path, one in files.items()
        }
        self.store = ImpactStore(None)
        self.references = References(self.store)
        self.references.learn((Entry(path, path) for path in self.files), self.files.get, "tree")
        self.observed = Observations(self.store)
        table = owners if owners is None or isinstance(owners, bytes) else a_map(owners)
        self.knowledge = Knowledge(
            tasks={task.id: task for task in tasks},
            owners=Owners(self.store, table),
            observed=self.observed,
            references=self.references,
            digest=lambda path: digest_of(self.files[path]) if path in self.files else None,
            content=self.files.get,
            **more,
        )

    def saw(self, task, contract, **lines):
        """`saw("TASK-002", "TC-002", src__a_py="1-3")`: what a proof executed, by file."""
        rows = []
        for name, ran in lines.items():
            path = name.replace("__", "/").replace("_py", ".py")
            for test, some in (ran if isinstance(ran, dict) else {"": ran}).items():
                rows.append(Observed(contract, test, path, digest_of(self.files[path]), some))
        self.observed.keep(task, rows, [contract])

    def land(self, path, text):
        """A commit that leaves this in a file; None takes the file away."""
        self.files.pop(path, None)
        if text is not None:
            self.files[path] = code(text)
        self.references.learn([Entry(path, None if text is None else path)], self.files.get, text)

    def ask(self, *changes, width=WIDE):
        return judge(changes, self.knowledge, width)

    def edit(self, path, old, new, width=WIDE):
        before = self.files[path]
        assert old.encode() in before
        return self.ask(
            Changed(path, before, before.replace(old.encode(), new.encode())), width=width
        )

    def delete(self, path, width=WIDE):
        return self.ask(Changed(path, self.files[path], None), width=width)

    def create(self, path, text="", width=WIDE):
        return self.ask(Changed(path, None, code(text)), width=width)


def a_map(rows):
    lines = "".join(f"| `{file}` | {tasks} |\n" for file, tasks in rows.items())
    return f"| File | Tasks |\n|---|---|\n{lines}".encode()


def names(answer):
    """`{"TASK-002": ("TC-002",)}`: who is affected, with which test contracts."""
    return {one.task: one.contracts for one in answer.affected}


def reasons(answer, task=None):
    return [
        f"{why.kind}: {why.text}"
        for one in answer.affected
        if task in (None, one.task)
        for why in one.reasons
    ]


def doubts(answer):
    return [why.text for why in answer.doubts]


# --- a small shop -----------------------------------------------------------------------

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/db.py": """
        LIMIT = 3

        def save(row):
            return row

        def load(key):
            return key
        """,
    "src/shop/api.py": "from shop.db import save\n\ndef post(row):\n    return save(row)\n",
    "src/shop/mail.py": "def send():\n    return 1\n",
    "tests/test_db.py": "from shop import db\n\ndef test_save():\n    assert db.save(1) == 1\n",
    "tests/test_api.py": "import shop.api\n\ndef test_post():\n    assert shop.api.post(1) == 1\n",
    "tests/test_mail.py": "from shop.mail import send\n\ndef test_it():\n    assert send() == 1\n",
}
TASKS = [
    a_task("TASK-001", "python -m pytest -q tests/test_db.py", outputs=["src/shop/db.py"]),
    a_task("TASK-002", "python -m pytest -q tests/test_api.py"),
    a_task("TASK-003", "python -m pytest -q tests/test_mail.py"),
]


def a_shop(**more):
    return House({**FILES, **more.pop("files", {})}, more.pop("tasks", TASKS), **more)
