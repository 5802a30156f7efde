"""Tabular data: breast cancer, spam and wine of the UCI repository, housing prices, airports."""

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets._base import (
    LoadedData,
    check_choice,
    decode_text,
    make_bunch,
    parse_numbers,
    parse_records,
    to_columns,
)
from tenfold.datasets.cache import (
    DataFileError,
    archive_members,
    check_figure,
    find_file,
    read_bytes,
)

_CELL_COLUMNS = ["clump thickness", "uniformity of cell size", "uniformity of cell shape"]
_CELL_COLUMNS += [
    "marginal adhesion",
    "single epithelial cell size",
    "bare nuclei",
    "bland chromatin",
]
_CELL_COLUMNS += ["normal nucleoli", "mitoses"]
_NUCLEUS_MEASURES = [
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
]
_NUCLEUS_MEASURES += ["concave points", "symmetry", "fractal dimension"]
_BREAST_CANCER_VERSIONS = {  # columns, [malignant, benign] cases, missing values
    "diagnostic": (
        [
            form.format(name)
            for form in ("mean {}", "{} error", "worst {}")
            for name in _NUCLEUS_MEASURES
        ],
        [212, 357],
        0,
    ),
    "original": (_CELL_COLUMNS, [241, 458], 16),
}
_SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
_SPAM_COLUMNS = [f"word_freq_{word}" for word in _SPAM_WORDS.split()]
_SPAM_COLUMNS += [f"char_freq_{character}" for character in ";([!$#"]
_SPAM_COLUMNS += [f"capital_run_length_{figure}" for figure in ("average", "longest", "total")]
_WINE_COLUMNS = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides"]
_WINE_COLUMNS += ["free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates"]
_WINE_COLUMNS += ["alcohol"]
_WINE_SIZES = {"red": 1599, "white": 4898}


def fetch_breast_cancer(version: str = "original", *, return_X_y: bool = False) -> LoadedData:
    """Breast cancer, Wisconsin: benign or malignant from measured cells.

    Parameters
    ----------
    version : {"original", "diagnostic"}
        The original 699 cases with 9 grades from 1 to 10, 16 of them missing (NaN); or the 569
        cases with 30 measures of nuclei (WDBC), which `load_breast_cancer` has without a file.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` float64, ``target`` 0 malignant, 1 benign, ``feature_names``, ``target_names``,
        ``ids`` the number of each case.

    Examples
    --------
    >>> int(np.isnan(fetch_breast_cancer().data).sum())  # doctest: +SKIP
    16
    """
    names, sizes, missing = _BREAST_CANCER_VERSIONS[
        check_choice("version", version, _BREAST_CANCER_VERSIONS)
    ]
    path = find_file(f"breast-cancer-{version}")
    text = decode_text(path, read_bytes(path)).replace("?", "nan")
    table = parse_numbers(path, text.replace(",M,", ",4,").replace(",B,", ",2,"))
    check_figure(path, "columns", table.shape[1], len(names) + 2)
    label = 1 if version == "diagnostic" else -1
    data = np.delete(table, [0, label % table.shape[1]], axis=1)
    target = (table[:, label] == 2).astype(int)
    check_figure(path, "malignant and benign cases", np.bincount(target).tolist(), sizes)
    check_figure(path, "missing values", int(np.isnan(data).sum()), missing)
    return make_bunch(
        return_X_y=return_X_y,
        data=data,
        target=target,
        feature_names=list(names),
        target_names=["malignant", "benign"],
        ids=table[:, 0].astype(int),
        DESCR=f"Breast cancer Wisconsin ({version}), W. H. Wolberg et al., UCI repository.",
    )


def fetch_spambase(*, return_X_y: bool = False) -> LoadedData:
    """Spambase: 57 frequencies of 4,601 e-mails, 1,813 of them spam.

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (4601, 57), ``target`` 1 for spam, ``feature_names``, ``target_names``.

    Examples
    --------
    >>> fetch_spambase().feature_names[0]  # doctest: +SKIP
    'word_freq_make'
    """
    path = find_file("spambase")
    table = parse_numbers(path, decode_text(path, read_bytes(path)))
    check_figure(path, "(rows, columns)", table.shape, (4601, 58))
    check_figure(path, "spam", int(table[:, -1].sum()), 1813)
    return make_bunch(
        return_X_y=return_X_y,
        data=table[:, :-1].copy(),
        target=table[:, -1].astype(int),
        feature_names=list(_SPAM_COLUMNS),
        target_names=["ham", "spam"],
        DESCR="Spambase, M. Hopkins et al. 1999, UCI repository: frequencies in percent.",
    )


