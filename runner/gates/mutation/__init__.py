"""Check that a proof can fail: stub first, small mutants, red first."""
