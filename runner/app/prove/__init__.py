"""Use cases of proof: proven again, a whole tree, evidence, a ship, attestations."""
