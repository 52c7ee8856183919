"""Shapes that belong to no vendor: private keys, web tokens, passwords, assignments."""

from __future__ import annotations

from runner.secrets.shape import Shape

# Between the lines of a key in source text: blanks, quotes, operators and escaped line ends.
_GAP = r"(?:\\[nrt]|[\s\"'`+,.;&\\>|#*()])*"
_LINES = rf"(?:{_GAP}[A-Za-z0-9+/]{{16,}}={{0,2}})+"
_REST = rf"(?:(?:{_GAP}=?[A-Za-z0-9+/]{{1,64}}={{0,2}})?{_GAP}-----END[A-Z0-9 ]*-----)?"
_HEADERS = rf"(?:{_GAP}(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset|Subject):[^\n\\]*)*"

# The first bytes of a DER private key in base64: PKCS#1 and DSA (RFC 8017 A.1.2), PKCS#8 plain
# and encrypted (RFC 5958), SEC 1 (RFC 5915), Ed25519 (RFC 8410), and OpenSSH's own container.
# Certificates and public keys begin otherwise: no version number follows the outer sequence.
_DER = (
    r"MII[A-Za-z0-9+/]{2}[AQgw]IBAA[JK]|MI[CG][A-Za-z0-9+/]{1,2}[AQgw]?(?:IBAA|AgEA)[A-Za-z0-9+/]"
    r"|MII[A-Za-z0-9+/]{2}[AQgw]IBADA|MII[A-Za-z0-9+/]{4,8}BgkqhkiG9w0BBQ[0w]"
    r"|MHcCAQEE|MHQCAQEE|MIGkAgEBBD|MIHcAgEBBEI|MIHbAgEBBE"
    r"|MC4CAQAwBQYDK2Vw|MEcCAQAwBQYDK2V|b3BlbnNzaC1rZXktdjE"
)

_NAME = (
    r"(?:(?:api|app|access|auth|authentication|private|secret|signing|encryption|crypto|master"
    r"|service|account|client|consumer|shared|session|deploy|admin|root|license|storage|db"
    r"|database|webhook|security|jwt|hmac|aes)[_.\- ]?key|secret|token|passw(?:or)?d|passphrase"
    r"|passwd|pwd|credential|apikey)"
)
_VALUE = r"[A-Za-z0-9_+/=.~!@#%^&*:?|-]"

