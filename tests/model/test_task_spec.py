"""The two digests of a task, kept as bytes: texts in, the same texts out, whatever they are."""

import copy
import pickle
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.model import Spec

ONE, OTHER = "sha256:" + "ab" * 32, "sha256:" + "0f" * 32

digests = st.one_of(
    st.text(max_size=80),
    st.just(""),
    st.binary(min_size=32, max_size=32).map(lambda one: "sha256:" + one.hex()),
    st.binary(min_size=32, max_size=32).map(lambda one: "sha256:" + one.hex().upper()),
    st.binary(min_size=30, max_size=34).map(lambda one: "sha256:" + one.hex()),
    st.binary(min_size=32, max_size=32).map(bytes.hex),
    st.text("0123456789abcdef :", min_size=60, max_size=70).map("sha256:".__add__),
)


@given(digests, digests, digests, digests)
def test_whatever_is_put_in_comes_out_and_tells_equal_from_different(what, proof, other, also):
    spec = Spec(what, proof)
    assert (spec.what, spec.proof) == (what, proof)
    assert (spec == Spec(other, also)) is ((what, proof) == (other, also))
    assert spec == Spec(what, proof)
    assert hash(spec) == hash(Spec(what, proof))


def test_the_border_between_the_two_counts():
    assert Spec("ab", "c") != Spec("a", "bc")
    assert Spec("sha256:" + "ab" * 16, "sha256:" + "ab" * 48) != Spec(ONE, ONE)


def test_a_spec_is_a_noun_as_any_other():
    spec = Spec(what=ONE, proof=OTHER)
    assert str(spec) == repr(spec) == f"Spec(what={ONE!r}, proof={OTHER!r})"
    assert copy.deepcopy(spec) == pickle.loads(pickle.dumps(spec)) == spec
    with pytest.raises(AttributeError):
        spec.what = OTHER
    with pytest.raises(AttributeError):
        _ = spec.when


def test_two_digests_take_no_more_than_one_of_them_as_text():
    word = 8  # by which objects differ between versions of Python
    assert sys.getsizeof(Spec(ONE, OTHER)) < sys.getsizeof(ONE) + word


def test_bytes_of_two_digests_are_the_spec_of_their_texts():
    spec = Spec(ONE, OTHER)
    assert Spec.of_bytes(spec.packed) == spec
    assert (Spec.of_bytes(spec.packed).what, Spec.of_bytes(spec.packed).proof) == (ONE, OTHER)
    assert Spec("", ONE).packed is None
    with pytest.raises(ValueError, match="two digests have 64 bytes, not 63"):
        Spec.of_bytes(bytes(63))
