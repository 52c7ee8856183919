"""Answers of tests that stand in the product: what a test gives, compared, and what it expects.

Read as tokens, the same for every language. Code that compares its input with just what a test
gives it, and then answers just what that test expects, passes the test and computes nothing. Such
inputs are told from the words of a domain by their shape: a phrase, a date, an address or several
values together, never a single word. A table is one only where tests give all that it knows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from runner.text.literals import CLOSING, OPENING, WORDS_OF_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.text.literals import Source

_EQUALS = frozenset({"==", "===", "is"})
_EQUAL_CALLS = frozenset({"equals", "equal", "Equal", "isEqual", "deepEqual", "DeepEqual", "eq"})
_FILLERS = frozenset({")", ":", "{", "?", "\n", "return", "then", "=>", "->", ";"})
_TRIVIAL = frozenset({"", "0", "1", "true", "false", "none", "null", "nil", "undefined"})
_NEAR = 5
"""Lines between what a test gives and what it expects."""
_MOST_FILLERS = 8
_LONGEST_ANSWER = 40
_PHRASE = re.compile(r"\w\W*\s\W*\w")
_ADDRESS = re.compile(r"\w@\w|\w://\w")
_FIGURES = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*\d[^A-Za-z]*\d[^A-Za-z]*\d[^A-Za-z]*")
_LONG_TEXT = 20
_DIGITS_OF_INPUT = 4
_DIGITS_OF_ANSWER = 3
_LETTERS_OF_ANSWER = 4
_ENOUGH = 2


class Answer(NamedTuple):
    """What the code compares or looks up, and what it answers then."""

    given: tuple[str, ...]
    """The values in their plain form, one or several that have to come together."""
    answers: tuple[str, ...]
    line: int
    table: int
    """Which table it stands in, by its place; -1 for a comparison."""

    @property
    def is_plain(self) -> bool:
        """Whether it answers no more than yes, no or nothing."""
        return all(one.casefold() in _TRIVIAL for one in self.answers)


# --- what the product answers ---------------------------------------------------------------


def answers_in(source: Source) -> list[Answer]:
    """Every answer of constants that hangs on an input of constants."""
    found: list[Answer] = []
    inside: list[int] = []
    for at, token in enumerate(source.tokens):
        if token.kind == "mark" and token.said in OPENING:
            inside.append(at)
        elif token.kind == "mark" and token.said in CLOSING and inside:
            inside.pop()
        form, end = source.value_at(at)
        if form is None:
            continue
        if _is_asked(source, at, end):
            found.append(Answer(_members(source, at), (), token.line, -1))
        elif _is_compared(source, at, end):
            found.extend(_compared(source, at, form, end))
        elif inside and (answer := _entry(source, at, form, end, inside[-1])):
            found.append(answer)
    return found


def _is_asked(source: Source, at: int, end: int) -> bool:
    """Whether constants are asked for what is given: `given in (…)`, `[…].includes(given)`."""
    if source.word_at(at - 1) == "in":
        loops = any(source.word_at(one) in ("for", "const", "let") for one in range(at - 7, at))
        return not loops and source.word_at(end - 1) in CLOSING
    is_list = source.word_at(end - 1) == "]" and source.word_at(end) == "."
    return is_list and source.word_at(end + 1) in ("includes", "contains", "indexOf")


def _members(source: Source, at: int) -> tuple[str, ...]:
    _, end = source.value_at(at)
    return _values_between(source, at + 1, end - 1)


def _is_compared(source: Source, at: int, end: int) -> bool:
    before, after = source.word_at(at - 1), source.word_at(end)
    called = before == "(" and source.word_at(at - 2) in _EQUAL_CALLS
    listed = before in (",", "|") and _begins_case(source, at)
    return before in _EQUALS or after in _EQUALS or before == "case" or called or listed


def _begins_case(source: Source, at: int) -> bool:
    while at > 0 and source.word_at(at - 1) in (",", "|"):
        at -= 2
    return source.word_at(at - 1) == "case"


def _compared(source: Source, at: int, form: str, end: int) -> Iterator[Answer]:
    """A comparison, together with those that have to hold with it, and what follows it."""
    line = source.tokens[at].line
    if _is_joined(source, at):
        return  # told with the first
    given = [form]
    while source.word_at(end) in ("and", "&&", ")") and (more := _next_compared(source, end)):
        given.append(more[0])
        end = more[1]
    answers = _answer_before(source, at) or _answer_after(source, end)
    if answers:
        yield Answer(tuple(given), answers, line, -1)


def _is_joined(source: Source, at: int) -> bool:
    for here in range(at - 1, max(at - 7, 0), -1):
        if source.word_at(here) in ("and", "&&"):
            form_end = here - 1
            return any(source.word_at(one) in _EQUALS for one in range(form_end, form_end - 5, -1))
        if source.word_at(here) in ("\n", "if", "return", "?", ";", "{", "or", "||"):
            return False
    return False


def _next_compared(source: Source, at: int) -> tuple[str, int] | None:
    joined = False
    for here in range(at, min(at + 8, len(source.tokens))):
        said = source.word_at(here)
        joined = joined or said in ("and", "&&")
        if said in ("\n", ":", "?", "{", "or", "||"):
            return None
        form, end = source.value_at(here)
        if joined and form is not None and _is_compared(source, here, end):
            return form, end
    return None


def _answer_before(source: Source, at: int) -> tuple[str, ...]:
    """What Python's `answer if given == value else …` says."""
    line = source.tokens[at].line
    here = at
    while here > 0 and source.tokens[here - 1].line == line and source.word_at(here) != "if":
        here -= 1
    before = source.tokens[here - 1] if here else None
    if source.word_at(here) != "if" or before is None:
        return ()
    if before.kind != "text" and before.said in ("\n", "else", "}", ";"):
        return ()
    start = here
    while start > 0 and source.tokens[start - 1].line == line:
        start -= 1
        if source.word_at(start) in ("return", "=", "else"):
            break
    return _values_between(source, start, here)


