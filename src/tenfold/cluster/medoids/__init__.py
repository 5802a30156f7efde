"""Clusters about rows: each is represented by one of its members."""
