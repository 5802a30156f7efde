"""OpenFlights: airports and the routes between them."""

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets.cache import DataFileError, find, read
from tenfold.datasets.parsing import columns, decoded, records

AIRPORTS = ["id", "name", "city", "country", "iata", "icao", "latitude", "longitude", "altitude"]
AIRPORTS += ["timezone", "dst", "tz", "type", "source"]
ROUTES = ["airline", "airline_id", "source", "source_id", "destination", "destination_id"]
ROUTES += ["codeshare", "stops", "equipment"]
NUMERIC = {"id", "latitude", "longitude", "altitude", "timezone"}
NUMERIC |= {"airline_id", "source_id", "destination_id", "stops"}
LEAST = {"airports": 7_184, "airports-extended": 10_668, "routes": 67_663}


def fetch_openflights(*, extended: bool = False) -> Bunch:
    """OpenFlights: airports of the world and airline routes [000, ch. 3, map of cities].

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
    airports = _table("airports-extended" if extended else "airports", AIRPORTS)
    return Bunch(
        data=np.column_stack([airports["latitude"], airports["longitude"]]),
        feature_names=["latitude", "longitude"],
        airports=airports,
        routes=_table("routes", ROUTES),
        DESCR="OpenFlights.org: airports, and routes as of June 2014. Open Database License.",
    )


def _table(name: str, names: list[str]) -> dict[str, np.ndarray]:
    path = find(f"openflights-{name}")
    text = decoded(path, read(path), "utf-8").replace('\\"', "'")  # a quotation mark inside a name
    rows = records(path, text, ",", len(names), quoted=True)
    if len(rows) < LEAST[name]:
        raise DataFileError(
            f"{path}: found {len(rows)} rows, expected at least {LEAST[name]}. It is truncated."
        )
    return columns(rows, names, NUMERIC)
