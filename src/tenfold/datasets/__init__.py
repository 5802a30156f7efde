"""Data sets: loaders that verify what they read, and generators of synthetic data.

`load_*` needs no file; `fetch_*` looks in the folder that TENFOLD_DATA names, then in the cache
folder, then downloads; `make_*` generates; `corrupt_*` and `pad_images` add noise to given data.
"""

from tenfold._lazy import attach

# Where each public name lives, as in the package above.
_WHERE: dict[str, str] = {
    "FOUR_GROUPS": "tenfold.datasets.text",
    "TEN_GROUPS": "tenfold.datasets.text",
    "DataFileError": "tenfold.datasets.cache",
    "corrupt_coordinates": "tenfold.datasets.corruption",
    "corrupt_labels": "tenfold.datasets.corruption",
    "corrupt_pixels": "tenfold.datasets.corruption",
    "fetch_20newsgroups": "tenfold.datasets.text",
    "fetch_ames_housing": "tenfold.datasets.tabular",
    "fetch_breast_cancer": "tenfold.datasets.tabular",
    "fetch_california_housing": "tenfold.datasets.tabular",
    "fetch_cbcl_faces": "tenfold.datasets.images",
    "fetch_cifar10": "tenfold.datasets.images",
    "fetch_imagenet": "tenfold.datasets.images",
    "fetch_mnist": "tenfold.datasets.images",
    "fetch_movielens_100k": "tenfold.datasets.ratings",
    "fetch_names": "tenfold.datasets.text",
    "fetch_netflix_ratings": "tenfold.datasets.ratings",
    "fetch_netflix_toy": "tenfold.datasets.ratings",
    "fetch_olivetti_faces": "tenfold.datasets.images",
    "fetch_openflights": "tenfold.datasets.tabular",
    "fetch_penn_treebank": "tenfold.datasets.treebank",
    "fetch_reviews": "tenfold.datasets.text",
    "fetch_reviews_toy": "tenfold.datasets.text",
    "fetch_sms_spam": "tenfold.datasets.text",
    "fetch_spambase": "tenfold.datasets.tabular",
    "fetch_text_game": "tenfold.datasets.text",
    "fetch_tiny_shakespeare": "tenfold.datasets.text",
    "fetch_wine_quality": "tenfold.datasets.tabular",
    "fetch_word_analogies": "tenfold.datasets.word_similarity",
    "fetch_word_similarity": "tenfold.datasets.word_similarity",
    "load_breast_cancer": "sklearn.datasets",
    "load_digits": "sklearn.datasets",
    "load_idx": "tenfold.datasets.images",
    "load_image_folder": "tenfold.datasets.images",
    "load_iris": "sklearn.datasets",
    "load_treebank": "tenfold.datasets.treebank",
    "load_wine": "sklearn.datasets",
    "make_blobs": "sklearn.datasets",
    "make_cosine": "tenfold.datasets.synthetic_regression",
    "make_cubic": "tenfold.datasets.synthetic_regression",
    "make_exchange_rate": "tenfold.datasets.synthetic_regression",
    "make_house_sales": "tenfold.datasets.synthetic_regression",
    "make_noisy_xor": "tenfold.datasets.synthetic_classification",
    "make_rings": "tenfold.datasets.synthetic_classification",
    "make_sine": "tenfold.datasets.synthetic_regression",
    "make_three_clouds": "tenfold.datasets.synthetic_classification",
    "make_topic_documents": "tenfold.datasets.synthetic_text",
    "make_wiggle": "tenfold.datasets.synthetic_regression",
    "make_windows": "tenfold.datasets.synthetic_regression",
    "pad_images": "tenfold.datasets.corruption",
    "tagged_words": "tenfold.datasets.treebank",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above

__getattr__, __dir__ = attach(__name__, _WHERE)
