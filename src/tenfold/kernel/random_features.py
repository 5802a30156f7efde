"""Random features: maps drawn without looking at rows, whose dot products approximate a kernel."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.fft import irfft, rfft
from scipy.linalg import hadamard
from scipy.sparse import csr_array
from sklearn import kernel_approximation
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.mixins import Transformer
from tenfold.engine.chunk import Chunk
from tenfold.engine.rows import Rows
from tenfold.kernel._cosines_numba import cosine_features
from tenfold.kernel._value_moments import count_rows, value_moments

_MIN_HADAMARD = 64  # least order of the matrices of structured frequencies
_COUNT: list[Any] = [Interval(Integral, 1, None, closed="left")]


class _RandomFeatures(ClassNamePrefixFeaturesOutMixin, Transformer):
    """A transformer whose fit draws numbers and does not read the rows."""

    n_components: int
    _sparse_ok = True
    _samples_rows = True

    @property
    def _n_features_out(self) -> int:
        return self.n_components


class RBFSampler(_RandomFeatures):
    r"""Random Fourier features of the RBF kernel.

    Their products approximate :math:`\exp(-\gamma \lVert x - z \rVert^2)`:

    .. math:: \phi_j(x) = \sqrt{2 / m} \, \cos(w_j \cdot x + b_j), \qquad
              w_j \sim N(0, 2 \gamma I), \quad b_j \sim U(0, 2 \pi)

    Dot products of features are the kernel value in the mean, with errors of the order
    :math:`1 / \sqrt m`. Parameters and attributes are those of
    `sklearn.kernel_approximation.RBFSampler`, and `method`.

    Parameters
    ----------
    gamma : float or "scale"
        Of the kernel; "scale" is 1 / (n_features * variance of all values).
    n_components : int
        Number of features m.
    random_state : int, optional
        Seed.
    method : {"random", "orthogonal", "structured"}
        Independent frequencies; orthogonal ones in each block of n_features, which have smaller
        errors; or products of Hadamard matrices and random signs, which are nearly as good.

    Attributes
    ----------
    random_weights_ : (n_features, n_components) frequencies
    random_offset_ : (n_components,) phases

    See Also
    --------
    Nystroem : Features by landmarks, mostly better for the same number.

    References
    ----------
    A. Rahimi and B. Recht (2007), Random features for large-scale kernel machines.

    F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar (2016), Orthogonal random
    features.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import RBFSampler
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> Z = RBFSampler(gamma=0.1, n_components=5000, random_state=0).fit_transform(X)
    >>> K = np.exp(-0.1 * ((X[:, None] - X) ** 2).sum(axis=2))
    >>> bool(np.abs(Z @ Z.T - K).max() < 0.05)
    True
    """

    _learned_shapes = {"random_offset_": "m", "random_weights_": "p m"}
    _parameter_constraints = {
        "gamma": [StrOptions({"scale"}), Interval(Real, 0.0, None, closed="left")],
        "n_components": _COUNT,
        "random_state": ["random_state"],
        "method": [StrOptions({"random", "orthogonal", "structured"})],
    }

    def __init__(
        self,
        *,
        gamma: Any = 1.0,
        n_components: int = 100,
        random_state: Any = None,
        method: str = "random",
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state
        self.method = method

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        p, m, gamma = rows.n_features, self.n_components, self.gamma
        if gamma == "scale":
            variance = rows.total(value_moments).variance
            gamma = 1.0 / (p * variance) if variance > 0 else 1.0
        else:
            rows.total(count_rows)
        draws = check_random_state(self.random_state)  # scikit-learn's numbers for equal seeds
        draw = {
            "random": lambda: draws.normal(size=(p, m)),
            "orthogonal": lambda: _orthogonal_frequencies(p, m, draws),
            "structured": lambda: _structured_frequencies(p, m, draws),
        }
        W = np.sqrt(2.0 * gamma) * draw[self.method]()
        offset = draws.uniform(0, 2 * np.pi, m)
        return {
            "random_weights_": W.astype(rows.dtype),
            "random_offset_": offset.astype(rows.dtype),
            "_gamma": float(gamma),
        }

    def transform(self, X: Any) -> np.ndarray:
        """Features of rows, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        return self._map_rows(X, cosine_chunk, self.random_weights_, self.random_offset_)


