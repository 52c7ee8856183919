"""Loaded as `sitecustomize` at an interpreter's start: watch and measure the process.

It is copied into the box of a job slot and never imported here. Each part is switched on by
environment variables. Whatever goes wrong in it, the person's program runs as it would without.
It must be read by older interpreters than ours: nothing here is newer than Python 3.8.
"""
# ruff: noqa: UP031 - for old interpreters
# ruff: noqa: PTH100, PTH110, PTH117, PTH118, PTH120, PTH123 - importing pathlib costs 8 ms a process

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWN = os.path.dirname(os.path.abspath(__file__))
LINES = "_runner_lines"
"""Module in this folder, loaded where the complete coverage.py measures lines."""
TRACER = "_runner_tracer"
"""Module that measures lines with only the tracer of coverage.py."""
PLAIN_TRACER = "_runner_python_tracer"
"""Tracer for interpreters without coverage.py."""
REPORT = "_runner_report"
"""Module that is loaded when a test tool is imported."""
_TOOLS = {
    "_pytest.config": "of_pytest",
    "unittest.runner": "of_unittest",
    "doctest": "of_doctest",
}
_PASSED_ON = ("RUNNER_WATCH_", "RUNNER_COVER_", "RUNNER_REPORT_")
_LONGEST_NOTES = 65536


class Quietly:
    """Whatever goes wrong inside stays inside: it is not the program's trouble."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, Exception)


# --- modules of the repository --------------------------------------------------------------


class HookRepository:
    """The repository's own path, of which the scratch tree is what a proof is about."""

    def __init__(self) -> None:
        environ = os.environ
        self.root = environ.get("RUNNER_WATCH_ROOT", "")
        self.tree = environ.get("RUNNER_WATCH_TREE", "")
        shared = environ.get("RUNNER_WATCH_SHARED", "").split(os.pathsep)
        self.shared = tuple(path + os.sep for path in shared if path)

    def holds(self, path: Any) -> bool:
        """Return whether a path is a repository file that is not an installed package."""
        if not self.root or not isinstance(path, str) or not os.path.isabs(path):
            return False
        real = os.path.realpath(path)
        inside = real == self.root or real.startswith(self.root + os.sep)
        return inside and not (real + os.sep).startswith(self.shared)

    def lead(self, path: Any) -> Any:
        """Return the path in the scratch tree if the repository contains it."""
        return self.tree + os.path.realpath(path)[len(self.root) :] if self.holds(path) else path


def redirect() -> None:
    """Redirect installed links to the repository to the scratch tree."""
    repository = HookRepository()
    sys.path[:] = [repository.lead(path) for path in sys.path]
    sys.meta_path.insert(0, Redirected(repository))


class Redirected:
    """Finds in the scratch tree what an editable install or a link would find elsewhere."""

    def __init__(self, repository: HookRepository) -> None:
        self.repository = repository
        own = "_frozen_importlib"  # of the interpreter itself
        finders = sys.meta_path
        self.installed = [one for one in finders if own not in getattr(one, "__module__", "")]
        self.links = dict(self._find_links())

    def _find_links(self) -> Any:
        for folder in sys.path:
            if folder.rstrip(os.sep).endswith("-packages"):
                with Quietly(), os.scandir(folder) as entries:
                    for entry in entries:
                        if entry.is_symlink() and self.repository.holds(entry.path):
                            yield entry.name.partition(".")[0], os.path.realpath(entry.path)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a repository module in the scratch tree; None for any other."""
        # Both are already loaded: importing others here would recurse.
        from _frozen_importlib_external import PathFinder, spec_from_file_location

        holds, lead = self.repository.holds, self.repository.lead
        if path is None and name in self.links:
            return PathFinder.find_spec(name, [lead(os.path.dirname(self.links[name]))], target)
        if path is not None and any(map(holds, path)):
            return PathFinder.find_spec(name, [lead(each) for each in path], target)
        for finder in self.installed:
            spec: Any = getattr(finder, "find_spec", lambda *_: None)(name, path, target)
            places = getattr(spec, "submodule_search_locations", None)
            if holds(getattr(spec, "origin", None)):
                file, folders = lead(spec.origin), [lead(each) for each in places or ()]
                spec = spec_from_file_location(
                    name, file, submodule_search_locations=folders or None
                )
                return spec if os.path.exists(file) else None
            if places is not None and any(map(holds, places)):
                return PathFinder.find_spec(name, [os.path.dirname(lead(each)) for each in places])
        return None


def watch() -> None:
    """Write down, at exit, which modules came from the repository's own path."""
    repository, out = HookRepository(), os.environ["RUNNER_WATCH_OUT"]
    copies = os.environ.get("RUNNER_WATCH_COPIES", "{}")

    def tell() -> None:
        files = {getattr(module, "__file__", None) for module in tuple(sys.modules.values())}
        seen = sorted(os.path.realpath(str(path)) for path in filter(repository.holds, files))
        seen = [path for path in seen if "site-packages" not in path]
        if copies != "{}":
            seen += _find_old(files, copies)
        if seen:
            with open(out, "a", encoding="utf-8") as file:
                file.write("".join(path + "\n" for path in seen))

    atexit.register(tell)


