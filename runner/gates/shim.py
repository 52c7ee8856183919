"""Install the modules that load before every Python interpreter and Node program of a proof.

An editable install puts the repository's path into the interpreter's search path. In a sandbox the
scratch tree stands at that path; without one, a broken change would be proven by the good old code.
So one module leads such paths to the scratch tree, and tells what was imported from elsewhere.

Node's debugger protocol names each script as it is compiled, whoever loads it: `require`, `import`,
a test tool with a loader of its own, a worker thread. What is no script, such as JSON, is known to
`require`.
"""

from __future__ import annotations

import json
import marshal
import os
import shlex
import sys
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

from runner import effects
from runner.gates import own_files
from runner.lazy_pattern import regex
from runner.model import Finding
from runner.process.package_links import find_copies
from runner.text.wording import join_few

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping, Sequence

    from runner.gates.base import GateContext
    from runner.process.base import Place, Sandbox


_FOLDER = "shim"
_COMPILED = "__pycache__"
_UNCHECKED = b"\1\0\0\0"
"""Flags of byte code with a digest that is not checked (PEP 552)."""
_FILES = {
    "sitecustomize_hook.py": "sitecustomize.py",
    "startup_lines.py": "_runner_lines.py",
    "line_tracer.py": "_runner_tracer.py",
    "python_tracer.py": "_runner_python_tracer.py",
    "report_hook.py": "_runner_report.py",
}
_ASSIGNED = regex(r"(?<![\w$])PYTHONPATH=(?P<empty>(?:''|\"\")?(?=[\s;&|)]|$))?")
_PLAIN = regex(r"[\w./+@%-]+")


def write_module(place: Place) -> Path:
    """Write the module's folder again and return it; its path is equal in the sandbox.

    Commands may write there, so it is made right again each time, and no link is followed.
    """
    folder = own_files.own_folder(place.box, _FOLDER)
    for name, shown in _FILES.items():
        own_files.put(folder / shown, _text(name))
    try:
        _write_byte_code(place.box)
    except PermissionError:  # a command has shut it: each interpreter compiles for itself
        own_files.remove(folder / _COMPILED)
    return folder


def _write_byte_code(box: Path) -> None:
    """Write the compiled modules and remove other byte code, which would be run instead of ours."""
    folder = own_files.own_folder(box, _FOLDER, _COMPILED)
    tag = sys.implementation.cache_tag
    ours = {f"{Path(shown).stem}.{tag}.pyc": name for name, shown in _FILES.items()}
    for file, name in ours.items():
        own_files.put(folder / file, _byte_code(name))
    with os.scandir(folder) as entries:
        found = {one.name for one in entries}
    for other in found - ours.keys():
        own_files.remove(folder / other)


@cache
def _text(name: str) -> bytes:
    return Path(__file__).with_name(name).read_bytes()


@cache
def _byte_code(name: str) -> bytes:
    """Compile a module to byte code for the runner's Python version.

    Each command would compile them anew, 20 ms of a processor. It names the bytes it was made of
    and not their time, and is not held against them (PEP 552): it is put right with them.
    """
    # From the byte code next to this file, if there is any.
    code = SourceFileLoader(name, str(Path(__file__).with_name(name))).get_code(name)
    return MAGIC_NUMBER + _UNCHECKED + source_hash(_text(name)) + marshal.dumps(code)


def search_path(folder: Path, given: str = "") -> str:
    """Return PYTHONPATH with the folder first and only once."""
    others = [path for path in given.split(os.pathsep) if path and path != str(folder)]
    return os.pathsep.join([str(folder), *others])


def in_front(line: str, folder: Path) -> str:
    """Return a shell line with the folder first in each `PYTHONPATH=…` assignment."""
    plain = _PLAIN.fullmatch(str(folder)) is not None
    shown = str(folder) if plain else shlex.quote(str(folder))

    def put(match: re.Match[str]) -> str:
        # An empty entry after a colon also means the current folder, which the line did not
        # request.
        colon = "" if match["empty"] is not None else os.pathsep
        return f"PYTHONPATH={shown}{colon}"

    return _ASSIGNED.sub(put, line)


_SEEN = "imported.txt"
_OUT = "RUNNER_WATCH_OUT"
_SHOWN = 3
_NODE = "loaded_scripts.cjs"


