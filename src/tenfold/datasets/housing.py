"""Prices of houses: California by block, Ames by house."""

import numpy as np

from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import expect, find, members, read
from tenfold.datasets.parsing import decoded, numbers, records

STATLIB = ["longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms"]
STATLIB += ["population", "households", "medianIncome", "medianHouseValue"]
DERIVED = ["MedInc", "HouseAge", "AveRooms", "AveBedrms", "Population", "AveOccup"]
DERIVED += ["Latitude", "Longitude"]
AMES_NOT_NUMBERS = {"MS SubClass"}  # codes of kinds of dwellings


def fetch_california_housing(
    *,
    original: bool = False,
    return_X_y: bool = False,
) -> Loaded:
    """California housing: 20,640 blocks of the census of 1990 [002, house prices].

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
    path = find("california")
    packed = path.suffix == ".tgz"
    raw = b"".join(raw for _, raw in members(path, r"cal_housing\.data$")) if packed else None
    table = numbers(path, decoded(path, read(path) if raw is None else raw))
    expect(path, "(rows, columns)", table.shape, (20_640, 9))
    expect(path, "dollars on average", round(table[:, -1].mean(), 2), 206_855.82)
    return bundle(
        return_X_y=return_X_y,
        data=table[:, :-1].copy() if original else _per_household(table),
        target=table[:, -1] / (1 if original else 100_000),
        feature_names=STATLIB[:-1] if original else list(DERIVED),
        target_names=STATLIB[-1:] if original else ["MedHouseVal"],
        DESCR="California housing, R. K. Pace and R. Barry 1997, StatLib.",
    )


def _per_household(table: np.ndarray) -> np.ndarray:
    """Return scikit-learn's columns."""
    longitude, latitude, age, rooms, bedrooms, people, households, income, _ = table.T
    average = [column / households for column in (rooms, bedrooms, people)]
    columns = [income, age, average[0], average[1], people, average[2], latitude, longitude]
    return np.column_stack(columns)


def fetch_ames_housing(*, return_X_y: bool = False) -> Loaded:
    """Ames housing: 2,930 sales in Ames, Iowa, 2006 to 2010 [002, house prices].

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
    path = find("ames")
    text = decoded(path, read(path), "utf-8-sig")
    delimiter = "\t" if "\t" in text.partition("\n")[0] else ","  # the publisher has tabs
    rows = records(path, text, delimiter, 82, quoted=True)
    expect(path, "rows", len(rows), 2931)
    names = rows.pop(0)
    table = dict(zip(names, np.array(rows).T, strict=True))
    table.pop("Order")
    ids, price = table.pop("PID").astype(int), table.pop("SalePrice").astype(float)
    expect(path, "dollars on average", round(price.mean(), 2), 180_796.06)
    numeric = [name for name in table if name not in AMES_NOT_NUMBERS and _is_numeric(table[name])]
    others = [name for name in table if name not in numeric]
    return bundle(
        return_X_y=return_X_y,
        data=np.column_stack([_to_numbers(table[name]) for name in numeric]),
        target=price,
        feature_names=numeric,
        categories=np.column_stack([table[name] for name in others]),
        category_names=others,
        ids=ids,
        DESCR="Ames housing, D. De Cock 2011, Journal of Statistics Education 19(3).",
    )


def _to_numbers(column: np.ndarray) -> np.ndarray:
    return np.where(np.isin(column, ["", "NA"]), "nan", column).astype(float)


def _is_numeric(column: np.ndarray) -> bool:
    try:
        _to_numbers(column)
    except ValueError:
        return False
    return True
