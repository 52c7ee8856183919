"""Plans that are small, and what is seen in them."""

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
