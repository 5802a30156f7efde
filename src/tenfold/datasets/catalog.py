"""Data sets by name, each a table with named columns and a target.

Those of scikit-learn and the synthetic ones need no file; `tenfold.datasets.cache` finds or
downloads the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

DEFAULT_DATASET = "breast_cancer"  # of `tenfold learn` without a table


class DatasetEntry(NamedTuple):
    """Description and loader of a data set."""

    rows: int
    columns: int  # including the target
    target: str
    about: str
    load: Callable[[], Any]  # the cells of each column, or the path of a file
    files: tuple[str, ...] = ()  # names in tenfold.datasets' list of files


def is_local(name: str) -> bool:
    """Whether a data set needs no download."""
    from tenfold.datasets.cache import data_folders, registry

    def is_found(file: str) -> bool:
        return any((f / copy.path).is_file() for f in data_folders() for copy in registry()[file])

    return all(map(is_found, DATASETS[name].files))


def _named_columns(bunch: Any, target: str, classes: Sequence[str] = ()) -> dict[str, Any]:
    """Numeric columns by name, and the target, as class names if there are any."""
    columns = dict(zip(map(str, bunch.feature_names), bunch.data.T, strict=True))
    columns[target] = [str(classes[i]) for i in bunch.target] if len(classes) else bunch.target
    return columns


def _iris() -> Any:
    from sklearn.datasets import load_iris

    bunch: Any = load_iris()
    return _named_columns(bunch, "species", bunch.target_names)


def _wine() -> Any:
    from sklearn.datasets import load_wine

    bunch: Any = load_wine()
    return _named_columns(bunch, "cultivar", bunch.target_names)


def _breast_cancer() -> Any:
    from sklearn.datasets import load_breast_cancer

    bunch: Any = load_breast_cancer()
    return _named_columns(bunch, "diagnosis", bunch.target_names)


def _diabetes() -> Any:
    from sklearn.datasets import load_diabetes

    columns = _named_columns(load_diabetes(scaled=False), "progression")
    return columns | {"sex": ["first" if sex == 1 else "second" for sex in columns["sex"]]}


def _digits() -> Any:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    pixels = {f"row {i // 8} column {i % 8}": X[:, i] for i in range(64)}
    return pixels | {"digit": [str(digit) for digit in y]}


def _house_sales() -> Any:
    from tenfold.datasets.synthetic_regression import make_house_sales

    X, price = make_house_sales(2000, noise=20_000, random_state=0)
    kinds = ("condo", "town house", "single-family")
    return {
        "area": X[:, 0],
        "bedrooms": X[:, 1],
        "type": [kinds[int(kind)] for kind in X[:, 2]],
        "zip code": [f"{int(code)}" for code in X[:, 3]],
        "price": price,
    }


def _rings() -> Any:
    from tenfold.datasets.synthetic_classification import make_rings

    X, y = make_rings(1000, random_state=0)
    return {"x": X[:, 0], "y": X[:, 1], "ring": [("inner", "outer")[ring] for ring in y]}


def _california() -> Any:
    from tenfold.datasets.tabular import fetch_california_housing

    return _named_columns(fetch_california_housing(), "MedHouseVal")


def _spambase() -> Any:
    from tenfold.datasets.tabular import fetch_spambase

    bunch = fetch_spambase()
    return _named_columns(bunch, "kind", bunch.target_names)


def _sms_spam() -> Any:
    from tenfold.datasets.text import fetch_sms_spam

    bunch = fetch_sms_spam()
    return {"message": bunch.data, "kind": [bunch.target_names[i] for i in bunch.target]}


def _wine_quality() -> Any:
    from tenfold.datasets.tabular import fetch_wine_quality

    return _named_columns(fetch_wine_quality("red"), "quality")


def _ames() -> Any:
    from tenfold.datasets.cache import find_file

    return str(find_file("ames"))  # as published, with identifiers and missing values


DATASETS: dict[str, DatasetEntry] = {
    "iris": DatasetEntry(150, 5, "species", "irises of three species, by four measures", _iris),
    "wine": DatasetEntry(
        178, 14, "cultivar", "wines of three cultivars, by their chemistry", _wine
    ),
    "breast_cancer": DatasetEntry(
        569, 31, "diagnosis", "tumours, malignant or benign, by their cells", _breast_cancer
    ),
    "diabetes": DatasetEntry(
        442, 11, "progression", "diabetes, progression after a year", _diabetes
    ),
    "digits": DatasetEntry(1797, 65, "digit", "handwritten digits of 8 x 8 pixels", _digits),
    "house_sales": DatasetEntry(
        2000, 5, "price", "synthetic sales of houses, numbers and categories", _house_sales
    ),
    "rings": DatasetEntry(1000, 3, "ring", "two synthetic rings, not linearly separable", _rings),
    "ames": DatasetEntry(
        2930, 82, "SalePrice", "house prices in Ames, Iowa, as published", _ames, ("ames",)
    ),
    "california": DatasetEntry(
        20_640,
        9,
        "MedHouseVal",
        "house values in California by block",
        _california,
        ("california",),
    ),
    "sms_spam": DatasetEntry(
        5574, 2, "kind", "text messages, some of them spam", _sms_spam, ("sms",)
    ),
    "spambase": DatasetEntry(
        4601, 58, "kind", "e-mails by their words, some of them spam", _spambase, ("spambase",)
    ),
    "wine_quality": DatasetEntry(
        1599, 12, "quality", "red wines and their grades", _wine_quality, ("wine-quality-red",)
    ),
}
