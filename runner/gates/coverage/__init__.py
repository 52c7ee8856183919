"""Measure which lines a task's test contracts run.

`fit` makes a test contract's command measured; its data then lies in `data_folder`. What is in
there is as trustworthy as the tests are, so whatever cannot be read counts as not measured.
"""

from runner.gates.coverage.instrument import data_folder, fit

__all__ = ["data_folder", "fit"]
