"""JavaScript and TypeScript, as Node, the compilers and the common test tools read them."""

from __future__ import annotations

import re

from runner.languages.base import (
    HIDES,
    LINTER,
    SKIP,
    TYPES,
    Compiler,
    CoverageSupport,
    Language,
    Marker,
    OutlinePatterns,
    later,
)
from runner.languages.c_like_lexer import PLAIN
from runner.lazy_pattern import regex

DYNAMIC = "*js"
"""Key of imports with names computed at run time."""
_NAMES = "runner.languages.javascript.names"
LITERALS = regex(PLAIN + r"|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?", re.DOTALL)
_TSC = "node_modules/.bin/tsc"
# Up to the top of the repository, as node searches packages. Not `npx`: without a local typescript
# it contacts the registry, and without network waits for more than a minute.
_FIND_TSC = f"""\
d=$PWD
while :; do
  if [ -x "$d/{_TSC}" ]; then PATH=$d/node_modules/.bin:$PATH; break; fi
  if [ -e "$d/.git" ] || [ "$d" = / ] || [ -z "$d" ]; then break; fi
  d=${{d%/*}}
done
"""
TYPED = (".ts", ".tsx", ".mts", ".cts")
"""Suffixes of TypeScript."""

LANGUAGE = Language(
    title="JavaScript",
    imports_of=later(_NAMES, "imports_of"),
    keys_of=later(_NAMES, "keys_of"),
    names_of=later(_NAMES, "names_of"),
    wide=(DYNAMIC,),
    exports_of=later(_NAMES, "exports_of"),
    outline=OutlinePatterns(
        offers=(
            r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
            r"(?:function\*?|class|const|let|var|interface|type|enum|namespace)\s+([\w$]+)"
            r"|^export\s*(?:type\s*)?\{([^}]*)\}|^(?:module\.)?exports\.([\w$]+)\s*="
            r"|^module\.exports\s*=\s*\{([^}]*)\}|^export\s+(default)\b"
        ),
        imports=r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*['"`]([^'"`\n]+)['"`]""",
    ),
    test_file=regex(
        r"(?:\A|/)(?:[^/]*\.(?:test|spec|cy|e2e)|[^/]*[-_](?:test|spec)|test)\.[cm]?[jt]sx?\Z"
    ),
    find_tests=later("runner.languages.test_functions", "find_script_tests"),
    # changes of other files' objects before the first test: mocha runs all files in one process
    loaded_first=re.compile(
        rb"^(?!module\.|exports\.)[\w$]+(?:\.[\w$]+)+\s*[-+*/|&?]*=(?![=>])"
        rb"|^Object\.(?:assign|definePropert\w+)\(",
        re.MULTILINE,
    ),
    test_command=later("runner.languages.test_functions", "make_script_command"),
    coverage=CoverageSupport(
        "have the test contracts run Node or jest, or install @vitest/coverage-v8"
    ),
    compiler=Compiler(
        "tsc",
        "tsconfig.json",
        TYPED,
        "tsc --noEmit",
        search=_FIND_TSC,
        local=_TSC,
        unbuilt=later("runner.languages.javascript.workspaces", "find_unbuilt"),
    ),
    markers=(
        Marker("@ts-", r"@ts-(?:ignore|nocheck|expect-error)\b", TYPES),
        Marker("disable", r"eslint[-:]?_disable", LINTER),
        Marker("ignore", r"(?:istanbul|c8|v8)[ \t]{1,9}ignore", HIDES),
        Marker(
            ".skip .only .todo .failing",
            r"\b(?:it|test|describe|suite)(?:\.concurrent)?"
            r"\.(?:skip|only|todo|failing|fails|skipIf|runIf)\b",
            SKIP,
        ),
        Marker("{ todo }", r"\b(?:it|test|suite|describe)\([^\n]*\{[^\n}]*\b(?:todo|skip):", SKIP),
        Marker("xit xdescribe", r"\bx(?:it|describe)_\(", SKIP),
    ),
    environment="process.env.{}",
)
