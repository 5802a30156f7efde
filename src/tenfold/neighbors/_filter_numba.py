r"""Filter rows by products in float32, prove the survivors in float64.

Rows and queries are centered at :math:`c`, scaled by a power of two and rounded to float32:
:math:`\tilde x`, :math:`\tilde q`, with lengths A and B. With u = 2^-24 and d columns

* rounding moves a row by at most 1.01 u A (and 2^-149 per column where numbers are subnormal), so
  that :math:`|R^2 - \|\tilde x - \tilde q\|^2| / 2 \le 2.04 u (A^2 + B^2)`, R the true distance;
* the product g of the two, summed in any order, is wrong by at most
  :math:`\gamma_d A B \le 0.55 d u (A^2 + B^2)`, for :math:`d u < 0.09`;
* the row's term :math:`A^2 / 2` in float32, and the difference of it and g, are wrong by at most
  :math:`0.55 u A^2 + 1.1 u (A^2 + B^2)`.

All of it is below :math:`\kappa (A^2 + B^2)` with :math:`\kappa = u (0.6 d + 5)`, which leaves
0.05 d u + u for the rounding of distances in float64 (2^-29 times smaller). So with the stored term
:math:`a = A^2 / 2 - \kappa A^2 - \alpha`, :math:`\alpha = d 2^{-120}` for subnormal numbers,

.. math:: a - g - \kappa B^2 - \alpha \le (R^2 - B^2) / 2
          \le a - g + 2 \kappa A^2 + 2 \alpha + \kappa B^2 + \alpha .

If k rows have upper bounds of at most t, a row whose lower bound is above t is not among the k
nearest. The others are measured by float64 differences in the order of the columns; this number is
the distance, a function of the two rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenfold.neighbors._heap_numba import INLINE, JIT, make_heap, push, sort_heap

ROWS_PER_BLOCK = 32  # rows that are compared with the threshold at once
_MAX_SORTED = 256  # upper bounds of a query up to which they are sorted
_ROUND_UP, _TINY = 2.0**-23, 2.0**-140  # more than rounding to float32 takes away


@INLINE
def discard(low: Any, row: Any, exact: Any, count: int, threshold: float) -> int:
    """Remove the candidates whose lower bound is above the threshold; the number that is left."""
    left = 0
    for e in range(count):
        if low[e] <= threshold:
            low[left], row[left], exact[left] = low[e], row[e], exact[e]
            left += 1
    return left


@INLINE
def round_up(x: float) -> Any:
    """The least float32 that is not below x, or a little above it."""
    return np.float32(x + abs(x) * _ROUND_UP + _TINY)


@INLINE
def push_bound(bound: Any, k: int, b: float) -> None:
    """Replace the largest of k upper bounds, the first of them, by a smaller one.

    Few are kept in descending order: a loop without a branch, faster than the heap of many.
    """
    if k <= _MAX_SORTED:
        for j in range(np.uint64(k - 1)):
            at_most = min(b, bound[j])
            after = bound[j + np.uint64(1)]
            bound[j] = max(at_most, after)
        bound[k - 1] = min(bound[k - 1], b)
        return
    place = 0
    while True:
        child = 2 * place + 1
        if child >= k:
            break
        if child + 1 < k and bound[child + 1] > bound[child]:
            child += 1
        if bound[child] <= b:
            break
        bound[place] = bound[child]
        place = child
    bound[place] = b


@INLINE
def _count_below(product: Any, term: Any, start: int, end: int, threshold: Any) -> Any:
    """Number of rows whose bound is at most the threshold; unsigned numbers make it a SIMD loop."""
    hits = np.uint32(0)
    for c in range(np.uint64(start), np.uint64(end)):
        hits += np.uint32(term[c] - product[c] <= threshold)
    return hits


@INLINE
def _list_below(product: Any, term: Any, start: int, end: int, threshold: Any, near: Any) -> int:
    """Write the places of the bounds below a threshold, without a branch; returns their number."""
    hits = 0
    for c in range(start, end):
        near[hits] = c
        hits += term[c] - product[c] <= threshold
    return hits


@JIT
def filter_tile(
    products: Any,
    row_term: Any,
    row_gap: Any,
    first: int,
    row_codes: Any,
    query_codes: Any,
    slack: Any,
    bounds: Any,
    low: Any,
    row: Any,
    exact: Any,
    count: Any,
    start: Any,
    near: Any,
) -> int:
    """Collect the rows of a tile that may be among the k nearest of each query.

    Parameters
    ----------
    products : (m, t) products of queries and rows
    row_term, row_gap : (t,) terms a, and distances of upper from lower bounds
    first : number of the first row
    row_codes, query_codes : rows of the same code as the query are left out; empty: none
    slack : (m,) twice the share of the query in the bounds
    bounds : (m, k) heaps of the k least upper bounds
    low, row, exact : (m, c) lower bounds, numbers, and distances or NaN, of candidates
    count : (m,) number of candidates
    start : (m,) column of the tile to go on at
    near : (64,) int64 work space

    Returns
    -------
    Number of queries whose candidates must be measured before they can go on.
    """
    m, t = products.shape
    k, capacity = bounds.shape[1], low.shape[1]
    waiting = 0
    for i in range(m):
        j, n = start[i], count[i]
        threshold = round_up(bounds[i, 0] + slack[i])
        full = False
        while j < t and not full:
            end = min(j + ROWS_PER_BLOCK, t)
            if _count_below(products[i], row_term, j, end, threshold) == 0:
                j = end
                continue
            hits = _list_below(products[i], row_term, j, end, threshold, near)
            j = end
            for h in range(hits):
                c = near[h]
                bound = row_term[c] - products[i, c]
                if bound > threshold or (
                    query_codes.shape[0] > 0 and row_codes[first + c] == query_codes[i]
                ):
                    continue
                if n == capacity:
                    n = discard(low[i], row[i], exact[i], n, bounds[i, 0] + slack[i])
                    if 4 * n > 3 * capacity:
                        full, j = True, c
                        break
                low[i, n], row[i, n] = bound, first + c
                n += 1
                upper = np.float64(bound) + row_gap[c]
                if upper < bounds[i, 0]:
                    push_bound(bounds[i], k, upper)
                    threshold = round_up(bounds[i, 0] + slack[i])
        start[i], count[i] = j, n
        waiting += full
    return waiting


@JIT
def filter_radius(
    products: Any, row_term: Any, first: int, row_codes: Any, query_codes: Any, limit: Any,
    query: Any, row: Any, starts: Any, count: Any,
) -> int:  # fmt: skip
    """List the rows of a tile that may be within the radius of each query; their number.

    Parameters
    ----------
    products, row_term, first, row_codes, query_codes : as in `filter_tile`
    limit : (m,) lower bounds above which a row is beyond the radius
    query, row : (m t,) numbers of query and row of each candidate, results
    starts, count : (m,) where the candidates of each query begin, and their number, results
    """
    m, t = products.shape
    found = 0
    for i in range(m):
        starts[i] = found
        most = np.float32(np.inf) if limit[i] == np.inf else round_up(limit[i])
        for a in range(0, t, ROWS_PER_BLOCK):
            end = min(a + ROWS_PER_BLOCK, t)
            if limit[i] < np.inf and _count_below(products[i], row_term, a, end, most) == 0:
                continue
            for j in range(a, end):
                if row_term[j] - products[i, j] > most or (
                    query_codes.shape[0] > 0 and row_codes[first + j] == query_codes[i]
                ):
                    continue
                query[found], row[found] = i, first + j
                found += 1
        count[i] = found - starts[i]
    return found


@JIT
def discard_far(bounds: Any, slack: Any, low: Any, row: Any, exact: Any, count: Any) -> None:
    """Remove the candidates that the last bounds exclude.

    Parameters
    ----------
    bounds, slack, low, row, exact, count : as in `filter_tile`
    """
    for i in range(count.shape[0]):
        count[i] = discard(low[i], row[i], exact[i], count[i], bounds[i, 0] + slack[i])


@INLINE
def measure_query(X: Any, Q: Any, i: int, row: Any, exact: Any, start: int, n: int) -> None:
    """Measure the n candidates of query i that begin at `start`; see `measure_dense`."""
    last = start + n - 1
    for e in range(start, last + 1, 4):  # four sums at once: each waits for itself alone
        f, g, h = min(e + 1, last), min(e + 2, last), min(e + 3, last)
        a, b, c, d = row[e], row[f], row[g], row[h]
        sa, sb, sc, sd = 0.0, 0.0, 0.0, 0.0
        for j in range(Q.shape[1]):
            v = Q[i, j]
            da, db = np.float64(X[a, j]) - v, np.float64(X[b, j]) - v
            dc, dd = np.float64(X[c, j]) - v, np.float64(X[d, j]) - v
            sa += da * da
            sb += db * db
            sc += dc * dc
            sd += dd * dd
        exact[e], exact[f], exact[g], exact[h] = sa, sb, sc, sd


@JIT
def measure_dense(
    X: Any, Q: Any, wanted: Any, starts: Any, count: Any, row: Any, exact: Any
) -> None:
    """Measure all candidates of the wanted queries in float64, each sum in column order.

    Parameters
    ----------
    X : (n, d) rows
    Q : (m, d) float64 queries
    wanted : (m,) whether the candidates of a query are measured
    starts, count : (m,) where the candidates of each query begin, and their number
    row, exact : numbers of all candidates; their squared distances are written here
    """
    for i in range(Q.shape[0]):
        if wanted[i]:
            measure_query(X, Q, i, row, exact, starts[i], count[i])


@JIT
def measure_sparse(
    data: Any, indices: Any, indptr: Any, q_data: Any, q_indices: Any, q_indptr: Any,
    wanted: Any, starts: Any, count: Any, row: Any, exact: Any,
) -> None:  # fmt: skip
    """The same for CSR rows with ascending columns: the bits of the sum over all columns.

    Parameters
    ----------
    data, indices, indptr : rows
    q_data, q_indices, q_indptr : queries
    wanted, starts, count, row, exact : as in `measure_dense`
    """
    for i in range(wanted.shape[0]):
        if not wanted[i]:
            continue
        for e in range(starts[i], starts[i] + count[i]):
            a, a_end = indptr[row[e]], indptr[row[e] + 1]
            b, b_end = q_indptr[i], q_indptr[i + 1]
            square = 0.0
            while a < a_end or b < b_end:
                v = 0.0
                at_a = a < a_end and (b == b_end or indices[a] <= q_indices[b])
                at_b = b < b_end and (a == a_end or q_indices[b] <= indices[a])
                if at_a:
                    v = np.float64(data[a])
                    a += 1
                if at_b:
                    v -= np.float64(q_data[b])
                    b += 1
                square += v * v
            exact[e] = square


@JIT
def measure_missing(
    X: Any, Q: Any, wanted: Any, starts: Any, count: Any, row: Any, exact: Any
) -> None:
    """The same for rows with NaN: d / c times the sum over the c columns that both rows have.

    Parameters
    ----------
    X, Q, wanted, starts, count, row, exact : as in `measure_dense`
    """
    d = Q.shape[1]
    for i in range(Q.shape[0]):
        if not wanted[i]:
            continue
        for e in range(starts[i], starts[i] + count[i]):
            square, common = 0.0, 0
            for j in range(d):
                difference = np.float64(X[row[e], j]) - Q[i, j]
                if not np.isnan(difference):
                    square += difference * difference
                    common += 1
            exact[e] = square / common * d if common else np.inf


@JIT
def missing_bounds(product: Any, query_sum: Any, row_sum: Any, common: Any, d: int) -> None:
    """Minus half of the squared distances of incomplete rows, written to `product`.

    Parameters
    ----------
    product, query_sum, row_sum, common : (m, t) float32, the four products of `MissingBruteForce`
    d : number of columns
    """
    for i in range(product.shape[0]):
        for j in range(np.uint64(product.shape[1])):
            c = common[i, j]
            half = (query_sum[i, j] + row_sum[i, j]) * np.float32(0.5) - product[i, j]
            # no column in common: infinitely far
            product[i, j] = -half / c * np.float32(d) if c > 0 else np.float32(-np.inf)


@INLINE
def keep_nearest_of(
    bounds: Any, low: Any, row: Any, exact: Any, n: int, scale: float, half: float
) -> None:
    """Keep the k nearest of the n measured candidates of a query; see `keep_nearest`."""
    k = bounds.shape[0]
    make_heap(exact, row, k)
    for e in range(k, n):
        push(exact, row, k, exact[e], row[e])
    for e in range(k):
        bounds[e] = np.inf
    for e in range(k):
        bound = exact[e] * scale - half
        low[e] = np.float32(bound)
        push_bound(bounds, k, bound)


@JIT
def keep_nearest(
    wanted: Any, scale: float, half: Any, bounds: Any, low: Any, row: Any, exact: Any, count: Any
) -> None:
    """Keep the k nearest of the measured candidates of the wanted queries, and their bounds.

    Parameters
    ----------
    wanted : (m,) whether a query is wanted
    scale : factor of squared distances in the units of the bounds, halved
    half : (m,) half the squared length of each query in these units
    bounds, low, row, exact, count : as in `filter_tile`
    """
    for i in range(wanted.shape[0]):
        if wanted[i] and count[i] >= bounds.shape[1]:
            keep_nearest_of(bounds[i], low[i], row[i], exact[i], count[i], scale, half[i])
            count[i] = bounds.shape[1]


@JIT
def write_nearest(row: Any, exact: Any, count: Any, distances: Any, rows: Any) -> None:
    """Merge measured candidates into the heaps of the k nearest, and sort these.

    Parameters
    ----------
    row, exact : (m, c) numbers and squared distances of candidates
    count : (m,) number of candidates
    distances, rows : (m, k) result, filled with infinity and NOBODY
    """
    k = distances.shape[1]
    for i in range(row.shape[0]):
        make_heap(distances[i], rows[i], k)
        for e in range(count[i]):
            push(distances[i], rows[i], k, exact[i, e], row[i, e])
        sort_heap(distances[i], rows[i], k)
