"""A small repository that is built, stopped and built again, thousands of times."""

import contextlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import invariants

from runner import effects
from runner.cli import main

SMALL = """\
# Small

## TASK-001: First file

- Status: PENDING
- Output files: `one.txt`

```text file=one.txt
one
```

## TASK-002: The time, and a decision

- Status: PENDING
- Depends on: TASK-001
- Output files: `out.txt`, `one.txt`
- Command: `date +%s%N > out.txt; echo two >> one.txt; printf 'DECISION: The time\\nContext: c\\n'`
"""

WHOLE = """\
# Whole

## TASK-001: First file

- Status: PENDING
- Output files: `one.txt`, `deep/er/two.txt`

```text file=one.txt
one
```

```text file=deep/er/two.txt
two
```

## TASK-002: The time, and a decision

- Status: PENDING
- Output files: `out.txt`
- Command: `date +%s%N > out.txt; printf 'DECISION: The time\\nContext: c\\n'`

## TASK-003: A check

- Depends on: TASK-001
- Test contracts:
  - TC-003 (unit): `test -s one.txt`

## TASK-004: Another first file

- Depends on: TASK-002, TASK-003
- Output files: `one.txt`, `deep/er/two.txt`, `mine.txt`
- Review: off

```text file=one.txt
one, changed
```

```text file=mine.txt
theirs no more
```

```delete file=deep/er/two.txt delete
```
"""