def redirect_environment(
    place: Place, sandbox: Sandbox, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables that redirect installed links to the repository to the scratch tree.

    `given` are the others. Empty where a sandbox shows the tree at the repository's own path.
    """
    if sandbox.contains:
        return {}
    root = place.shown.resolve()
    return {
        "PYTHONPATH": search_path(write_module(place), given.get("PYTHONPATH", "")),
        "RUNNER_WATCH_ROOT": str(root),
        "RUNNER_WATCH_TREE": str(place.tree.resolve()),
        "RUNNER_WATCH_SHARED": ":".join(str(root / share) for share in place.shares),
    }


def watch_environment(place: Place, sandbox: Sandbox, given: Mapping[str, str]) -> dict[str, str]:
    """Return variables that make Python and Node record the files loaded from elsewhere."""
    root = str(sandbox.sees(place, place.tree))
    copies = {copy: f"{root}/{source}" for copy, source in find_copies(place).items()}
    if sandbox.contains and not copies:
        return {}
    effects.unlink(place.box / _SEEN)
    redirected = redirect_environment(place, sandbox, given)
    script = write_module(place) / _NODE
    own_files.put(script, WATCH_PRELOAD.encode())
    options = f"{given.get('NODE_OPTIONS', '')} {quote_preload(script)}".strip()
    watched = {"RUNNER_WATCH_COPIES": json.dumps(copies), _OUT: str(place.box / _SEEN)}
    return {**redirected, "NODE_OPTIONS": options, **watched}


def findings(context: GateContext) -> tuple[Finding, ...]:
    """Return a finding if the proof ran code of the real working tree."""
    if _OUT not in context.environment:
        return ()  # nothing was watched: what is there is of another proof
    seen = _load_seen(context.place.box / _SEEN)
    if not seen:
        return ()
    root = context.place.shown.resolve()
    shown = join_few([path.removeprefix(f"{root}/") for path in seen], _SHOWN)
    return (
        Finding(
            check="imports",
            message=f"the tests imported the installed copy of {shown}, not the proposed code",
            hint=_hint(context, seen),
        ),
    )


def _hint(context: GateContext, seen: Sequence[str]) -> str:
    old = [
        path
        for path in seen
        for copy in find_copies(context.place)
        if f"{path}/".startswith(f"{copy}/")
    ]
    if not old:
        return (
            "install bubblewrap (apt-get install bubblewrap), or name these files by relative paths"
        )
    if "/node_modules/" in old[0]:
        return "replace `file:` with `link:` in package.json, and install again"
    return "install the package in editable form: pip install -e PATH"


def _load_seen(file: Path) -> list[str]:
    try:
        return sorted(set(file.read_text("utf-8", "replace").splitlines()))
    except FileNotFoundError:
        return []


WATCH_PRELOAD = r"""'use strict';
// Loaded before every program of Node in a proof. Whatever goes wrong here, the program runs on.
(() => {
  const env = process.env, root = env.RUNNER_WATCH_ROOT, out = env.RUNNER_WATCH_OUT;
  if (!out) return;
  try {
    const fs = require('fs'), { fileURLToPath } = require('url');
    const { Session } = require('inspector');
    const shared = (env.RUNNER_WATCH_SHARED || '').split(':').filter(Boolean);
    const copies = Object.entries(JSON.parse(env.RUNNER_WATCH_COPIES || '{}'));
    const reported = new Set();
    const isForeign = (path) => root && path.startsWith(`${root}/`) &&
      !shared.some((folder) => path.startsWith(`${folder}/`));
    // A copy of a file of the repository that is not what the repository has.
    const isOld = (path) => copies.some(([copy, source]) => {
      if (!path.startsWith(`${copy}/`)) return false;
      const file = source + path.slice(copy.length);
      return fs.existsSync(file) && !fs.readFileSync(file).equals(fs.readFileSync(path));
    });
    const hear = (name) => {
      try {
        const path = name.startsWith('file:') ? fileURLToPath(name) : name;
        if (reported.has(path) || !path.startsWith('/')) return;
        reported.add(path);
        if (!isForeign(path) && !isOld(path)) return;
        fs.appendFileSync(out, `${path}\n`);
      } catch { /* it is not reported */ }
    };
    process.on('exit', () => Object.keys(require.cache).forEach(hear));
    const session = new Session();
    session.connect();
    session.on('Debugger.scriptParsed', ({ params }) => hear(params.url));
    // A `debugger` statement of the program stops nothing.
    session.post('Debugger.setSkipAllPauses', { skip: true });
    session.post('Debugger.enable');
  } catch { /* a Node without inspector */ }
})();
"""


def quote_preload(file: Path) -> str:
    """Return the NODE_OPTIONS that preload a file, quoted as Node requires."""
    quoted = str(file).replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{quoted}"'
