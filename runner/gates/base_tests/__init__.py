"""The base's tests on the proposed code: whose expectations a change does not meet any more."""