def fetch_wine_quality(color: str = "red", *, return_X_y: bool = False) -> LoadedData:
    """Wine quality: grades of Portuguese wines from 11 chemical measures.

    Parameters
    ----------
    color : {"red", "white"}
        1,599 red wines or 4,898 white ones.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 11), ``target`` (n,) grades from 0 to 10, ``feature_names``.

    Examples
    --------
    >>> fetch_wine_quality("white").data.shape  # doctest: +SKIP
    (4898, 11)
    """
    path = find_file(f"wine-quality-{check_choice('color', color, _WINE_SIZES)}")
    lines = decode_text(path, read_bytes(path)).replace(";", ",").splitlines()
    rows = lines[1:] if lines[:1] and "acidity" in lines[0] else lines  # the publisher has a header
    table = parse_numbers(path, "\n".join(rows))
    check_figure(path, "(rows, columns)", table.shape, (_WINE_SIZES[color], 12))
    return make_bunch(
        return_X_y=return_X_y,
        data=table[:, :-1].copy(),
        target=table[:, -1].copy(),
        feature_names=list(_WINE_COLUMNS),
        DESCR=f"Wine quality ({color}), P. Cortez et al. 2009, UCI repository.",
    )


_STATLIB_COLUMNS = ["longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms"]
_STATLIB_COLUMNS += ["population", "households", "medianIncome", "medianHouseValue"]
_CALIFORNIA_COLUMNS = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup"]
_CALIFORNIA_COLUMNS += ["Latitude", "Longitude"]
_AMES_CODES = {"MS SubClass"}  # codes of kinds of dwellings


def fetch_california_housing(
    *,
    original: bool = False,
    return_X_y: bool = False,
) -> LoadedData:
    """California housing: 20,640 blocks of the census of 1990.

    Parameters
    ----------
    original : bool
        StatLib's own eight columns with values in dollars, instead of scikit-learn's: rooms,
        bedrooms and persons per household, values in units of 100,000 dollars.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (20640, 8), ``target`` median value of a house, ``feature_names``,
        ``target_names``.

    Examples
    --------
    >>> round(fetch_california_housing(original=True).target.mean(), 2)  # doctest: +SKIP
    206855.82
    """
    path = find_file("california")
    packed = path.suffix == ".tgz"
    raw = (
        b"".join(raw for _, raw in archive_members(path, r"cal_housing\.data$")) if packed else None
    )
    table = parse_numbers(path, decode_text(path, read_bytes(path) if raw is None else raw))
    check_figure(path, "(rows, columns)", table.shape, (20_640, 9))
    check_figure(path, "dollars on average", round(table[:, -1].mean(), 2), 206_855.82)
    return make_bunch(
        return_X_y=return_X_y,
        data=table[:, :-1].copy() if original else _per_household(table),
        target=table[:, -1] / (1 if original else 100_000),
        feature_names=_STATLIB_COLUMNS[:-1] if original else list(_CALIFORNIA_COLUMNS),
        target_names=_STATLIB_COLUMNS[-1:] if original else ["MedHouseVal"],
        DESCR="California housing, R. K. Pace and R. Barry 1997, StatLib.",
    )


def _per_household(table: np.ndarray) -> np.ndarray:
    """Return scikit-learn's columns."""
    longitude, latitude, age, rooms, bedrooms, people, households, income, _ = table.T
    average = [column / households for column in (rooms, bedrooms, people)]
    columns = [income, age, average[0], average[1], people, average[2], latitude, longitude]
    return np.column_stack(columns)


