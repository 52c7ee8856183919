"""Plans that are small, what is seen in them, and texts that want to be more than texts."""

import json

GREET = """\
## TASK-001: Greeting
- Status: PENDING
- Output files: `greet.py`
- Test contracts:
  - TC-001 (unit): `python3 -c "import greet; assert greet.TEXT == 'hello'"`

```python file=greet.py
TEXT = "hello"
```
"""
NOTE = """\
## TASK-002: Note
- Status: PENDING
- Depends on: TASK-001
- Output files: `note.txt`
- Proof: none — a note is read by people

```text file=note.txt
yes
```
"""
HOSTILE = (
    "<script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", '"><svg onload=hit()>',
    "'onmouseover='hit()", "</title><script>hit()</script>", "</textarea><script>hit()</script>",
    "{{ 7*7 }}", "{% raw %}", "${7*7}", "javascript:hit()", "<!--", "]]>", "&lt;script&gt;",
    "<a href=javascript:hit()>x</a>", "<style>*{display:none}</style>", "<base href=//evil>",
    "<meta http-equiv=refresh content=0>", "<iframe src=//evil>", "<form action=//evil>",
    "hx-get=/x hx-trigger=load", "<div hx-get=/b hx-trigger=load>", "<b data-hx-on:load=hit()>",
    "\u202egnp.exe", "\u200bzero", "\ufeffmark", "\x1b[31mred", "a\u0000b".replace("\0", "␀"),
    "😀" * 50, "x" * 500, "<math><mi xlink:href=javascript:hit()>", "%3Cscript%3E",
)  # fmt: skip


def journal(workplace, kind=""):
    """Its records, of one type or of all."""
    lines = workplace.read("artifacts/build/journal.jsonl").splitlines()
    return [one for one in map(json.loads, lines) if kind in ("", one["type"])]
