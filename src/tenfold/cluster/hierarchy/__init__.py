"""Trees of clusters: which groups join, and at what distance."""