def fetch_ames_housing(*, return_X_y: bool = False) -> LoadedData:
    """Ames housing: 2,930 sales in Ames, Iowa, 2006 to 2010.

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` float64, the columns that are numbers, NaN where missing, named by
        ``feature_names``; ``categories`` str, the other columns, "" where missing and "NA" where
        the house has no such thing, named by ``category_names``; ``target`` the price in dollars;
        ``ids`` the number of each parcel.

    Examples
    --------
    >>> round(fetch_ames_housing().target.mean(), 2)  # doctest: +SKIP
    180796.06
    """
    path = find_file("ames")
    text = decode_text(path, read_bytes(path), "utf-8-sig")
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","  # the publisher has tabs
    rows = parse_records(path, text, delimiter, 82, quoted=True)
    check_figure(path, "rows", len(rows), 2931)
    names = rows.pop(0)
    table = dict(zip(names, np.array(rows).T, strict=True))
    table.pop("Order")
    ids, price = table.pop("PID").astype(int), table.pop("SalePrice").astype(float)
    check_figure(path, "dollars on average", round(price.mean(), 2), 180_796.06)
    numeric = [name for name in table if name not in _AMES_CODES and _is_numeric(table[name])]
    others = [name for name in table if name not in numeric]
    return make_bunch(
        return_X_y=return_X_y,
        data=np.column_stack([_to_floats(table[name]) for name in numeric]),
        target=price,
        feature_names=numeric,
        categories=np.column_stack([table[name] for name in others]),
        category_names=others,
        ids=ids,
        DESCR="Ames housing, D. De Cock 2011, Journal of Statistics Education 19(3).",
    )


def _to_floats(column: np.ndarray) -> np.ndarray:
    return np.where(np.isin(column, ["", "NA"]), "nan", column).astype(float)


def _is_numeric(column: np.ndarray) -> bool:
    try:
        _to_floats(column)
    except ValueError:
        return False
    return True


_AIRPORT_COLUMNS = [
    "id",
    "name",
    "city",
    "country",
    "iata",
    "icao",
    "latitude",
    "longitude",
    "altitude",
]
_AIRPORT_COLUMNS += ["timezone", "dst", "tz", "type", "source"]
_ROUTE_COLUMNS = ["airline", "airline_id", "source", "source_id", "destination", "destination_id"]
_ROUTE_COLUMNS += ["codeshare", "stops", "equipment"]
_NUMERIC_COLUMNS = {"id", "latitude", "longitude", "altitude", "timezone"}
_NUMERIC_COLUMNS |= {"airline_id", "source_id", "destination_id", "stops"}
_MIN_ROWS = {"airports": 7_184, "airports-extended": 10_668, "routes": 67_663}


def fetch_openflights(*, extended: bool = False) -> Bunch:
    """OpenFlights: airports of the world and airline routes.

    Parameters
    ----------
    extended : bool
        Also stations and ports: 10,668 places instead of 7,184.

    Returns
    -------
    Bunch
        ``airports`` and ``routes``, each a dict of columns: str, or float64 with NaN for missing;
        ``data`` (places, 2), latitude and longitude; ``feature_names``.

    Notes
    -----
    The publisher goes on adding places, so of a downloaded copy the least number of rows is
    checked. The data are under the Open Database License.

    Examples
    --------
    >>> fetch_openflights().airports["city"][0]  # doctest: +SKIP
    'Goroka'
    """
    airports = _read_openflights("airports-extended" if extended else "airports", _AIRPORT_COLUMNS)
    return Bunch(
        data=np.column_stack([airports["latitude"], airports["longitude"]]),
        feature_names=["latitude", "longitude"],
        airports=airports,
        routes=_read_openflights("routes", _ROUTE_COLUMNS),
        DESCR="OpenFlights.org: airports, and routes as of June 2014. Open Database License.",
    )


def _read_openflights(name: str, names: list[str]) -> dict[str, np.ndarray]:
    path = find_file(f"openflights-{name}")
    text = decode_text(path, read_bytes(path), "utf-8").replace(
        '\\"', "'"
    )  # a quotation mark inside a name
    rows = parse_records(path, text, ",", len(names), quoted=True)
    if len(rows) < _MIN_ROWS[name]:
        raise DataFileError(
            f"{path}: found {len(rows)} rows, expected at least {_MIN_ROWS[name]}. It is truncated."
        )
    return to_columns(rows, names, _NUMERIC_COLUMNS)
