"""Foreign text is followed to where it does harm; constants, checks and disarmed text are not."""

from __future__ import annotations

import ast
import time
import tracemalloc

import pytest

from runner.writes.bandit_scan import readable
from runner.writes.sast import scan_file
from runner.writes.taint.findings import walk

TOP = """
import os, subprocess, pickle, base64, html, shlex, configparser, hashlib, random, flask
from flask import request, make_response
app = flask.Flask("x")

@app.route("/page", methods=["POST"])
def page():
    value = request.args.get("name")
"""


def rules(body, top=TOP):
    source = top + "".join(f"    {line}\n" for line in body.splitlines())
    return {one.rule: one for one in scan_file(source.encode(), "app.py").findings}


def taints(body, top=TOP):
    return {rule for rule in rules(body, top) if rule.startswith("taint-")}


HARM = {
    "cmdi": 'subprocess.run(f"ls {value}", shell=True)',
    "a shell's own words": 'subprocess.run(["sh", "-c", "ls " + value])',
    "sqli": "db.cursor().execute(\"select * from t where n = '%s'\" % value)",
    "codeinj": "eval(value)",
    "deserialization": "pickle.loads(base64.b64decode(value))",
    "pathtraver": 'open("/data/" + value)',
    "xpathi": "tree.xpath(f\"//a[@n='{value}']\")",
    "ldapi": 'conn.search("ou=x", f"(uid={value})")',
    "redirect": "return flask.redirect(value)",
    "trustbound": 'flask.session["user"] = value',
    "xss": 'return "<p>" + value',
    "a page of several parts": 'return make_response(("<p>" + value, 200))',
    "a list's item": 'parts = ["a"]\nparts.append(value)\nparts.pop(0)\nos.system(parts[0])',
    "a dict's item": 'kept = {"a": "1"}\nkept["b"] = value\nos.system(kept["b"])',
    "a configuration": (
        "conf = configparser.ConfigParser()\n"
        'conf.set("s", "k", value)\nos.system(conf.get("s", "k"))'
    ),
    "a loop": "line = ''\nfor one in request.form.getlist('n'):\n    line += one\nos.system(line)",
    "a branch that may be taken": "line = 'x'\nif flag:\n    line = value\nos.system(line)",
}


@pytest.mark.parametrize(("what", "body"), HARM.items(), ids=HARM)
def test_foreign_text_that_does_harm_is_told(what, body):
    told = taints(body)
    assert len(told) == 1
    if " " not in what:
        assert told == {f"taint-{what}"}


HARMLESS = {
    "a constant": 'name = "a"\nos.system("ls " + name)',
    "another item": 'kept = {}\nkept["a"] = "1"\nkept["b"] = value\nos.system(kept["a"])',
    "a branch never taken": 'line = "ls" if 7 * 42 > 200 else value\nos.system(line)',
    "an escaped text on a page": "return html.escape(value)",
    "a quoted word": "os.system('ls ' + shlex.quote(value))",
    "a number": "os.system(f'head -n {int(value)}')",
    "a parameter of a statement": 'cur.execute("select ? from t", (value,))',
    "a word of a command": 'subprocess.run(["ls", value])',
    "a check that leaves": 'if value not in ("a", "b"):\n    return "no"\nos.system(value)',
    "a check that allows": 'if value in ("a", "b"):\n    os.system(value)',
    "a match": (
        'match "B":\n    case "A":\n        line = value\n'
        '    case _:\n        line = "x"\nos.system(line)'
    ),
    "a header of a page": 'return make_response(("fine", {"x-name": value}))',
    "the path of a constant route": 'open("/data/" + request.path)',
}


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS)
def test_what_does_no_harm_is_not_told(body):
    assert taints(body) == set()


def test_a_finding_says_the_weakness_and_where_the_value_came_from():
    found = rules("os.system(value)")["taint-cmdi"]
    assert (found.tool, found.severity, found.confidence) == ("taint", "high", "high")
    assert found.message == "CWE-78: a command is put together from flask.request.args"
    assert found.line == 9


