"""Preprocessing: encoders of tables, basis expansions, indicators and text features.

Names are lazy: indicators do not import what text needs.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "basis_expansion": (
        "FourierFeatures",
        "FunctionFeatures",
        "RotationAbs",
    ),
    "column_kinds": (
        "ColumnKind",
        "infer_column_kinds",
    ),
    "image_features": ("ImageFeatures",),
    "indicator_features": ("IndicatorFeatures",),
    "polynomial_features": (
        "PolynomialFeatures",
        "monomial_count",
    ),
    "rbf_features": ("RadialFeatures",),
    "table_encoder": ("TableEncoder",),
    "text.term_weights": ("word_weights",),
    "text.tfidf": ("TfIdf",),
    "text.word_counts": ("WordCounts",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
