"""Shapes of passwords that a person chose: too short for the measures of chance.

A value counts where its name, its statement or its command says that it is a password, and where
it mixes kinds of characters as chosen passwords do and names do not.
"""

from __future__ import annotations

from runner.secrets.shape import Shape

_NAME = (
    r"(?:pass(?:w(?:or)?d|phrase|wrd|sword)?|p(?:a)?ss?w(?:o?r?)?d|pwd|psw|pw|credential"
    r"|userpwd|secret|token)"
)
_NEEDLES = ("pass", "pwd", "psw", "pw", "pas", "pss", "credential", "secret", "token")
_BARE = r"[^\s\"'`<>,;()\[\]{}|\\]"
_QUOTED = r"[^\s\"'`<>\\]"
_OPERATOR = r"(?:\s{0,4}(?::=|=>|[!=]=|[:=])\s{0,4})"
_TYPED = r"(?:\s{0,2}:\s{0,2}[A-Za-z]{2,10}\s{0,2}=\s{0,2})"
_DEFINED = r"(?:define|global|set|export|env)(?:\s|\\t){1,4}"
_USER = r"(?:\b|_)(?:user(?:name)?|uid|login|account)"

_WHOLE = r"(?:passw(?:or)?d|pswd|pssword|passphrase|pwd)"

SHAPES = (
    Shape(
        "password",
        "password given to a name",
        "PASSWORD",
        _NEEDLES,
        rf"(?i)(?:[^A-Za-z]|_|\A){_NAME}[A-Za-z0-9_]{{0,12}}\\{{0,3}}[\"'`\]]{{0,2}}"
        rf"(?:{_OPERATOR}|{_TYPED})[a-z]?\\{{0,3}}[\"'`]?"
        rf"(?P<value>{_BARE}{{8,64}})(?:[\s,;)\"'`&\\]|\z)",
        password=True,
        named=False,
        ignore_case=True,
    ),
    # A name that ends in the word itself, and a literal: then less has to speak for the value.
    Shape(
        "password",
        "password given to a name",
        "PASSWORD",
        ("passw", "pswd", "pssword", "passphrase", "pwd"),
        rf"(?i){_WHOLE}\\{{0,3}}[\"'`\]]{{0,2}}(?:\s{{0,16}}(?::=|=>|[:=])\s{{0,4}})"
        r"(?:\\{0,3}[\"'`](?P<value>[^\s\"'`<>\\]{6,64})\\{0,3}[\"'`])",
        typed=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password given to a name",
        "PASSWORD",
        ("passw", "pswd", "pssword", "passphrase", "pwd"),
        rf"(?i)[a-z]{_WHOLE}(?:{_OPERATOR}|{_TYPED})(?P<value>{_BARE}{{8,64}})(?:[\s,;)\"'`&\\]|\z)",
        password=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password that a sentence tells",
        "PASSWORD",
        ("password",),
        r"(?i)\bpassword(?: for [a-z0-9_ ]{1,30}(?:\"[^\"\n]{1,40}\")?)?(?: is |: ?)[\"'`]"
        r"(?P<value>[^\s\"'`<>\\]{6,64})[\"'`]",
        typed=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password given to a name",
        "PASSWORD",
        _NEEDLES,
        rf"(?i)\b{_DEFINED}[A-Za-z0-9_]{{0,20}}{_NAME}(?:\s|\\t){{1,8}}\\{{0,3}}[\"']"
        rf"(?P<value>{_QUOTED}{{8,64}})\\{{0,3}}[\"']",
        password=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password in a statement of SQL",
        "DATABASE_PASSWORD",
        ("identified", "password "),
        r"(?i)\b(?:identified\s{1,4}(?:with\s{1,4}[a-z_0-9]{1,40}\s{1,4})?by|password)\s{1,4}"
        rf"(?:=\s{{0,4}})?(?:'(?P<value>{_QUOTED}{{6,64}})'|{_BARE}{{8,64}}(?:[\s;\"'\\]|\z))",
        password=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password of a command",
        "PASSWORD",
        ("-p", "--p", "/p"),
        r"(?i)(?:\s|\A|[\"'])-{1,2}(?:pass(?:word|wd|phrase)?|pwd|pw)(?:\s{1,4}|=)[\"']?"
        rf"(?P<value>{_BARE}{{8,64}})(?:[\s\"';]|\z)",
        password=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password of a command",
        "PASSWORD",
        ("converttosecurestring", "convertto-securestring"),
        r"(?i)convertto-?securestring(?:\s{1,4}-[a-z]{1,20}){0,3}\s{0,4}\(?\s{0,4}\\?[\"']?"
        rf"(?P<value>{_BARE}{{6,64}})",
        password=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password of a command",
        "PASSWORD",
        ("psexec",),
        r"(?i)\bpsexec(?:64)?(?:\.exe)?\b[^\n]{0,200}?\s-u\s{1,4}\S{1,80}\s{1,4}-p\s{1,4}[\"']?"
        r"(?P<value>[^\s\"'%$]{3,64})",
        chosen=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "login of a library call",
        "PASSWORD",
        ("curlopt_",),
        r"(?i)curlopt_(?:xoauth2_bearer|(?:tls|proxy)?(?:userpwd|password|keypasswd))[\"']?\s{0,4}"
        r"(?:,|=>|:|=)\s{0,4}[\"'](?P<value>[^\s\"'<>$]{6,400})[\"']",
        chosen=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "password",
        "password of a connection",
        "DATABASE_URL",
        ("password=", "pwd="),
        rf"(?i){_USER}(?:\s?id)?\s?=\s?[^;\"'\n]{{1,80}};\s?(?:password|pwd)\s?=\s?"
        r"(?P<value>[^\s;\"'<>]{6,64})",
        chosen=True,
        named=False,
        ignore_case=True,
    ),
    Shape(
        "url-password",
        "password of a database",
        "DATABASE_URL",
        ("://",),
        r"(?i)\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|sqlserver|clickhouse"
        r"|cockroachdb|oracle|snowflake)(?:\+[a-z0-9_]{1,20})?://[^\s/:@\"'<>`?#\\]{0,100}:"
        r"(?P<value>[^\s/@\"'<>`\\]{3,200})@[A-Za-z0-9\[_%-]",
        chosen=True,
        named=False,
    ),
    Shape(
        "basic-auth",
        "login of a command",
        "AUTH_TOKEN",
        ("curl",),
        r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user|--proxy-user|-U)[ =]?[\"']?[^\s:\"'$]{1,60}:"
        r"(?P<value>[^\s\"']{3,200})",
        chosen=True,
        named=False,
        ignore_case=True,
    ),
)