def test_bandits_word_is_kept_where_nobody_knows_and_left_out_where_constants_come():
    assert "B605" in rules("os.system(line)", TOP.replace("page()", "page(line)"))
    assert "B605" not in rules("os.system(value)")
    assert "B605" not in rules('line = "ls" + " -l"\nos.system(line)')
    checked = rules('if value not in ("a", "b"):\n    return "no"\nos.system(value)')["B605"]
    assert checked.severity == checked.confidence == "low"


def test_weak_digests_numbers_and_cookies_need_no_foreign_text():
    body = 'hashlib.new("md5")\nrandom.normalvariate()\nreply.set_cookie("a", "b", secure=False)'
    assert taints(body) == {"taint-weakhash", "taint-weakrand", "taint-securecookie"}
    harmless = (
        "hashlib.md5(usedforsecurity=False)\nhashlib.sha256()\nrandom.SystemRandom().random()\n"
        'reply.set_cookie("a", "b", secure=True)'
    )
    assert taints(harmless) == set()


def test_a_persons_own_input_matters_to_a_shell_and_not_to_a_file():
    top = "import os, sys\ndef main():\n    name = sys.argv[1]\n"
    assert taints("open(name)", top) == set()
    assert rules("os.system(name)", top)["taint-cmdi"].severity == "low"


def test_a_parameter_of_a_function_is_unknown_and_not_told():
    assert taints("os.system(line)", "import os\ndef f(line):\n") == set()


def test_source_of_a_newer_python_is_read_with_its_lines_and_columns():
    source = "def f(d, x):\n    return f'{d['k']} {', '.join(x)} {x!r:>{d['w']}} {{no}}', g(x)\n"
    older = readable(source)
    assert len(older) == len(source)
    assert older.index("g(x)") == source.index("g(x)")
    ast.parse(older)
    plain = 'x = "{not a field\'s}"  # it\'s f\'{a comment\ny = rb"{" + f"{x}"\n'
    assert readable(plain) == plain


@pytest.mark.no_cover
def test_hostile_source_is_walked_in_time():
    lines = "\n".join(
        f"    v{n} = v{n - 1} + v{n - 1} if a{n} else v{n - 1}" for n in range(1, 3000)
    )
    source = f"def f(v0):\n{lines}\n    x = 'a' * 10 ** 9\n".encode()
    before = time.process_time()
    scan_file(source, "a.py")
    assert time.process_time() - before < 20


@pytest.mark.parametrize("calls", [1, 14, 300])
def test_calls_one_behind_the_other_hide_nothing(calls):
    chain = "".join(f".where(a{number}=1)" for number in range(calls))
    assert taints(f"rows = query{chain}\nos.system(value)") == {"taint-cmdi"}


FAST = """
import os, subprocess
from fastapi import FastAPI, Query, Request, UploadFile
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
app = FastAPI()

@app.get("/page/{name}")
async def page(request: Request, up: UploadFile, name: str, size: int, q: str = Query("")):
"""
DJANGO = """
import os
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

def page(request):
"""
VIEW = """
import os
from django.http import HttpResponseRedirect
from django.views import View

class Page(View):
  def get(self, other):
"""
FLASK = """
import subprocess
from flask import Flask, render_template, request, send_from_directory
app = Flask("x")

@app.route("/page/<name>/<int:size>")
def page(name, size):
"""


@pytest.mark.parametrize(
    ("top", "body", "rule"),
    [
        (FAST, 'os.system("ls " + name)', "taint-cmdi"),
        (FAST, "return FileResponse('/data/' + q)", "taint-pathtraver"),
        (FAST, "return HTMLResponse(f'<b>{q}</b>')", "taint-xss"),
        (FAST, "return RedirectResponse(name)", "taint-redirect"),
        (FAST, "body = await request.json()\nos.system(body['x'])", "taint-cmdi"),
        (FAST, "open('/data/' + up.filename)", "taint-pathtraver"),
        (DJANGO, "os.system(request.GET['x'])", "taint-cmdi"),
        (DJANGO, "return redirect(request.GET['next'])", "taint-redirect"),
        (VIEW, "return HttpResponseRedirect(self.request.GET['next'])", "taint-redirect"),
        (FLASK, "db.execute(f\"select * from t where n = '{name}'\")", "taint-sqli"),
        (FLASK, "os_name = request.get_json()['os']\neval(os_name)", "taint-codeinj"),
    ],
)
def test_what_a_framework_fills_in_is_somebody_elses(top, body, rule):
    assert rule in taints(body, top)


