"""Clustering: k-means and its variants, k-medoids, hierarchical clustering, and the number of clusters."""