SHAPES = (
    Shape(
        "private-key",
        "private key",
        "PRIVATE_KEY",
        ("PRIVATE KEY",),
        rf"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----{_HEADERS}{_LINES}{_REST}",
    ),
    Shape(
        "private-key",
        "private key without its header",
        "PRIVATE_KEY",
        (
            "MII",
            "MIG",
            "MIC",
            "MHcCAQEE",
            "MHQCAQEE",
            "MIHcAgEBBEI",
            "MIHbAgEBBE",
            "MC4CAQAwBQYDK2Vw",
            "MEcCAQAwBQYDK2V",
            "b3BlbnNzaC1rZXktdjE",
        ),
        rf"(?:^|[^A-Za-z0-9+/])(?P<value>(?:{_DER})[A-Za-z0-9+/]{{20,}}={{0,2}}(?:{_LINES})?{_REST})",
        hint=_DER,
    ),
    Shape(
        "private-key",
        "PuTTY private key",
        "PRIVATE_KEY",
        ("Private-Lines:",),
        r"Private-Lines:\s*[0-9]+\s+(?P<value>(?:[A-Za-z0-9+/]{16,}={0,2}\s*)+)",
    ),
    Shape(
        "jwt",
        "JSON web token",
        "TOKEN",
        ("eyJ",),
        r"\beyJ[A-Za-z0-9_-]{10,}={0,2}\.eyJ[A-Za-z0-9_-]{10,}={0,2}\.[A-Za-z0-9_-]{16,}",
        hint=r"\beyJ[A-Za-z0-9_-]{10}",
    ),
    Shape(
        "url-password",
        "password in an address",
        "DATABASE_URL",
        ("://",),
        r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@\"'<>`?#\\]{0,100}:"
        r"(?P<value>[^\s/@\"'<>`\\]{3,200})@[A-Za-z0-9\[_-]",
        named=False,
    ),
    Shape(
        "bearer",
        "credential of an HTTP header",
        "AUTH_TOKEN",
        ("bearer",),
        r"(?i)\bbearer[ :=+\"'\\]{1,4}(?P<value>[A-Za-z0-9._~+/-]{20,}=*)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "basic-auth",
        "credential of an HTTP header",
        "AUTH_TOKEN",
        ("basic ",),
        r"(?i)authorization[\"'\]]{0,2}\s*[:=,]\s*[\"']?"
        r"basic (?P<value>[A-Za-z0-9+/]{12,}={0,2})",
        random=True,
        named=False,
        ignore_case=True,
    ),
    # A secret-looking name, something that assigns (`=`, `:`, `=>`, a call, an index, a type in
    # between, XML), and a quoted value; entropy decides.
    Shape(
        "assigned",
        "high-entropy value assigned to a secret-looking name",
        "SECRET",
        ("key", "secret", "token", "passw", "passphrase", "pwd", "credential"),
        rf"(?i){_NAME}[A-Za-z0-9_.\-]{{0,40}}"
        r"(?:[\"'\]]{0,2}[^\"'`\n;#]{0,40}|[\"'][ \t]*,[ \t]*"
        r"|[\"']?\s*,?\s*[\"']?value[\"']?\s*[:=]\s*)"
        rf"[\"'`](?P<value>{_VALUE}{{16,200}})[\"'`]",
        random=True,
        named=False,
        ignore_case=True,
    ),
    # The same without quotes, as in .env files, YAML, Markdown and shell.
    Shape(
        "assigned",
        "high-entropy value assigned to a secret-looking name",
        "SECRET",
        ("key", "secret", "token", "passw", "passphrase", "pwd", "credential"),
        rf"(?i){_NAME}[A-Za-z0-9_\-]{{0,40}}[\"'`]?(?:\s{{1,40}}value)?\s?"
        r"(?:=|:|:=|=>|>|\s-\s)[ \t]*(?:value:[ \t]*)?"
        r"(?P<value>[A-Za-z0-9_+/=~!@%^*-]{16,200})(?:[\s,;&<`\\|]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    # In a sentence: "set the key to X", "its token is X", and the other way round.
    Shape(
        "assigned",
        "high-entropy value that a sentence gives to a secret-looking name",
        "SECRET",
        ("key", "secret", "token", "passw", "passphrase", "pwd", "credential"),
        rf"(?i){_NAME}[A-Za-z0-9_\-]{{0,40}}[\"'`*]{{0,3}}\s{{1,10}}"
        r"(?:to|is|as|be|was|equals|becomes|will be|should be|must be|set to)\s{1,10}"
        r"(?:the value\s{1,10}|exactly\s{1,10})?[\"'`*]{0,3}"
        r"(?P<value>[A-Za-z0-9_+/=~!@%^-]{16,200})(?:[\"'`*.,;:)\s]|\z)",
        random=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "assigned",
        "high-entropy value that a sentence gives to a secret-looking name",
        "SECRET",
        ("key", "secret", "token", "passw", "passphrase", "pwd", "credential"),
        rf"(?i)[\"'`*](?P<value>{_VALUE}{{16,200}})[\"'`*]{{1,3}}\s{{1,10}}(?:as|for|is)\s{{1,10}}"
        rf"(?:[A-Za-z]{{1,20}}\s{{1,10}}){{0,2}}[\"'`*]{{0,3}}[A-Za-z0-9_]{{0,20}}{_NAME}",
        random=True,
        named=False,
        ignore_case=True,
    ),
)