@dataclass(frozen=True)
class Ended:
    """How a run ended, and every effect it had, in order."""

    code: int
    said: str
    effects: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class House:
    """A repository and the home folder of whoever runs in it."""

    folder: Path

    @property
    def repo(self):
        return self.folder / "repo"

    @property
    def home(self):
        return self.folder / "home"

    @property
    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }

    # --- making -----------------------------------------------------------------------

    @classmethod
    def built(cls, folder, plan):
        """A new house with this plan committed."""
        house = cls(folder)
        house.home.mkdir(parents=True)
        (house.home / "gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        house.repo.mkdir()
        (house.repo / "TASK-GRAPH.md").write_text(plan)
        (house.repo / "mine.txt").write_text("mine\n")
        house.git("init", "-q", "-b", "main")
        house.git("add", "-A")
        house.git("commit", "-q", "-m", "plan")
        shutil.rmtree(house.repo / ".git" / "hooks")
        return house

    def copied(self, folder):
        """The same house somewhere else; what stood there is gone."""
        shutil.rmtree(folder, ignore_errors=True)
        names = {}  # a file of two names, as a lock of ours is, stays one

        def copy(one, other):
            told = Path(one).lstat()
            if told.st_nlink > 1 and (told.st_dev, told.st_ino) in names:
                os.link(names[told.st_dev, told.st_ino], other)
                return
            names[told.st_dev, told.st_ino] = other
            shutil.copy2(one, other, follow_symlinks=False)

        shutil.copytree(self.folder, folder, symlinks=True, copy_function=copy)
        return House(folder)

    # --- running ----------------------------------------------------------------------

    def run(self, *words, watch=None, prepare=None):
        """One run in a forked child, jobs inline; `watch` sees each effect with its number."""
        return self.runner("run", "--trust", "--no-sandbox", *words, watch=watch, prepare=prepare)

    def runner(self, *words, watch=None, prepare=None):
        """One command in a forked child, as a run is."""
        output, log = self.folder / "output", self.folder / "effects"
        pid = os.fork()
        if pid == 0:
            self._child(words, watch, prepare, output, log)
        _, status = os.waitpid(pid, 0)
        seen = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return Ended(
            os.waitstatus_to_exitcode(status),
            output.read_text(errors="replace"),
            tuple(tuple(line.split("\t", 1)) for line in seen),
        )

    def _child(self, words, watch, prepare, output, log):
        """Never returns: whatever happens here, no test goes on in the child."""
        code = 99
        try:
            self._alone(output)
            seen = []

            def notice(kind, target):
                seen.append(f"{kind}\t{target}")
                if watch is not None:
                    watch(len(seen), kind, target)

            if prepare is not None:
                prepare()
            effects.watch(notice)
            code = main(words)
            effects.unwatch(notice)
            log.write_text("\n".join(seen))
            (self.folder / "modules").write_text("\n".join(sys.modules))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def _alone(self, output):
        from runner.app.build import build_run

        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.repo)
        build_run.Options = partial(build_run.Options, inline=True)
        said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(said, 1)
        os.dup2(said, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the child's own
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - the child's own

    def start(self, *words, before=()):
        """The real command as a process of its own."""
        return subprocess.Popen(
            [*before, sys.executable, "-m", "runner", "run", "--trust", *words],
            cwd=self.repo,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    # --- looking ----------------------------------------------------------------------

    def git(self, *words):
        done = subprocess.run(
            ["git", *words], cwd=self.repo, env=self.environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def read(self, path):
        return (self.repo / path).read_bytes()

    @property
    def journal(self):
        return self.repo / invariants.JOURNAL

    def tree(self, head="HEAD"):
        """Path to blob, the runner's own documents left out."""
        listed = self.git("ls-tree", "-r", head).splitlines()
        found = {line.split("\t")[1]: line.split("\t")[0] for line in listed}
        return {path: said for path, said in found.items() if not invariants.is_document(path)}

    def landings(self):
        return invariants.landings(self.repo)


@dataclass(frozen=True)
class Story:
    """A plan, the house it begins in, and what an undisturbed run makes of it."""

    start: House
    place: Path
    end: House
    ended: Ended
    changing: frozenset[str]
    """Files that differ from run to run; landed once, they stay."""

    @classmethod
    def told(cls, folder, plan):
        start = House.built(folder / "start", plan)
        end = start.copied(folder / "end")
        ended = end.run()
        assert ended.code == 0, ended.said
        _warm(end.folder / "modules")
        return cls(start, folder / "place", end, ended, frozenset({"out.txt"}))

    @property
    def count(self):
        return len(self.ended.effects)

    def before_moving(self, what):
        """The effects that begin to move `refs/heads/main` or the `index`."""
        index = ("open", "/.git/index.lock")
        return self._numbers([index if what == "index" else ("git", "update-ref")])

    def moving(self, what):
        """The effects by which they are moved."""
        return [n for n, effect in enumerate(self.ended.effects, 1) if moves(what, *effect)]

    def _numbers(self, ways):
        return [
            number
            for number, (kind, target) in enumerate(self.ended.effects, 1)
            if any(kind == one and target.endswith(end) for one, end in ways)
        ]

    def begin(self):
        """A fresh house, always at the same place."""
        return self.start.copied(self.place)

    def told_at(self, k):
        """The k-th effect of the undisturbed run, for a message."""
        kind, target = self.ended.effects[k - 1]
        return f"effect {k}: {kind} {target}"

    # --- what must hold ---------------------------------------------------------------

    def still_holds(self, house, where):
        """Hold what must hold even now, with a run cut off."""
        with _told(where):
            invariants.hold(house.repo, self.start.read("TASK-GRAPH.md"), house.home)

    def decides(self, house, where):
        """What the undisturbed run decided stands in DECISIONS.md, and nothing else."""
        path = "artifacts/build/DECISIONS.md"
        if (self.end.repo / path).exists():
            assert _undated(house.read(path)) == _undated(self.end.read(path)), where

    def goes_on(self, house, where, prepare=None):
        """Run once more, to the end, and hold everything that must hold then."""
        landed = {path: house.git("show", f"HEAD:{path}") for path in self._landed(house)}
        ended = house.run(prepare=prepare)
        assert ended.code == 0, f"{where}: the next run ended with {ended.code}\n{ended.said}"
        self.holds(house, where)
        invariants.recovering_twice_is_recovering_once(house.run, house.repo)
        for path, text in landed.items():
            assert house.git("show", f"HEAD:{path}") == text, f"{where}: {path} landed twice"

    def _landed(self, house):
        return self.changing & set(house.tree())

    def holds(self, house, where):
        """The end is the undisturbed one, and nothing that was promised is broken."""
        ours, theirs = house.tree(), self.end.tree()
        for path in self.changing:
            assert (path in ours) == (path in theirs), f"{where}: {path}"
            ours.pop(path, None)
            theirs.pop(path, None)
        assert ours == theirs, where
        assert _tasks(house) == _tasks(self.end), where
        self.still_holds(house, where)
        self.decides(house, where)
        with _told(where):
            invariants.finished(house.repo)

    def same_end(self, house, where):
        """The undisturbed run's files, each task landed once, no file of a task to commit."""
        ours, theirs = house.tree(), self.end.tree()
        assert ours.keys() == theirs.keys(), where
        changed = {path for path in ours if ours[path] != theirs[path]}
        assert changed <= self.changing, where
        assert _tasks(house) == _tasks(self.end), where
        with _told(where):
            invariants.git_finds_nothing_wrong(house.repo)
            invariants.nothing_landed_twice(house.repo)
            invariants.the_work_is_clean(house.repo)


def moves(what, kind, target):
    """Whether an effect moves `refs/heads/main` or the `index`."""
    return (kind, target) == ("ref", what) or (
        kind == "replace" and target.endswith(f"/.git/{what}")
    )


def _undated(text):
    return [line for line in text.splitlines() if not line.startswith(b"Date: ")]


def _tasks(house):
    return sorted(one.task for one in house.landings())


@contextlib.contextmanager
def _told(where):
    """Have a broken invariant say when it broke."""
    try:
        yield
    except AssertionError as broken:
        raise AssertionError(f"{where}: {broken}") from broken


def _warm(names):
    """Import once what a run imports, so that the next children are forked with it."""
    for name in names.read_text().splitlines():
        if name.partition(".")[0] in _WARM:
            with contextlib.suppress(ImportError):
                import_module(name)


_WARM = (
    "runner",
    "git",
    "gitdb",
    "pydantic",
    "networkx",
    "markdown_it",
    "re2",
)
