"""Our `dataclass` is the standard library's, but for when its methods are written."""

import copy
import dataclasses
import importlib
import inspect
import pkgutil
import sys
from dataclasses import FrozenInstanceError, field, replace

import pytest

import runner
from runner.lazy_dataclass import dataclass

WAYS = [{}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}]


def pair(**ways):
    """The same class by ours and by the standard library."""

    def make(decorate):
        class Base:
            one: int
            two: str = "2"

        class Point(decorate(**ways)(Base)):
            many: list[int] = field(default_factory=list)
            quiet: int = field(default=7, repr=False, compare=False)
            inner: int = field(default=9, init=False)
            made: set[int] = field(default_factory=set, init=False)

            def __post_init__(self):
                self.made.add(self.one)

        return decorate(**ways)(Point)

    return make(dataclass), make(dataclasses.dataclass)


def outcome(act):
    try:
        return act()
    except (TypeError, AttributeError, FrozenInstanceError) as error:
        return type(error), str(error)


ACTS = {
    "repr": lambda kind: repr(kind(1, "x", many=[3])),
    "fields": lambda kind: dataclasses.asdict(kind(4)),
    "equal": lambda kind: (kind(1) == kind(1), kind(1) == kind(2), kind(1, quiet=3) == kind(1)),
    "not equal to others": lambda kind: (kind(1) == 1, kind(1) != "1", kind.__eq__(kind(1), 1)),
    "hash": lambda kind: hash(kind(1, many=())),
    "hash that cannot be": lambda kind: hash(kind(1)),
    "lists of their own": lambda kind: kind(1).many is kind(1).many,
    "another by replace": lambda kind: repr(replace(kind(1), two="3")),
    "copies": lambda kind: (copy.copy(kind(1)) == kind(1), copy.deepcopy(kind(1, many=[2])).many),
    "given by place": lambda kind: dataclasses.astuple(kind(1, "b", [2], 3)),
    "too few": lambda kind: kind(),
    "too many": lambda kind: kind(1, "b", [2], 3, 4, 5),
    "unknown": lambda kind: kind(1, colour="red"),
    "set": lambda kind: setattr(kind(1), "one", 5),
    "deleted": lambda kind: delattr(kind(1), "two"),
    "parameters": lambda kind: [
        (name, one.kind) for name, one in inspect.signature(kind(1).__init__).parameters.items()
    ],
    "match": lambda kind: kind.__match_args__,
    "slots": lambda kind: getattr(kind, "__slots__", None),
    "dict": lambda kind: hasattr(kind(1), "__dict__"),
    "name": lambda kind: (kind.__init__.__name__, kind.__qualname__),
}


@pytest.mark.parametrize("ways", WAYS, ids=str)
@pytest.mark.parametrize("act", ACTS, ids=str)
def test_a_class_behaves_as_by_the_standard_library(ways, act):
    ours, theirs = pair(**ways)
    first = outcome(lambda: ACTS[act](ours))
    assert first == outcome(lambda: ACTS[act](theirs))
    assert outcome(lambda: ACTS[act](ours)) == first  # and when its methods are written


def test_a_method_of_its_own_stays():
    @dataclass(frozen=True, slots=True)
    class Own:
        one: int

        def __repr__(self):
            return "own"

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 5

    assert (repr(Own(1)), Own(1) == Own(2), hash(Own(3))) == ("own", True, 5)


def test_a_stand_in_gives_way_to_what_it_had_written():
    ours, _ = pair(frozen=True)
    before = ours.__init__
    ours(1)
    assert ours.__init__ is not before
    assert ours.__init__.__code__.co_varnames[:3] == ("self", "one", "two")


def nouns():
    """Every class of the house that this decorator made."""
    found = set()
    for one in pkgutil.walk_packages(runner.__path__, "runner."):
        if {"inside", "starter", "migrations", "__main__"} & set(one.name.split(".")):
            continue
        module = importlib.import_module(one.name)
        found |= {
            kind
            for kind in vars(module).values()
            if isinstance(kind, type)
            and kind.__module__.startswith("runner.")
            and dataclasses.is_dataclass(kind)
        }
    return sorted(found, key=lambda kind: (kind.__module__, kind.__qualname__))


