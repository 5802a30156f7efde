"""Models of nearest examples: searches, votes and means of neighbors, the nearest centroid."""
