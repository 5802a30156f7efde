"""Data: loaders that check what they read, and generators of the notes' synthetic sets.

`load_*` needs no file; `fetch_*` looks in the folder that TENFOLD_DATA names, then in the cache
folder, then downloads; `make_*` generates; `corrupt_*` and `pad_images` spoil what is given.
"""

from tenfold.lazy import lazily

# Where each public name lives, as in the package above.
_WHERE: dict[str, str] = {
    "FOUR_GROUPS": "tenfold.datasets.newsgroups",
    "TEN_GROUPS": "tenfold.datasets.newsgroups",
    "DataFileError": "tenfold.datasets.cache",
    "corrupt_coordinates": "tenfold.datasets.corruption",
    "corrupt_labels": "tenfold.datasets.corruption",
    "corrupt_pixels": "tenfold.datasets.corruption",
    "fetch_20newsgroups": "tenfold.datasets.newsgroups",
    "fetch_ames_housing": "tenfold.datasets.housing",
    "fetch_breast_cancer": "tenfold.datasets.tables",
    "fetch_california_housing": "tenfold.datasets.housing",
    "fetch_cbcl_faces": "tenfold.datasets.faces",
    "fetch_cifar10": "tenfold.datasets.images",
    "fetch_imagenet": "tenfold.datasets.images",
    "fetch_mnist": "tenfold.datasets.images",
    "fetch_movielens_100k": "tenfold.datasets.ratings",
    "fetch_names": "tenfold.datasets.text",
    "fetch_netflix_ratings": "tenfold.datasets.ratings",
    "fetch_netflix_toy": "tenfold.datasets.ratings",
    "fetch_olivetti_faces": "tenfold.datasets.faces",
    "fetch_openflights": "tenfold.datasets.flights",
    "fetch_penn_treebank": "tenfold.datasets.treebank",
    "fetch_reviews": "tenfold.datasets.reviews",
    "fetch_reviews_toy": "tenfold.datasets.reviews",
    "fetch_sms_spam": "tenfold.datasets.text",
    "fetch_spambase": "tenfold.datasets.tables",
    "fetch_text_game": "tenfold.datasets.text",
    "fetch_tiny_shakespeare": "tenfold.datasets.text",
    "fetch_wine_quality": "tenfold.datasets.tables",
    "fetch_word_analogies": "tenfold.datasets.embeddings",
    "fetch_word_similarity": "tenfold.datasets.embeddings",
    "load_breast_cancer": "sklearn.datasets",
    "load_digits": "sklearn.datasets",
    "load_idx": "tenfold.datasets.images",
    "load_image_folder": "tenfold.datasets.images",
    "load_iris": "sklearn.datasets",
    "load_treebank": "tenfold.datasets.treebank",
    "load_wine": "sklearn.datasets",
    "make_blobs": "sklearn.datasets",
    "make_cosine": "tenfold.datasets.curves",
    "make_cubic": "tenfold.datasets.curves",
    "make_exchange_rate": "tenfold.datasets.series",
    "make_house_sales": "tenfold.datasets.sales",
    "make_noisy_xor": "tenfold.datasets.clouds",
    "make_rings": "tenfold.datasets.clouds",
    "make_sine": "tenfold.datasets.curves",
    "make_three_clouds": "tenfold.datasets.clouds",
    "make_wiggle": "tenfold.datasets.curves",
    "make_windows": "tenfold.datasets.series",
    "pad_images": "tenfold.datasets.corruption",
    "tagged_words": "tenfold.datasets.treebank",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above

__getattr__, __dir__ = lazily(__name__, _WHERE)
