"""Read and edit TASK-GRAPH.md and related files: values in, values out."""
