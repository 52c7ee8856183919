"""Faults in tests that were seeded to be found: each way to say less is told from what is fine."""

from test_gates_integrity_python import UNITTEST, edited, grave

MIXIN = """
import unittest
class ShopMixin:
    def test_open(self):
        self.assertTrue(self.shop.is_open())
class SmallShopTest(unittest.TestCase, ShopMixin):
    shop = Shop(1)
    def test_size(self):
        self.assertEqual(self.shop.size, 1)
"""


def test_a_whole_text_may_not_become_its_start():
    before = "def test_a():\n    assert repr(f()) == 'F(1)'\n"
    after = "def test_a():\n    assert repr(f()).startswith('F')\n"
    assert grave(before, after)
    assert grave(after, before) == []


def test_a_new_test_of_unittest_that_can_never_fail_is_refused():
    text = "class TestA(unittest.TestCase):\n    def test_a(self):\n        f()\n"
    said = grave("", text + "        self.assertTrue(True)\n")
    assert said == [
        "TestA.test_a tests nothing: `self.assertTrue(True)` does not depend on the code"
    ]
    assert grave("", text + "        self.assertTrue(f())\n") == []
    assert grave("", text + "        self.assertBooked(f())\n") == []


def test_two_tuples_may_differ_though_each_of_them_is_true():
    text = "class TestA(unittest.TestCase):\n    def test_a(self):\n        ran = f()\n"
    assert grave("", text + "        self.assertEqual((ran.code, ran.said), (0, ''))\n") == []
    assert grave("", text + "        self.assertEqual((1, ''), (1, ''))\n")
    assert grave("", text + "        self.assertTrue((ran.code, 'why'))\n")


LENT = """
class ShopTests:
    def made(self, n):
        return self.MAKE(n)
    def test_a(self):
        assert self.made(1).size == 1
class OldShopTest(ShopTests, unittest.TestCase):
    def made(self, n):
        with warnings.catch_warnings(record=True) as seen:
            shop = old(n)
        assert seen
        return shop
"""


def test_a_call_stands_though_what_it_calls_asserts_no_more_elsewhere():
    said = grave(LENT, LENT[: LENT.index("class OldShopTest")])
    assert said == []
    assert grave(LENT, edited(("        assert seen\n", ""), base=LENT)) == [
        "`assert seen` was taken out of OldShopTest.made (line 11 before)"
    ]


def test_an_assertion_in_an_empty_loop_never_runs():
    before = "def test_a():\n    assert f() == 1\n"
    assert grave(before, "def test_a():\n    for _ in ():\n        assert f() == 1\n") == [
        "`assert f() == 1` of test_a: it never runs now"
    ]


def test_a_test_that_others_inherit_is_a_test():
    assert grave(MIXIN, edited(("test_open", "is_open"), base=MIXIN)) == [
        "the test ShopMixin.test_open is gone (1 assertion; line 4 before)"
    ]


CONTRACT = """
import unittest
class Contract:
    def setUp(self):
        self.shop = self.make()
    def test_size(self):
        self.assertEqual(self.shop.size, 1)
class SmallShopTest(Contract, unittest.TestCase):
    def make(self):
        return Shop(1)
class LargeShopTest(Contract, unittest.TestCase):
    def make(self):
        return Shop(9)
"""
ONE = """
import unittest
class SmallShopTest(unittest.TestCase):
    def setUp(self):
        self.shop = Shop(1)
    def test_size(self):
        self.assertEqual(self.shop.size, 1)
"""


def test_tests_that_become_those_of_a_class_that_others_inherit_are_there():
    assert grave(ONE, CONTRACT) == []
    alone = CONTRACT.replace("(Contract, ", "(")
    assert grave(ONE, alone) == [
        "the test SmallShopTest.test_size is gone (1 assertion; line 6 before)"
    ]
    assert grave(ONE, edited(("size, 1)", "size, self.shop.size)"), base=CONTRACT)) != []


def test_a_class_of_tests_that_is_no_test_case_any_more_is_not_found():
    assert grave(MIXIN, edited(("(unittest.TestCase, ShopMixin)", "(ShopMixin)"), base=MIXIN)) == [
        "SmallShopTest.test_size is no longer found: its class is no TestCase now",
    ]
    assert grave(MIXIN, edited(("(unittest.TestCase, ", "(ShopTestCase, "), base=MIXIN)) == []


def test_an_exception_expected_with_its_text_may_not_become_any_exception():
    before = UNITTEST.replace("assertRaises(ValueError)", "assertRaisesRegex(ValueError, 'no')")
    assert grave(before, UNITTEST)
    assert grave(before, edited(("ValueError", "Exception"), base=UNITTEST))
    assert grave(UNITTEST, before) == []
