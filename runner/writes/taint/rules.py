"""Sources, sinks and what disarms a value, by dotted name: the data of the walk.

After the categories of OWASP's benchmark and CWE's own pages; every name is of a public API.
"""

from __future__ import annotations

from runner.lazy_dataclass import dataclass


def words(text: str) -> tuple[str, ...]:
    """The words of a text: lists of names read better without their quotes."""
    return tuple(text.split())


SOURCES = frozenset(
    words("""
    flask.request django.request bottle.request sanic.request quart.request starlette.request
    fastapi.request aiohttp.request cherrypy.request sys.argv sys.stdin os.environ
    """)
)
"""Objects of which every attribute, item and answer is somebody else's."""
SOURCE_CALLS = frozenset(words("input os.getenv os.environ.get sys.stdin.read sys.stdin.readline"))
WEAK_SOURCES = frozenset(
    words(
        "sys.argv sys.stdin os.environ input os.getenv os.environ.get sys.stdin.read "
        "sys.stdin.readline"
    )
)
"""A person's own: worth a word before a shell or a parser of code, not before a file."""
SERIALIZERS = frozenset(
    words("dump dumps model_dump model_dump_json to_dict as_dict asdict to_json jsonify")
)
"""What these make is data, which a framework answers as JSON."""
HARMLESS_ANSWERS = frozenset(words("is_secure is_ajax get_host accepts close send_json send_text"))
"""Methods of a request that tell nothing of its content."""
REQUEST_WORDS = ("param", "query", "form", "header", "cookie", "body", "json", "input", "arg")
"""A method of an object made from a request hands its content on where its name says so."""

SAFE_CALLS = frozenset(
    words("""
    int float bool len hash id ord isinstance type range enumerate sum min max uuid.UUID
    datetime.datetime.strptime datetime.date.fromisoformat datetime.datetime.fromisoformat
    ipaddress.ip_address werkzeug.utils.secure_filename os.path.exists os.path.isfile
    """)
)
"""What comes out of these carries nothing dangerous."""
PURE = ("base64.", "binascii.", "urllib.parse.", "html.", "textwrap.", "string.", "shlex.", "math.")
"""Modules whose functions make harmless things of constants."""
PAGES = frozenset(("flask.make_response", "flask.Response", "bottle.HTTPResponse"))
"""Functions that make a page of a body."""
DISARMS = {
    "html.escape": {"xss"},
    "markupsafe.escape": {"xss"},
    "cgi.escape": {"xss"},
    "bleach.clean": {"xss"},
    "django.utils.html.escape": {"xss"},
    "flask.escape": {"xss"},
    "flask.jsonify": {"xss"},
    "json.dumps": {"xss"},
    "shlex.quote": {"cmdi"},
    "pipes.quote": {"cmdi"},
    "os.path.basename": {"pathtraver"},
    "ldap.filter.escape_filter_chars": {"ldapi"},
    "ldap3.utils.conv.escape_filter_chars": {"ldapi"},
    "flask.url_for": {"redirect"},
}
DISARMS |= {
    name: {"xss"}
    for name in words(
        "flask.redirect flask.render_template flask.send_file flask.send_from_directory "
        "django.shortcuts.render open io.open subprocess.run subprocess.check_output "
        "subprocess.getoutput subprocess.Popen subprocess.call os.popen"
    )
}
"""What a file, a program or a template answers is not the text that it was asked with."""
ESCAPING_WORDS = {
    "html": "xss",
    "xml": "xpathi",
    "xpath": "xpathi",
    "shell": "cmdi",
    "ldap": "ldapi",
}
"""A function called `escape_for_html` disarms what it says."""
WRITERS = frozenset(words("write append add extend insert put feed update appendleft writelines"))
"""Methods by which an object takes over what it is given."""


@dataclass(frozen=True, slots=True)
class Sink:
    """Where a value does harm; `places` are positions and keywords of arguments that matter."""

    kind: str
    places: tuple[int | str, ...] = (0,)
    weak: bool = False
    """Whether a person's own input matters here, too."""


SAYS = {
    "cmdi": ("CWE-78", "a command is put together from", "high"),
    "sqli": ("CWE-89", "a statement of SQL is put together from", "high"),
    "codeinj": ("CWE-94", "code is executed that comes from", "high"),
    "deserialization": ("CWE-502", "objects are made from", "high"),
    "pathtraver": ("CWE-22", "a path is put together from", "medium"),
    "xss": ("CWE-79", "a page shows, unescaped,", "medium"),
    "xpathi": ("CWE-643", "an XPath is put together from", "medium"),
    "ldapi": ("CWE-90", "an LDAP filter is put together from", "medium"),
    "redirect": ("CWE-601", "a redirect leads to", "medium"),
    "trustbound": ("CWE-501", "the session keeps, unchecked,", "low"),
    "xxe": ("CWE-611", "XML with external entities is read from", "high"),
    "ssti": ("CWE-1336", "a template is made from", "high"),
    "ssrf": ("CWE-918", "an address is asked that comes from", "medium"),
    "weakhash": ("CWE-328", "a digest that is broken", "medium"),
    "weakrand": ("CWE-330", "numbers that can be foretold", "low"),
    "securecookie": ("CWE-614", "a cookie that travels unencrypted", "medium"),
}
"""By kind: its weakness, its words, its severity."""

