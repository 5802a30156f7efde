"""The same verbs on the workers of a Dask cluster."""

from tenfold.rows.cluster.client import Cluster, current_client, engine, on

__all__ = ["Cluster", "current_client", "engine", "on"]
