"""Sales of houses, to try features on: a count, a category, a code with thousands of values."""

import numpy as np

from tenfold.datasets.arguments import Seed, check_count, check_scale

HOUSE_TYPES = ("condo", "town house", "single-family")
TYPE_VALUE = np.array([0.0, 30_000.0, 80_000.0])
MANSIONS = 0.01  # share of houses with 10 to 27 bedrooms


def make_house_sales(
    n_samples: int = 1000,
    *,
    n_regions: int = 20,
    noise: float = 20_000.0,
    random_state: Seed = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Sales of houses: area, bedrooms, type and zip code give the price [002, sec. 1.3].

    .. math:: \text{price} = 50000 + 1000\, a + 100000 \log_2(1 + b) + v_t
              + 60000 \sin p + 5000 \sin z + \sigma \varepsilon, \quad \varepsilon \sim N(0, 1)

    for area a in square metres, b bedrooms, type value v of 0 (condo), 30,000 (town house) or
    80,000 (single-family), zip code z and its first three digits p = z // 100: the region.
    The value of a bedroom falls (one is worth 100,000, three are worth 200,000), so that a raw
    count cannot follow it and indicators can. Nearly all that a zip code says, its region says.

    Parameters
    ----------
    n_samples : int
        Number of sales.
    n_regions : int, at most 900
        Number of regions of 100 zip codes each, from 10000 on.
    noise : float
        The standard deviation :math:`\sigma` of a price.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
        Columns: area (30 + 25 b to 40 more), bedrooms (1 + Poisson(2); in one sale of a hundred 10
        to 27), type (0, 1, 2 as above), zip code.
    y : ndarray of shape (n_samples,)
        The price.

    Notes
    -----
    The note names the columns, the pooled "10+ bedrooms", the rare 27 bedrooms and the 100,000
    per bedroom; the formula is ours.

    Examples
    --------
    >>> X, y = make_house_sales(500, noise=0, random_state=0)
    >>> area, bedrooms, kind, zip_code = X.T
    >>> bool(bedrooms.min() >= 1), bool(zip_code.max() < 12000)
    (True, True)
    """
    n, scale = check_count("n_samples", n_samples), check_scale("noise", noise)
    if check_count("n_regions", n_regions) > 900:
        raise ValueError(f"n_regions must be at most 900: codes have five digits, got {n_regions}")
    rng = np.random.default_rng(random_state)
    bedrooms = _bedrooms(n, rng)
    area = 30 + 25 * bedrooms + rng.uniform(0, 40, n)
    kind = rng.integers(3, size=n)
    code = 10_000 + rng.integers(100 * n_regions, size=n)
    price = 50_000 + 1_000 * area + 100_000 * np.log2(1 + bedrooms) + TYPE_VALUE[kind]
    price += 60_000 * np.sin(code // 100) + 5_000 * np.sin(code)
    X = np.column_stack([area, bedrooms, kind, code]).astype(float)
    return X, price + scale * rng.standard_normal(n)


def _bedrooms(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(n) < MANSIONS, rng.integers(10, 28, n), 1 + rng.poisson(2, n))
