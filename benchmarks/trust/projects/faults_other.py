"""Faults that are seeded in JavaScript, TypeScript and Go."""

from __future__ import annotations

from changes import Fault
from public import DEFU, MINIMIST, PFLAG, QS, SEMVER, UFO, UUID

_TAPE = "npx tape test/{}.js"
_VITEST = "npx vitest run test/{}.test.ts"

DASHES = Fault(
    MINIMIST,
    "index.js",
    "\t\targv['--'] = notFlags.slice();",
    "\t\targv['--'] = notFlags.slice(1);",
    "test/dash.js",
    "move arguments after the -- into their own `--` array",
    _TAPE.format("dash"),
    "What follows two dashes is kept apart",
)
EARLY = Fault(
    MINIMIST,
    "index.js",
    "\t\t\t\targv._.push.apply(argv._, args.slice(i + 1));\n",
    "\t\t\t\targv._.push.apply(argv._, args.slice(i + 2));\n",
    "test/stop_early.js",
    "stops parsing on the first non-option when stopEarly is set",
    _TAPE.format("stop_early"),
    "Parsing stops early",
)
HEX = Fault(
    MINIMIST,
    "index.js",
    "(/^0x[0-9a-f]+$/i)",
    "(/^0x[0-9]+$/i)",
    "test/num.js",
    "nums",
    _TAPE.format("num"),
    "Numbers are recognised quicker",
)
PORT = Fault(
    MINIMIST,
    "index.js",
    "\tif ((/^0x[0-9a-f]+$/i).test(x)) { return true; }\n",
    "",
    "test/team/kept.test.mjs",
    "a number is a number",
    "npm run --silent team",
    "Numbers are decimal",
)
BUFFERS = Fault(
    QS,
    "lib/utils.js",
    "    return !!(obj.constructor && obj.constructor.isBuffer && obj.constructor.isBuffer(obj));",
    "    return !!(obj.constructor && obj.constructor.isBuffer);",
    "test/utils.js",
    "isBuffer()",
    _TAPE.format("utils"),
    "Buffers are recognised by their constructor",
)
ASSIGNED = Fault(
    QS,
    "lib/utils.js",
    "        setProperty(acc, key, source[key]);\n        return acc;\n    }, target);",
    "        setProperty(acc, key, source[key]);\n        return acc;\n    }, Object.create(target));",
    "test/utils.js",
    "assign()",
    _TAPE.format("utils"),
    "Targets stay as they are",
)
ARRAYS = Fault(
    DEFU,
    "src/defu.ts",
    "      object[key] = [...value, ...object[key]];",
    "      object[key] = value[1] ? [...object[key], ...value] : [...value, ...object[key]];",
    "test/defu.test.ts",
    "should concat array values by default",
    _VITEST.format("defu"),
    "Arrays are joined in order of priority",
)
NULLS = Fault(
    DEFU,
    "src/defu.ts",
    "    if (value === null || value === undefined) {",
    "    if (value === undefined) {",
    "test/defu.test.ts",
    "should fill in values that are null",
    _VITEST.format("defu"),
    "A null is a value",
)
PLAIN = Fault(
    DEFU,
    "src/_utils.ts",
    "  if (Symbol.iterator in value) {\n    return false;\n  }\n",
    "",
    "test/utils.test.ts",
    "non plain objects",
    _VITEST.format("utils"),
    "Iterables are plain objects",
)
SHAPE = Fault(
    DEFU,
    "src/defu.ts",
    "      object[key] = [...value, ...object[key]];",
    "      object[key] = [...object[key], ...value];",
    "test/shape.test.ts",
    "merges the settings of a server",
    _VITEST.format("shape"),
    "Arrays are joined from the defaults on",
)
SLASHES = Fault(
    UFO,
    "src/utils.ts",
    '    .map((string_) => string_.replace(/\\/{2,}/g, "/"))',
    '    .map((string_) => string_.replace(/\\/{2}/g, "/"))\n    .slice(0, 2)',
    "test/double-slash.test.ts",
    "cleanDoubleSlashes",
    _VITEST.format("double-slash"),
    "Double slashes are cleaned quicker",
)
JOINED = Fault(
    UFO,
    "src/utils.ts",
    "const JOIN_LEADING_SLASH_RE = /^\\.?\\//;",
    "const JOIN_LEADING_SLASH_RE = /^\\//;",
    "test/join.test.ts",
    "joinURL",
    _VITEST.format("join"),
    "Segments are joined as they are",
)
BASED = Fault(
    UFO,
    "src/utils.ts",
    '    if (!nextChar || nextChar === "/" || nextChar === "?") {',
    '    if (nextChar !== "#") {',
    "test/base.test.ts",
    "withBase",
    _VITEST.format("base"),
    "A base is found by its start",
)