def test_every_noun_of_the_house_is_made_with_the_parameters_the_library_gives_it():
    from runner.lazy_dataclass import _init, _twin

    kinds = nouns()
    assert len(kinds) > 300
    for kind in kinds:
        if "__init__" in vars(kind) and "self" in inspect.signature(kind.__init__).parameters:
            continue  # written, or its own
        ours = inspect.signature(_init(kind, frozen=False)).parameters.values()
        theirs = inspect.signature(_twin(kind, init=True).__init__).parameters.values()
        assert [(one.name, one.kind) for one in ours] == [(one.name, one.kind) for one in theirs]
        defaults = [
            (a.default, b.default)
            for a, b in zip(ours, theirs, strict=True)
            if repr(b.default) != "<factory>"
        ]
        assert all(a is b or a == b for a, b in defaults), kind


# --- fields that share a slot -----------------------------------------------------------


def pair_with_seldom(*, frozen):
    def make(decorate):
        class Noun:
            __seldom__ = ("note", "number", "flag")

            name: str
            note: str = ""
            many: tuple[int, ...] = ()
            number: float | None = None
            flag: bool = False

            def __post_init__(self):
                if self.note == "say":
                    object.__setattr__(self, "note", "said")
                    object.__setattr__(self, "many", (1,))

        return decorate(frozen=frozen, slots=True)(Noun)

    return make(dataclass), make(dataclasses.dataclass)


SELDOM_ACTS = {
    "repr": lambda kind: [repr(kind("a")), repr(kind("a", "x", (2,), 3.5, flag=True))],
    "fields": lambda kind: dataclasses.asdict(kind("note", note="number", number=0)),
    "changed while made": lambda kind: dataclasses.astuple(kind("a", note="say", number=7)),
    "equal": lambda kind: (kind("a") == kind("a", ""), kind("a", flag=True) == kind("a")),
    "hash": lambda kind: hash(kind("a", number=2)),
    "its type is kept": lambda kind: (kind("a", flag=0).flag is False, kind("a", flag=0).flag),
    "replace": lambda kind: [repr(replace(kind("a", "b"), note="")), replace(kind("a"), flag=1)],
    "copies": lambda kind: [
        repr(again(kind("a", "x", number=one)))
        for again in (copy.copy, copy.deepcopy)
        for one in (None, 0, 2)
    ],
    "set": lambda kind: setattr(kind("a"), "note", 5),
    "deleted": lambda kind: delattr(kind("a"), "number"),
    "match": lambda kind: kind.__match_args__,
    "parameters": lambda kind: [
        (name, one.kind) for name, one in inspect.signature(kind("a").__init__).parameters.items()
    ],
}


@pytest.mark.parametrize("act", SELDOM_ACTS, ids=str)
def test_fields_that_share_a_slot_behave_as_those_of_the_standard_library(act):
    ours, theirs = pair_with_seldom(frozen=True)
    for _ in "12":  # before and behind the writing of its methods
        got = outcome(lambda: SELDOM_ACTS[act](ours))
        wanted = outcome(lambda: SELDOM_ACTS[act](theirs))
        assert repr(got) == repr(wanted)


def test_a_field_that_shares_a_slot_can_be_set_where_nothing_is_frozen():
    ours, _ = pair_with_seldom(frozen=False)
    noun = ours("a", flag=True)
    noun.number, noun.flag = 3.0, False
    assert dataclasses.astuple(noun) == ("a", "", (), 3.0, False)


def test_an_object_whose_seldom_fields_say_nothing_is_small():
    ours, theirs = pair_with_seldom(frozen=True)
    assert sys.getsizeof(ours("a")) == sys.getsizeof(theirs("a")) - 2 * 8
    assert ours("a", "x").__rest__[0] is ours("b", "y").__rest__[0]