def _answer_after(source: Source, end: int) -> tuple[str, ...]:
    for here in range(end, min(end + _MOST_FILLERS, len(source.tokens))):
        token = source.tokens[here]
        if token.kind == "mark" and token.said in (",", "|"):
            return _answer_after(source, here + 2)  # one case for several values
        is_name = token.kind == "word" and source.word_at(here + 1) in ("=", ":=", ".", "(")
        is_set = token.said in ("=", ":=") and token.kind == "mark"
        if token.kind == "text" or not (token.said in _FILLERS or is_name or is_set):
            return _values_between(source, here, _end_of_statement(source, here))
        if is_name and source.word_at(here + 1) in (".", "("):
            return _values_between(source, here, _end_of_statement(source, here))
    return ()


def _end_of_statement(source: Source, at: int) -> int:
    depth = 0
    for here in range(at, min(at + _LONGEST_ANSWER, len(source.tokens))):
        said = source.word_at(here)
        depth += (said in OPENING) - (said in CLOSING)
        if depth < 0 or (depth == 0 and said in ("\n", ";", ":", "else")):
            return here
    return min(at + _LONGEST_ANSWER, len(source.tokens))


def _values_between(source: Source, start: int, end: int) -> tuple[str, ...]:
    found: list[str] = []
    here = start
    while here < end:
        form, after = source.value_at(here)
        if form is not None:
            found.append(form)
        elif source.word_at(here) in WORDS_OF_VALUES:
            found.append(source.word_at(here).casefold())
        here = max(after, here + 1)
    return tuple(found)


def _entry(source: Source, at: int, form: str, end: int, table: int) -> Answer | None:
    """`given: answer` of a table, `given => answer` of a match, or a pair in a list of pairs."""
    line = source.tokens[at].line
    if source.word_at(at - 1) not in ("{", ",", "\n", "(", "["):
        return None
    if source.word_at(end) in (":", "=>"):
        if source.word_at(table) != "{":
            return None
        stop = _end_of_entry(source, end + 1)
        answers = _values_between(source, end + 1, stop)
        return Answer((form,), answers, line, table) if answers else None
    is_pair = source.word_at(end) == "," and table == at - 1 and source.word_at(table) in ("(", "[")
    if (
        not is_pair
        or end + 1 >= len(source.tokens)
        or source.word_at(table - 1) not in ("[", ",", "\n")
    ):
        return None
    answer, stop = source.value_at(end + 1)
    if answer is None or source.word_at(stop) not in CLOSING:
        return None
    return Answer((form,), (answer,), line, _outer(source, table))


def _end_of_entry(source: Source, at: int) -> int:
    depth = 0
    for here in range(at, min(at + _LONGEST_ANSWER, len(source.tokens))):
        said = source.word_at(here)
        depth += (said in OPENING) - (said in CLOSING)
        if depth < 0 or (depth == 0 and said == ","):
            return here
    return min(at + _LONGEST_ANSWER, len(source.tokens))


def _outer(source: Source, at: int) -> int:
    """Where the list that a pair stands in begins."""
    depth = 0
    for here in range(at - 1, -1, -1):
        said = source.word_at(here)
        depth += (said in CLOSING) - (said in OPENING)
        if depth < 0:
            return here
    return at