def _find_old(files: Any, copies: str) -> list[str]:
    """Return the loaded copies of repository files whose content is out of date."""
    import json

    found = []
    for path in (os.path.realpath(path) for path in files if path):
        for copy, source in json.loads(copies).items():
            if (path + os.sep).startswith(copy + os.sep) and path.endswith(".py"):
                with (
                    Quietly(),
                    open(path, "rb") as one,
                    open(source + path[len(copy) :], "rb") as two,
                ):
                    if one.read() != two.read():
                        found.append(path)
    return sorted(found)


# --- how tests end ------------------------------------------------------------------------


def report() -> None:
    """Install hooks that make imported test tools report each result."""
    keep_in_children()
    sys.meta_path.insert(0, Watcher())


class Watcher:
    """A finder that finds nothing itself: it hears of each import, and sees the tools come."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a test tool, watched; None for other modules."""
        if name not in _TOOLS:
            return None
        others = (one for one in tuple(sys.meta_path) if one is not self)
        for finder in others:
            spec = getattr(finder, "find_spec", lambda *_: None)(name, path, target)
            if spec is not None:
                with Quietly():
                    _fit_out(spec.loader, _TOOLS[name])
                return spec
        return None


def _fit_out(loader: Any, part: str) -> None:
    run = loader.exec_module

    def exec_module(module: Any) -> None:
        run(module)
        with Quietly():
            getattr(_load_own(REPORT), part)(module)

    loader.exec_module = exec_module


# --- which lines run ----------------------------------------------------------------------


def measure() -> None:
    """Measure this interpreter, its forks, and the interpreters that it starts.

    It begins when the first file of the project is about to run, as the audit events say: tools
    that run none of it, and the start of those that do, cost next to nothing.
    """
    keep_in_children()
    environ = os.environ
    roots = tuple(root + os.sep for root in environ["RUNNER_COVER_ROOT"].split(os.pathsep))
    apart = tuple(root.rstrip("*") for root in environ["RUNNER_COVER_OMIT"].split(os.pathsep))
    settled: list[bool] = []

    def hear(event: str, given: tuple[Any, ...]) -> None:
        # The hook stays as long as the interpreter (PEP 578): once settled it costs one check.
        if settled or event not in ("exec", "cpython.run_file"):
            return
        name = given[0] if event != "exec" else getattr(given[0], "co_filename", "")
        if not isinstance(name, str) or name.startswith("<"):
            return
        name = name if os.path.isabs(name) else os.path.realpath(name)
        if name.startswith(roots) and "-packages/" not in name and not name.startswith(apart):
            settled.append(True)
            with Quietly():
                measure_now()

    sys.addaudithook(hear)


def measure_now() -> None:
    """Begin: with `sys.monitoring`, before Python 3.12 with whichever coverage.py there is.

    Monitoring makes a suite 1.1 to 1.3 times slower, a trace function 2.1 to 2.6 times. It leaves
    the trace function to the program: one that measures itself needs no handover.
    """
    environ = os.environ
    about = {"python": "%d.%d.%d" % sys.version_info[:3]}
    if sys.prefix != sys.base_prefix:
        about["environment"] = sys.prefix.rpartition("/")[2]

    def tell(**more: str) -> None:
        note(**about, **more)

    try:
        tracer = _load_own(TRACER)

        def measure_whole(coverage: Any) -> None:
            _load_own(LINES).begin(coverage, tell, tracer)

        coverage = None
        if sys.version_info < (3, 12):
            ours = environ.get("RUNNER_COVER_OURS", "")
            folder = find_coverage(ours, environ["RUNNER_COVER_PYTHON"])
            with Quietly():
                wanted = folder and "coverage" not in sys.modules
                if wanted and tracer.begin(folder, tell, measure_whole):
                    return
            coverage = sys.modules.get("coverage") or load_coverage(folder)
        if coverage is None:
            tracer.begin_without_coverage(_load_own(PLAIN_TRACER), tell)
        else:
            measure_whole(coverage)
    except BaseException as error:
        note(missing="coverage", why=str(error)[:200], **about)
        raise