@pytest.mark.parametrize(
    ("top", "body"),
    [
        (FAST, 'os.system(f"ls {size}")'),
        (FAST, "return {'q': q, 'name': name}"),
        (FLASK, "open(f'/data/{size}')"),
        (FLASK, "return subprocess.check_output(['ping', '--', name])"),
        (FLASK, "return render_template('a.html', name=name)"),
        (FLASK, "return send_from_directory('/data', name)"),
        (FLASK, "return schema.dump(request.get_json())"),
        (
            DJANGO,
            """to = request.GET["to"]
if not url_has_allowed_host_and_scheme(to, {"a"}):
    to = "/"
return redirect(to)""",
        ),
        ("import os\n\ndef send(request):\n", "open(request.url)"),
    ],
)
def test_what_a_framework_converts_checks_or_answers_as_data_is_harmless(top, body):
    assert taints(body, top) == set()


BOMBS = {
    "a width": "x = '%300000000d' % 1",
    "a width that no memory holds": "x = '%9999999999999d' % 1",
    "texts that double": "x = 'a' * 900\n" + "x = f'{x}{x}'\n" * 40,
    "sums that double": "x = 'a' * 900\n" + "x += x\n" * 40,
    "texts divided by texts": "x = 'a' * 900\n" + "x = x / x\n" * 40,
    "products": "x = 'a' * 999\n" + "x = x * 999\n" * 5,
    "numbers": "x = 1 << 63\nx = 2 ** 63\nx = 9999999999\n" + "x = x * x\n" * 40,
    "replacements": "x = 'a' * 900\n" + "x = x.replace('a', x)\n" * 9,
    "codecs": "x = 'a' * 900\n" + "x = x.encode('utf-32').decode('latin-1')\n" * 20,
    "bytes written out": "x = b'\\\\' * 900\n" + "x = str(x).encode()\n" * 40,
    "a number of too many digits": "x = f'{0x" + "f" * 5000 + "}'\ny = str(0x" + "f" * 5000 + ")",
    "lists of one another": "x = [value]\n" + "x = [x, x]\n" * 40 + "os.system(x)",
    "lists that are compared": (
        "if flag:\n x = [1]\n" + " x = [x, x]\n" * 40 + "else:\n x = [1]\n" + " x = [x, x]\n" * 40
    ),
}


@pytest.mark.parametrize("body", BOMBS.values(), ids=BOMBS)
def test_no_constant_of_the_code_is_computed_that_is_large(body):
    tree = ast.parse(TOP + "".join(f"    {line}\n" for line in body.splitlines()))
    tracemalloc.start()
    began = time.process_time()
    walk(tree, lambda: None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000
    assert time.process_time() - began < 5


def test_a_text_too_large_to_be_folded_is_a_constant_all_the_same():
    for made in ("'%300000000d' % 1", "'a' * 300000000", "f'{1:>300000000}'"):
        assert "B608" not in rules(f"db.execute('select a from t where n = ' + {made})")
        assert taints(f"db.execute({made} + value)") == {"taint-sqli"}


def test_a_width_makes_another_text_than_the_one_without_it():
    kept = "line = 'x'\nif f'{1:>3}' != '1':\n    line = value\nos.system(line)"
    assert taints(kept) == {"taint-cmdi"}


def test_equal_lists_of_two_branches_are_one_list():
    kept = "if flag:\n    x = [['a'], value]\nelse:\n    x = [['a'], value]\nos.system(x[0][0])"
    assert not taints(kept)
