"""The public names that a change takes away or alters, in each language that is known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runner.lazy_module import lazy_module
from runner.surface.facts import LARGEST, SCRIPTS, Fact, Trees, skip_file
from runner.surface.nodes import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runner.surface import go_surface, javascript_surface, python_surface, rust_surface
else:
    go_surface = lazy_module("runner.surface.go_surface")
    javascript_surface = lazy_module("runner.surface.javascript_surface")
    python_surface = lazy_module("runner.surface.python_surface")
    rust_surface = lazy_module("runner.surface.rust_surface")


def find_changes(trees: Trees) -> Iterator[Fact]:
    """Yield what the product files of a change take from those who use them."""
    product = [one for one in trees.changes if not trees.is_test(one.path)]
    readers = (
        ((".py",), python_surface, "find_python_changes"),
        (SCRIPTS, javascript_surface, "find_script_changes"),
        ((".go",), go_surface, "find_go_changes"),
        ((".rs",), rust_surface, "find_rust_changes"),
    )
    for endings, module, read in readers:
        paths = []
        for one in product:
            if not one.path.endswith(endings):
                continue
            old, new = trees.before(one.path), one.content
            if len(old or b"") > LARGEST or len(new or b"") > LARGEST:
                yield skip_file(one.path, f"it has more than {LARGEST // 1024} kB")
            else:
                paths.append(one.path)
        for path, found in getattr(module, read)(paths, trees) if paths else ():
            yield from _collect(path, found, trees)


def _collect(path: str, found: Iterable[Fact], trees: Trees) -> Iterator[Fact]:
    """Yield the facts of one file or package, or why there are none."""
    if trees.is_late:
        yield skip_file(path, "the time is used up")
        return
    try:
        yield from [*found]
    except UnreadableError as error:
        yield skip_file(path, str(error))
    except RecursionError:
        yield skip_file(path, "it is nested too deep")
