"""What every job of a worker loads on its way, loaded by being imported.

A local cluster imports it once, in the process that its workers are forked from: a third of a
second of work a worker that their first jobs would do else.
"""

from __future__ import annotations

from runner.config import settings as _settings
from runner.context import brief as _brief
from runner.context import patterns as _patterns
from runner.process import supervise as _course
from runner.run.executors import entrypoint as _border
from runner.secrets.redact import redact

__all__: list[str] = []

_LOADED = (_settings, _brief, _patterns, _course, _border)
redact("key = value")  # which makes the patterns ready