# Faults in Go.

COUNT = Fault(
    PFLAG,
    "count.go",
    "\t\t*i = *i + 1\n",
    "\t\t*i = *i | 1\n",
    "count_test.go",
    "TestCount",
    "go test -run TestCount .",
    "Counting without overflow",
)
DURATIONS = Fault(
    PFLAG,
    "duration_slice.go",
    "\t\t*s.value = append(*s.value, out...)",
    "\t\t*s.value = out",
    "duration_slice_test.go",
    "TestDSCalledTwice",
    "go test -run TestDS .",
    "The last durations win",
)
BOOLS = Fault(
    PFLAG,
    "bool_slice.go",
    "\t\t*s.value = append(*s.value, out...)",
    "\t\t*s.value = append(out, *s.value...)",
    "bool_slice_test.go",
    "TestBSCalledTwice",
    "go test -run TestBS .",
    "Later booleans come first",
)
UNITS = Fault(
    PFLAG,
    "count.go",
    "\t\t*i = *i + 1\n",
    "\t\t*i = *i | 1\n",
    "count_test.go",
    "TestCount",
    "make -s units",
    "Counting of repeated letters",
)
COMPARE = Fault(
    SEMVER,
    "version.go",
    "\t} else if n1 != nil {\n\t\t// o is a string and s is a number\n\t\treturn -1",
    "\t} else if n1 != nil {\n\t\t// o is a string and s is a number\n\t\treturn 1",
    "version_test.go",
    "TestCompare",
    "go test -run 'TestCompare|TestInc|TestEqual' .",
    "Versions are compared quicker",
)
SORTED = Fault(
    SEMVER,
    "collection.go",
    "\treturn c[i].LessThan(c[j])",
    "\treturn c[j].LessThan(c[i])",
    "collection_test.go",
    "TestCollection",
    "go test -run TestCollection .",
    "Collections begin with the newest",
)
INCREASED = Fault(
    SEMVER,
    "version.go",
    "\tvNext.minor = v.minor + 1\n",
    "\tvNext.minor = v.minor + 1\n\tvNext.patch = v.patch\n",
    "version_test.go",
    "TestInc",
    "go test -run TestInc .",
    "A minor step keeps the patch",
)
VALID = Fault(
    UUID,
    "uuid.go",
    "\t\tif s[0] != '{' || s[len(s)-1] != '}' {\n\t\t\treturn ErrInvalidBracketedFormat\n\t\t}\n"
    "\t\ts = s[1 : len(s)-1]\n\n\t// UUID without hyphens\n\tcase 32:\n\t\tfor i := 0; i < len(s)",
    "\t\ts = s[1 : len(s)-1]\n\n\t// UUID without hyphens\n\tcase 32:\n\t\tfor i := 0; i < len(s)",
    "uuid_test.go",
    "TestValidate",
    "go test -run 'TestValidate|TestConstants|TestIsWrongLength' .",
    "Any brackets are allowed",
)
VARIANT = Fault(
    UUID,
    "uuid.go",
    '\treturn fmt.Sprintf("BadVariant%d", int(v))',
    '\treturn fmt.Sprintf("BadVariant(%d)", int(v))',
    "uuid_test.go",
    "TestConstants",
    "go test -run 'TestValidate|TestConstants|TestIsWrongLength' .",
    "Unknown variants are easier to read",
)
