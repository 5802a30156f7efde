"""Models of nearest examples: the nearest centroid."""
