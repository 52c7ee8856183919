"""A preload for a worker that adds files nobody asked for to what it has proven."""

from msgspec.structs import replace

from runner.extensions.cluster import remote_worker
from runner.extensions.cluster.message import as_bytes, read_answer, read_job
from runner.model import Action, Change, digest_of

honest = remote_worker.run_job
PATHS = {
    "TASK-001": "other.py",
    "TASK-002": ".git/hooks/post-commit",
    "TASK-003": "../../outside.py",
    "TASK-004": "mine.py",
}


def run_job(data):
    answer = read_answer(honest(data))
    if answer.outcome is None:
        return as_bytes(answer)
    content = b"print('evil')\n"
    path = PATHS[read_job(data).work.assignment.task.id]
    more = Change(path, Action.CREATE, 0o100755, None, digest_of(content), content)
    kept = tuple(one for one in answer.outcome.changes if one.path != path)
    return as_bytes(replace(answer, outcome=replace(answer.outcome, changes=(*kept, more))))


remote_worker.run_job = run_job
