"""Builders for stories about what was built before."""

import shutil

from workplace import PASSES, Workplace, a_task

ONE = "one\ntwo\nthree\nfour\nfive\nsix\n"
TWO = ONE.replace("six", "six\nseven")
THREE = (
    a_task("TASK-001", "First", blocks={"a.txt": ONE}, tests=[PASSES]),
    a_task("TASK-002", "Second", needs=["TASK-001"], blocks={"a.txt": TWO, "b.txt": "b\n"}),
    a_task("TASK-003", "Third", needs=["TASK-002"], blocks={"c.txt": "c\n"}),
)


def cloned(place, folder):
    """Another person's clone: no journal, no refs of the runner's."""
    place.git("clone", "-q", str(place.root), str(folder))
    clone = Workplace(folder, place.home)
    clone.git("config", "user.name", "Bo")
    clone.git("config", "user.email", "bo@example.org")
    return clone


def copied(place, folder):
    """The same repository somewhere else, with everything."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(place.root, folder, symlinks=True)
    return Workplace(folder, place.home)


def tree(place, head="HEAD"):
    """Path to blob, the runner's own documents left out."""
    from invariants import is_document

    listed = place.git("ls-tree", "-r", head).splitlines()
    found = {line.split("\t")[1]: line.split("\t")[0] for line in listed}
    return {path: said for path, said in found.items() if not is_document(path)}


def commit_of(place, id_):
    """The commit that landed a task, the newest."""
    found = place.git("log", "--format=%H %(trailers:key=Task,valueonly,separator=%x2C)")
    return next(line.split()[0] for line in found.splitlines() if line.endswith(f" {id_}"))
