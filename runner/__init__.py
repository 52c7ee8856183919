"""Build a repository from TASK-GRAPH.md: task by task, each proven before it lands."""

__version__ = "0.3.0"