def _orthogonal_frequencies(p: int, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Blocks of orthogonal directions with the lengths of Gaussian vectors, (p, m)."""
    blocks = []
    for first in range(0, m, p):
        Q, R = np.linalg.qr(rng.normal(size=(p, p)))
        Q *= np.sign(np.diagonal(R))
        lengths = np.sqrt(rng.chisquare(p, size=p))
        blocks.append((Q * lengths)[:, : m - first])
    return np.hstack(blocks)


def _structured_frequencies(p: int, m: int, rng: np.random.RandomState) -> np.ndarray:
    """Blocks of H D1 H D2 H D3 with normalized Hadamard matrices H and random signs, times lengths.

    The error is of the order 1 / d, so that few columns are filled up with zeros.
    """
    d = max(1 << (p - 1).bit_length(), _MIN_HADAMARD)
    H = hadamard(d) / np.sqrt(d)
    blocks = []
    for first in range(0, m, d):
        block = np.eye(d)
        for _ in range(3):
            block = H @ (rng.choice([-1.0, 1.0], size=d)[:, None] * block)
        lengths = np.sqrt(rng.chisquare(d, size=d))
        blocks.append((lengths * block)[:p, : m - first])
    return np.hstack(blocks)


def cosine_chunk(chunk: Chunk, W: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Random Fourier features of rows."""
    return _cosines(chunk.X, W.astype(chunk.X.dtype), offset)


def _cosines(X: Any, W: np.ndarray, offset: np.ndarray) -> np.ndarray:
    P = np.ascontiguousarray(X @ W)
    cosine_features(P, offset.astype(P.dtype), P.dtype.type(np.sqrt(2.0 / len(offset))))
    return P


class SkewedChi2Sampler(_RandomFeatures):
    r"""Random features of the skewed chi-squared kernel of histograms.

    .. math:: k(x, z) = \prod_j \frac{2 \sqrt{x_j + c} \sqrt{z_j + c}}{x_j + z_j + 2 c}

    Parameters and attributes are those of `sklearn.kernel_approximation.SkewedChi2Sampler`.

    Parameters
    ----------
    skewedness : float
        The number c; all values must be above -c.
    n_components : int
        Number of features.
    random_state : int, optional
        Seed.

    Attributes
    ----------
    random_weights_ : (n_features, n_components) frequencies
    random_offset_ : (n_components,) phases

    See Also
    --------
    AdditiveChi2Sampler : Of the additive chi-squared kernel, without randomness.

    References
    ----------
    F. Li, C. Ionescu and C. Sminchisescu (2010), Random Fourier approximations for skewed
    multiplicative histogram kernels.

    Examples
    --------
    >>> from tenfold import SkewedChi2Sampler
    >>> SkewedChi2Sampler(n_components=4, random_state=0).fit_transform([[0.0, 1.0]]).shape
    (1, 4)
    """

    _sparse_ok = False
    _law_params = {"skewedness": 100.0}  # all values must be above -skewedness
    _learned_shapes = {"random_offset_": "m", "random_weights_": "p m"}
    _parameter_constraints = {
        "skewedness": [Interval(Real, None, None, closed="neither")],
        "n_components": _COUNT,
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, skewedness: float = 1.0, n_components: int = 100, random_state: Any = None
    ) -> None:
        self.skewedness = skewedness
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        rows.total(count_rows)
        draws = check_random_state(self.random_state)
        u = draws.uniform(size=(rows.n_features, self.n_components))
        W = 1.0 / np.pi * np.log(np.tan(np.pi / 2.0 * u))
        offset = draws.uniform(0, 2 * np.pi, self.n_components)
        return {
            "random_weights_": W.astype(rows.dtype),
            "random_offset_": offset.astype(rows.dtype),
        }

    def transform(self, X: Any) -> np.ndarray:
        """Features of rows, (n_rows, n_components).

        Parameters
        ----------
        X : array, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        state = self.skewedness, self.random_weights_, self.random_offset_
        return self._map_rows(X, _skewed_chunk, *state)


def _skewed_chunk(chunk: Chunk, c: float, W: np.ndarray, offset: np.ndarray) -> np.ndarray:
    if chunk.X.size and chunk.X.min() <= -c:
        raise ValueError("X may not contain entries smaller than -skewedness.")
    return _cosines(np.log(chunk.X + chunk.X.dtype.type(c)), W.astype(chunk.X.dtype), offset)


class AdditiveChi2Sampler(Transformer):
    r"""Features of the additive chi-squared kernel of histograms, by its Fourier series.

    .. math:: k(x, z) = \sum_j \frac{2 x_j z_j}{x_j + z_j}

    Each column gives 2 * sample_steps - 1 features; nothing is drawn. Parameters and results are
    those of `sklearn.kernel_approximation.AdditiveChi2Sampler`, which computes each chunk.

    Parameters
    ----------
    sample_steps : int
        Number of samples of the spectrum.
    sample_interval : float, optional
        Their distance; by default the best for 1, 2 and 3 steps.

    See Also
    --------
    SkewedChi2Sampler : Random features of the skewed chi-squared kernel.

    References
    ----------
    A. Vedaldi and A. Zisserman (2011), Efficient additive kernels via explicit feature maps.

    Examples
    --------
    >>> from tenfold import AdditiveChi2Sampler
    >>> AdditiveChi2Sampler(sample_steps=2).fit_transform([[0.0, 1.0]]).shape
    (1, 6)
    """

    _sparse_ok = True
    _parameter_constraints = {
        "sample_steps": _COUNT,
        "sample_interval": [Interval(Real, 0, None, closed="left"), None],
    }

    def __init__(self, *, sample_steps: int = 2, sample_interval: float | None = None) -> None:
        self.sample_steps = sample_steps
        self.sample_interval = sample_interval

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        self._check_interval()
        rows.total(_least_value)
        return {}

    def _check_interval(self) -> None:
        if self.sample_interval is None and self.sample_steps > 3:
            raise ValueError(
                "If sample_steps is not in [1, 2, 3], you need to provide sample_interval"
            )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: root, cosines and sines of each column.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns; by default those of the fit.
        """
        check_is_fitted(self, "n_features_in_")
        theirs = kernel_approximation.AdditiveChi2Sampler(**self.get_params())
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(theirs, name, getattr(self, name))
        return theirs.get_feature_names_out(input_features)

    def transform(self, X: Any) -> Any:
        """Features of rows, (n_rows, n_features * (2 * sample_steps - 1)).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        self._check_interval()
        return self._map_rows(X, _additive_chunk, self.get_params())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.requires_fit = False
        return tags


def _least_value(chunk: Chunk) -> int:
    """Refuse negative values; the number of rows."""
    values = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.data
    if values.size and values.min() < 0:
        raise ValueError("Negative values in data passed to X in AdditiveChi2Sampler: give counts")
    return chunk.rows


def _additive_chunk(chunk: Chunk, params: dict[str, Any]) -> Any:
    theirs = kernel_approximation.AdditiveChi2Sampler(**params)
    _least_value(chunk)
    return theirs.fit(chunk.X[:1]).transform(chunk.X)


class PolynomialCountSketch(_RandomFeatures):
    r"""A sketch of the features of the polynomial kernel.

    For the kernel :math:`(\gamma \, x \cdot z + c_0)^d`.
    Count sketches of d copies of a row, convolved by fast Fourier transforms (Tensor Sketch).
    Parameters and attributes are those of `sklearn.kernel_approximation.PolynomialCountSketch`.

    Parameters
    ----------
    gamma, degree, coef0 : float and int
        Of the kernel.
    n_components : int
        Number of features.
    random_state : int, optional
        Seed.

    Attributes
    ----------
    indexHash_ : (degree, n_features) feature of each column, in each copy
    bitHash_ : (degree, n_features) sign of each column, in each copy

    See Also
    --------
    PolynomialFeatures : All monomials.

    References
    ----------
    N. Pham and R. Pagh (2013), Fast and scalable polynomial kernels via explicit feature maps.

    Examples
    --------
    >>> from tenfold import PolynomialCountSketch
    >>> PolynomialCountSketch(n_components=8, random_state=0).fit_transform([[1.0, 2.0]]).shape
    (1, 8)
    """

    _learned_shapes = {"bitHash_": "f c", "indexHash_": "f c : index"}
    _parameter_constraints = {
        "gamma": [Interval(Real, 0, None, closed="left")],
        "degree": _COUNT,
        "coef0": [Interval(Real, None, None, closed="neither")],
        "n_components": _COUNT,
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        degree: int = 2,
        coef0: float = 0,
        n_components: int = 100,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, rows: Rows, rng: np.random.Generator) -> dict[str, Any]:
        if self.coef0 < 0:
            raise ValueError(f"coef0={self.coef0!r}: the sketch needs its root, give at least 0")
        rows.total(count_rows)
        shape = self.degree, rows.n_features + (self.coef0 != 0)
        draws = check_random_state(self.random_state)
        return {
            "indexHash_": draws.randint(0, high=self.n_components, size=shape),
            "bitHash_": draws.choice(a=[-1, 1], size=shape),
        }

    def _check_learned(self) -> None:
        """Refuse places of a loaded model that are not for its columns and features."""
        copies, columns = self.indexHash_.shape
        expected = self.n_features_in_ + (self.coef0 != 0)
        if copies < 1 or columns != expected:
            raise ValueError(
                f"indexHash_ has shape {self.indexHash_.shape}, not (1 or more, {expected})"
            )
        if self.indexHash_.max() >= self.n_components:
            raise ValueError(f"indexHash_ holds places beyond the {self.n_components} features")

    def transform(self, X: Any) -> np.ndarray:
        """Features of rows, (n_rows, n_components).

        Parameters
        ----------
        X : array, sparse matrix, table, path, Dask collection or `tenfold.open(...)`
            The rows.
        """
        check_is_fitted(self)
        state = self.gamma, self.coef0, self.n_components, self.indexHash_, self.bitHash_
        return self._map_rows(X, _sketch_chunk, *state)


def _sketch_chunk(
    chunk: Chunk, gamma: float, coef0: float, m: int, places: np.ndarray, signs: np.ndarray
) -> np.ndarray:
    """Tensor sketch of rows: products of the transforms of count sketches."""
    p = chunk.X.shape[1]
    product: Any = None
    for place, sign in zip(places, signs, strict=True):
        entries = np.sqrt(gamma) * sign[:p], (np.arange(p), place[:p])
        sketch = chunk.X.astype(np.float64) @ csr_array(entries, shape=(p, m))
        sketch = sketch if isinstance(sketch, np.ndarray) else sketch.toarray()
        if coef0 != 0:
            sketch[:, place[p]] += np.sqrt(coef0) * sign[p]
        transformed: Any = rfft(sketch, axis=1)
        product = transformed if product is None else product * transformed
    return np.asarray(irfft(product, m, axis=1)).astype(chunk.X.dtype)