def find_coverage(ours: str, python: str) -> str:
    """Return the folder of coverage.py: the project's, else the runner's if Python matches.

    Never a file of the program that happens to have this name: it is looked for where packages
    are installed.
    """
    from importlib.machinery import PathFinder

    sites = [path for path in sys.path if path.rstrip(os.sep).endswith("-packages")]
    spec = PathFinder.find_spec("coverage", sites)
    if spec is not None and spec.origin:
        return os.path.dirname(spec.origin)
    return ours if python == "%d.%d" % sys.version_info[:2] else ""


def load_coverage(ours: str) -> Any:
    """Load the coverage.py in a folder; return None if that fails."""
    if not ours:
        return None
    with Quietly():
        return _load_module("coverage", os.path.join(ours, "__init__.py"), [ours])
    # It is only half loaded: an import by the program would find it.
    for name in [name for name in sys.modules if name.split(".")[0] == "coverage"]:
        del sys.modules[name]
    return None


def _load_own(name: str) -> Any:
    """Load a module from the folder of this one."""
    return sys.modules.get(name) or _load_module(name, os.path.join(OWN, name + ".py"), None)


def _load_module(name: str, file: str, folders: list[str] | None) -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def note(**about: str) -> None:
    """Append a line of JSON about this interpreter."""
    import json

    with Quietly():
        path = os.path.join(os.environ["RUNNER_COVER_OUT"], "about.jsonl")
        # Interpreters that end at the same time append instead of overwriting each other (open(2)).
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if os.fstat(descriptor).st_size < _LONGEST_NOTES:
                os.write(descriptor, json.dumps(about).encode() + b"\n")
        finally:
            os.close(descriptor)


# --- interpreters that this one starts ----------------------------------------------------


def keep_in_children() -> None:
    """Make child processes load this module even if the program sets their environment."""
    import _posixsubprocess

    if getattr(_posixsubprocess.fork_exec, "__module__", "") == __name__:
        return  # it does already
    start = _posixsubprocess.fork_exec
    passed_on = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}

    def fork_exec(*given: Any) -> Any:
        with Quietly():
            given = _amend_arguments(given, {**passed_on, **_reports()})
        return start(*given)

    def with_variables(function: Any) -> Any:
        def start_in(path: Any, argv: Any, env: Any, **more: Any) -> Any:
            with Quietly():
                env = _with_own(env, {**passed_on, **_reports()})
            return function(path, argv, env, **more)

        return start_in

    _posixsubprocess.fork_exec = fork_exec
    # subprocess uses posix_spawn where it can: without close_fds, from Python 3.13 also with it.
    for name in ("execve", "posix_spawn", "posix_spawnp"):
        setattr(os, name, with_variables(getattr(os, name)))
    loaded = sys.modules.get("subprocess")
    if loaded is not None and hasattr(loaded, "_fork_exec"):
        loaded._fork_exec = fork_exec  # type: ignore[attr-defined]  # noqa: SLF001 - since 3.11


def _reports() -> dict[str, str]:
    """Return the variables that child processes need while tests run."""
    names = ("RUNNER_REPORT_WITHIN", "RUNNER_REPORT_CHAIN")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def _amend_arguments(given: tuple[Any, ...], passed_on: dict[str, str]) -> tuple[Any, ...]:
    """Return the arguments of `_posixsubprocess.fork_exec` with added variables."""
    own = [name + b"=" + value for name, value in os.environb.items()]
    pairs = (os.fsdecode(each).partition("=") for each in (own if given[5] is None else given[5]))
    whole = _with_own({name: value for name, _, value in pairs}, passed_on)
    listed = [os.fsencode(name + "=" + value) for name, value in whole.items()]
    return (*given[:5], listed, *given[6:])


def _with_own(env: Any, passed_on: dict[str, str]) -> dict[str, str]:
    whole = {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()}
    old = whole.get("PYTHONPATH", "")
    if OWN not in old.split(os.pathsep):
        whole["PYTHONPATH"] = OWN + (os.pathsep + old if old else "")
    return {**passed_on, **whole}


# --- making way ---------------------------------------------------------------------------


def begin() -> None:
    """Start what is switched on, then run the `sitecustomize` that this one stands before."""
    parts = (
        ("RUNNER_WATCH_ROOT", redirect),
        ("RUNNER_WATCH_OUT", watch),
        ("RUNNER_REPORT_OUT", report),
        ("RUNNER_COVER_OUT", measure),
    )
    for switch, start in parts:
        with Quietly():
            if os.environ.get(switch):
                start()
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) != OWN]
    own = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - it may be there
    except ImportError as error:
        sys.modules["sitecustomize"] = own  # who imports it looks it up afterwards
        if error.name != "sitecustomize":
            raise


if __name__ == "sitecustomize":
    begin()
