"""What TASK-GRAPH.md and its kin say: values in, values out."""
