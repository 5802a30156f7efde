"""Clustering: k-means and its variants, k-medoids, trees, and the number of clusters.

Names are lazy: k-means does not import what trees need.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "agglomerative": ("AgglomerativeClustering",),
    "cluster_features": ("ClusterFeatures",),
    "color_quantization": ("image_bits", "quantize"),
    "dendrogram": ("cut_tree", "linkage_matrix"),
    "initialization": (
        "farthest_first",
        "kmeans_plusplus_init",
        "random_points",
        "random_rows",
    ),
    "kernel_kmeans": ("KernelKMeans",),
    "kmeans": ("KMeans",),
    "kmedoids": ("KMedoids",),
    "minibatch_kmeans": ("MiniBatchKMeans",),
    "n_clusters": ("choose_k", "elbow", "gap_statistic", "knee"),
    "profiles": ("cluster_costs", "compare_clusterings", "profile_clusters"),
    "spherical_kmeans": ("SphericalKMeans",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