CALLS = {
    **dict.fromkeys(
        words(
            "os.system os.popen subprocess.getoutput subprocess.getstatusoutput "
            "asyncio.create_subprocess_shell commands.getoutput pty.spawn"
        ),
        Sink("cmdi", weak=True),
    ),
    **dict.fromkeys(words("eval exec compile"), Sink("codeinj", weak=True)),
    **dict.fromkeys(
        words(
            "pickle.loads pickle.load cPickle.loads dill.loads dill.load marshal.loads shelve.open "
            "jsonpickle.decode yaml.unsafe_load yaml.full_load yaml.load_all"
        ),
        Sink("deserialization", weak=True),
    ),
    **dict.fromkeys(
        words(
            "open io.open codecs.open os.open os.remove os.unlink os.rename os.replace os.mkdir "
            "os.makedirs os.rmdir os.listdir os.scandir shutil.rmtree shutil.copy shutil.copyfile "
            "shutil.move flask.send_file tarfile.open zipfile.ZipFile aiofiles.open "
            "starlette.responses.FileResponse fastapi.responses.FileResponse"
        ),
        Sink("pathtraver"),
    ),
    **dict.fromkeys(
        words(
            "flask.redirect django.shortcuts.redirect django.http.HttpResponseRedirect "
            "bottle.redirect starlette.responses.RedirectResponse "
            "fastapi.responses.RedirectResponse"
        ),
        Sink("redirect"),
    ),
    **dict.fromkeys(words("lxml.etree.XPath lxml.etree.ETXPath"), Sink("xpathi")),
    "elementpath.select": Sink("xpathi", (1, "path")),
    **dict.fromkeys(
        words("flask.render_template_string jinja2.Template mako.template.Template"), Sink("ssti")
    ),
    **dict.fromkeys(
        words(
            "markupsafe.Markup flask.Markup django.http.HttpResponse "
            "django.utils.safestring.mark_safe starlette.responses.HTMLResponse "
            "fastapi.responses.HTMLResponse"
        ),
        Sink("xss"),
    ),
    **dict.fromkeys(
        words(
            "requests.get requests.post requests.put requests.request requests.head httpx.get "
            "httpx.post urllib.request.urlopen"
        ),
        Sink("ssrf"),
    ),
}
METHODS = {
    "execute": Sink("sqli", (0, "query", "sql", "statement")),
    "executemany": Sink("sqli"),
    "executescript": Sink("sqli"),
    "raw": Sink("sqli"),
    "xpath": Sink("xpathi"),
    "search": Sink("ldapi", (1, "search_filter", "filterstr")),
    "search_s": Sink("ldapi", (2, "filterstr")),
    "search_ext_s": Sink("ldapi", (2, "filterstr")),
    "search_st": Sink("ldapi", (2, "filterstr")),
    "read_text": Sink("pathtraver", ("self",)),
    "read_bytes": Sink("pathtraver", ("self",)),
    "write_text": Sink("pathtraver", ("self",)),
    "write_bytes": Sink("pathtraver", ("self",)),
    "unlink": Sink("pathtraver", ("self",)),
    "open": Sink("pathtraver", ("self",)),
    "exists": Sink("pathtraver", ("self",)),
}
PROCESSES = frozenset(
    words(
        "subprocess.run subprocess.call subprocess.check_call subprocess.check_output "
        "subprocess.Popen asyncio.create_subprocess_exec os.execv os.execvp os.execve "
        "os.spawnv os.spawnvp"
    )
)
XML_READERS = frozenset(
    words(
        "xml.dom.minidom.parseString xml.dom.minidom.parse xml.sax.parseString xml.sax.parse "
        "lxml.etree.fromstring lxml.etree.parse lxml.etree.XML"
    )
)
SAFE_LOADERS = frozenset(words("yaml.SafeLoader yaml.CSafeLoader yaml.BaseLoader"))
WEAK_HASHES = frozenset(words("md4 md5 sha sha1 ripemd160 mdc2"))
RANDOM = frozenset(
    words(
        "random randrange randint choice choices uniform triangular randbytes getrandbits "
        "normalvariate "
        "gauss betavariate expovariate lognormvariate sample shuffle paretovariate vonmisesvariate "
        "weibullvariate gammavariate"
    )
)
BANDIT = {
    "B102": "codeinj",
    "B307": "codeinj",
    "B301": "deserialization",
    "B302": "deserialization",
    "B506": "deserialization",
    "B608": "sqli",
    **dict.fromkeys(("B602", "B603", "B604", "B605", "B606", "B607", "B609"), "cmdi"),
    **dict.fromkeys(("B313", "B314", "B315", "B316", "B317", "B318", "B319", "B320"), "xxe"),
    "B311": "weakrand",
    "B324": "weakhash",
    "B303": "weakhash",
    "B310": "ssrf",
    "B704": "xss",
}
"""Which of our kinds a rule of bandit's speaks of."""