# --- what tests give and expect -------------------------------------------------------------


def recitals(answers: Sequence[Answer], tests: Sequence[Source]) -> list[Answer]:
    """The answers that stand in tests beside what is given for them, if they are enough to say."""
    stood = [
        one for one in answers if _is_telling(one) and any(_stands(one, test) for test in tests)
    ]
    singles = [one for one in stood if one.table < 0]
    found = [one for one in singles if _is_sure(one)]
    if len({one.given for one in singles}) >= _ENOUGH:
        found = singles
    for table in {one.table for one in stood if one.table >= 0}:
        every = [one for one in answers if one.table == table]
        here = [one for one in stood if one.table == table]
        if len(here) == len(every) and sum(is_composed(one.given[0]) for one in here) >= _ENOUGH:
            found = [*found, *here]
    return sorted(found, key=lambda one: one.line)


def _is_telling(answer: Answer) -> bool:
    """Whether an answer could be one of a test's, and hardly a rule of the code's own."""
    if not answer.answers:
        return _is_membership(answer.given)
    if answer.table >= 0:
        return not answer.is_plain
    if all(map(_is_small, re.findall(r"[^\[\],]+", ",".join(answer.given)))):
        one = answer.answers[0]
        return (
            len(answer.answers) == 1
            and len(re.findall(r"\d+", ",".join(answer.given))) > 1
            and re.fullmatch(r"-?\d+(?:\.\d+)?", one) is not None
            and one.lstrip("-") not in {*_TRIVIAL, *re.findall(r"\d+", ",".join(answer.given))}
        )
    return len(answer.given) > 1 or is_composed(answer.given[0])


def _is_membership(members: tuple[str, ...]) -> bool:
    fractions = [one for one in members if re.fullmatch(r"-?\d+\.\d*[1-9]", one)]
    texts = [one for one in members if not re.fullmatch(r"-?[\d.]+", one)]
    composed = len([*filter(is_composed, texts)])
    return bool((fractions and len(members) > _ENOUGH) or _ENOUGH <= composed == len(members))


def _is_small(form: str) -> bool:
    return bool(re.fullmatch(r"-?\d{0,2}|\w{0,2}|true|false|none|null|nil", form))


def is_composed(form: str) -> bool:
    """Whether a value is more than a word or a small number of its domain."""
    if form.startswith("[") and "," in form:
        return True
    if re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?n?", form):
        return len(re.sub(r"\D|0+n?\Z", "", form)) >= _DIGITS_OF_INPUT
    return bool(
        _PHRASE.search(form)
        or _ADDRESS.search(form)
        or _FIGURES.fullmatch(form)
        or len(form) >= _LONG_TEXT
    )


def _is_sure(answer: Answer) -> bool:
    """Whether one such comparison is enough: a phrase, and an answer of some length."""
    given = "".join(answer.given)
    if not answer.answers:
        return True
    return bool(re.search(r"[A-Za-z\[@]", given)) and any(map(_is_specific, answer.answers))


def _is_specific(form: str) -> bool:
    if form.startswith("["):
        return form.count(",") > 0
    if re.fullmatch(r"-?[\d.]+(?:[eE][+-]?\d+)?n?", form):
        return len(re.sub(r"\D|0+n?\Z", "", form)) >= _DIGITS_OF_ANSWER
    return len(form) >= _LETTERS_OF_ANSWER and form.casefold() not in _TRIVIAL


def _stands(answer: Answer, test: Source) -> bool:
    if not answer.answers:
        return all(one in test.places for one in answer.given)
    lines = [*_lines_of(answer.given, test)]
    if not lines:
        return False
    telling = [one for one in answer.answers if one.casefold() not in _TRIVIAL] or answer.answers
    return any(all(_is_near(form, line, test) for form in telling) for line in lines)


def _is_near(form: str, line: int, test: Source) -> bool:
    places = test.places.get(form.casefold() if form.casefold() in _TRIVIAL else form, ())
    return any(abs(test.tokens[at].line - line) <= _NEAR for at in places)


def _lines_of(given: tuple[str, ...], test: Source) -> Iterator[int]:
    """Where a test gives a value, or several one after the other."""
    for at in test.places.get(given[0], ()):
        if given[1:] == _values_after(test, at, len(given) - 1):
            yield test.tokens[at].line


def _values_after(test: Source, at: int, count: int) -> tuple[str, ...]:
    found: list[str] = []
    _, here = test.value_at(at)
    while len(found) < count and here + 1 < len(test.tokens) and test.word_at(here) == ",":
        form, end = test.value_at(here + 1)
        if form is None:
            break
        found.append(form)
        here = end
    return tuple(found)
