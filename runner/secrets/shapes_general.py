"""Shapes that belong to no vendor: private keys, web tokens, passwords, logins."""

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
        r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:\"'<>`?#\\]{0,100}:"
        r"(?P<value>[^\s/@\"'<>`\\]{3,200})@[A-Za-z0-9\[_-]",
        reserved=True,
        named=False,
    ),
    # A key before the `@`; a password with a slash that should have been written as `%2F`.
    Shape(
        "url-password",
        "credential in an address",
        "DATABASE_URL",
        ("://",),
        r"://(?:[^\s/:@\"'<>`?#\\]{0,100}:)?(?P<value>[^\s@?\"'<>`\\]{16,200})@[A-Za-z0-9\[_-]",
        random=True,
        named=False,
    ),
    Shape(
        "basic-auth",
        "login of a command",
        "AUTH_TOKEN",
        ("curl",),
        r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:"
        r"(?P<value>[^\s\"']{16,200})",
        random=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "bearer",
        "credential of an HTTP header",
        "AUTH_TOKEN",
        ("bearer",),
        r"(?i)\bbearer[ :=+\"'\\]{1,4}(?P<value>[A-Za-z0-9._~+/@#%^&*!=-]{16,})",
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
    # Whatever stands before it, what decodes to a name and a password is one.
    Shape(
        "basic-auth",
        "login of an HTTP header",
        "AUTH_TOKEN",
        ("basic",),
        r"(?i)\bbasic[ +\"'\\]{1,8}(?P<value>[A-Za-z0-9+/]{8,1000}={0,2})",
        login=True,
        named=False,
        ignore_case=True,
    ),
    # The `auths` of a Docker configuration, `_auth` of an .npmrc.
    Shape(
        "basic-auth",
        "login in a configuration",
        "AUTH_TOKEN",
        ("auth",),
        r"(?i)(?:\b|_)auth\\?[\"']?\s{0,40}[:=]\s{0,40}\\?[\"']?"
        r"(?P<value>[A-Za-z0-9+/]{8,1000}={0,2})(?:[\s\"'\\,;}]|\z)",
        login=True,
        named=False,
        ignore_case=True,
    ),
)
