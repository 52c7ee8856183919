"""The same loop by PgQueuer: claim one job, beat once, finish it, until none waits.

`run.py --pgqueuer PYTHON` starts it on its own server, with the Python of an environment that has
`pgqueuer` and `psycopg`; nothing of the runner is imported. Prints one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
import uuid
from datetime import timedelta

import psycopg
from pgqueuer.db import PsycopgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries

ENTRY = {"build": EntrypointExecutionParameter(0)}


async def connect(address: str) -> Queries:
    made = await psycopg.AsyncConnection.connect(address, autocommit=True)
    return Queries(PsycopgDriver(made))


async def work(queries: Queries, took: list[float]) -> None:
    me = uuid.uuid4()
    while True:
        began = time.perf_counter()
        jobs = await queries.dequeue(1, ENTRY, me, None, timedelta(seconds=30))
        if not jobs:
            return
        took.append(time.perf_counter() - began)
        await queries.update_heartbeat([one.id for one in jobs])
        await queries.log_jobs([(one, "successful", None) for one in jobs])


async def main(address: str, workers: int, number: int) -> None:
    first = await connect(address)
    if not await first.schema_is_installed():
        await first.install()
    await first.enqueue(["build"] * number, [None] * number, [0] * number)
    crowd = [await connect(address) for _ in range(workers)]
    took: list[float] = []
    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work(one, took) for one in crowd))
    seconds = time.perf_counter() - began
    took.sort()
    told = {
        "builds": len(took) / seconds,
        "median": 1000 * statistics.median(took),
        "p99": 1000 * took[int(len(took) * 0.99)],
        "processor": 1000 * (time.process_time() - used) / len(took),
    }
    print(json.dumps(told))


asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
