"""A story of how the data came about."""
