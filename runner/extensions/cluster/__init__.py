"""Executors: run attempts in threads of this process, or on the workers of a Dask cluster."""
