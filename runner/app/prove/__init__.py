"""Use cases of proof: prove again, verify a tree, show evidence, ship, attest."""
