"""Side effects of a change, as facts: public names, dependencies, settings, files.

Everything is computed from the bytes before and after the change. No code of the project runs.
`facts_of` is the only function that other rooms call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.lazy_pattern import regex
from runner.surface.change_facts import SCRIPTS, Fact, Trees, has_word, merge_facts, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runner.model import Change, Task
    from runner.surface import checker_settings, dependencies, public_names
else:
    checker_settings = lazy_module("runner.surface.checker_settings")
    dependencies = lazy_module("runner.surface.dependencies")
    public_names = lazy_module("runner.surface.public_names")

__all__ = ["Fact", "facts_of"]

_LEFTOVER = regex(
    r"(?:^|/)(?:\.DS_Store|Thumbs\.db|desktop\.ini|__pycache__/.*|node_modules/.*"
    r"|\.(?:pytest|mypy|ruff)_cache/.*|\.coverage(?:\.\w+)*|npm-debug\.log.*|\.#[^/]*|#[^/]*#"
    r"|[^/]*(?:\.orig|\.rej|\.sw[a-p]|~|\.log|\.bak|\.tmp|\.py[co]|\.class|\.o|\.obj|\.stackdump"
    r"|\.prof|\.cpuprofile|\.heapsnapshot))\Z"
)
_MEDIA = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".icns", ".bmp", ".pdf", ".avif", ".svgz"),
    *(".woff", ".woff2", ".ttf", ".otf", ".eot", ".mp3", ".mp4", ".wav", ".ogg", ".webm", ".mo"),
)
_HEAD = 8_000
"""Bytes in which git also looks for a NUL (`buffer_is_binary`)."""
_CODE = (".py", ".go", ".rs", *SCRIPTS)
_SETTINGS = regex(r"\.(?:toml|jsonc?|cfg|ini|ya?ml|mod|txt|in|[cm]?[jt]s)\Z|rc\Z|\.flake8\Z")
"""Files that may be a manifest or contain settings: for others no parser is loaded."""


def facts_of(
    task: Task,
    changes: Iterable[Change],
    before: Callable[[str], bytes | None],
    *,
    is_test: Callable[[str], bool],
    read_files: Callable[[], Iterable[tuple[str, bytes]]],
) -> tuple[Fact, ...]:
    """Return what the change alters besides the task's own work, the questions first.

    `before` returns the bytes of a path at the base, None where there is no such file. `is_test`
    tells which paths belong to tests: they are not a surface. `read_files` yields the files of
    the proposed tree; it is called only where the users of a name decide.
    """
    trees = Trees(tuple(changes), before, is_test, read_files)
    found = list(merge_facts(task, _find_facts(task, trees)))
    return tuple(sorted(found, key=lambda one: (not one.asks, one.path, one.line)))


def _find_facts(task: Task, trees: Trees) -> Iterator[Fact]:
    paths = [one.path for one in trees.changes]
    if any(path.endswith(_CODE) for path in paths):
        yield from public_names.find_changes(trees)
        yield from dependencies.find_undeclared(trees)
    if any(map(_SETTINGS.search, paths)):
        yield from dependencies.find_changes(trees)
        yield from checker_settings.find_looser(trees)
    yield from _find_left(task, trees)


def _find_left(task: Task, trees: Trees) -> Iterator[Fact]:
    """Yield the new files that no plan would ask for, unless the task lists them by their path."""
    for change in trees.changes:
        path, content = change.path, change.content
        folder, _, name = path.rpartition("/")
        is_listed = path in task.outputs or any(
            has_word(text_of(task), one) for one in (path, name)
        )
        if content is None or trees.before(path) is not None or is_listed:
            continue
        if _LEFTOVER.search(path):
            title, breaks = "adds files that tools left behind", True
        elif b"\0" in content[:_HEAD]:
            title, breaks = "adds binary files", not name.lower().endswith(_MEDIA)
            breaks = breaks and not trees.is_test(path)
        else:
            continue
        yield Fact("file", name, folder or ".", 0, (path, name), is_breaking=breaks, title=title)
