"""Linear-chain conditional random fields and the structured perceptron."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.base._sklearn import Interval, StrOptions
from tenfold.base.estimator import fit_context
from tenfold.engine.hooks import record_value
from tenfold.language._label_chain import (
    LabelChain,
    count_labels,
    find_best_labels,
    infer_labels,
    score_paths,
)
from tenfold.language._step_features import StepFeatures, list_sequences
from tenfold.neural._minibatch import BatchGradient, PartWorkers
from tenfold.neural.network import flatten_params, unflatten_params
from tenfold.optim.convergence import until_converged
from tenfold.optim.quasi_newton import lbfgs
from tenfold.sequence._symbols import sort_symbols

_PART_SEQUENCES = 128


class CRF(BaseEstimator):
    r"""Linear-chain conditional random field: a label for each step of a sequence.

    .. math:: p(y \mid x) = \frac{1}{Z(x)} \exp\Bigl(a_{y_1} + \sum_t w_{y_t} \cdot \phi(x, t)
              + \sum_t A_{y_{t-1} y_t} + b_{y_T}\Bigr)

    The labels of a sequence are predicted together: a label depends on the features of its step and
    on the labels beside it. Training minimizes :math:`-\sum \log p(y \mid x) + \frac\alpha2
    \lVert \theta \rVert^2` by L-BFGS, which is convex; or the structured perceptron moves the
    weights from the features of the best path to those of the true one, and averages them.

    Parameters
    ----------
    algorithm : "lbfgs" or "perceptron"
        Maximum likelihood, or the averaged structured perceptron.
    alpha : float
        Penalty of the squared weights; not used by the perceptron.
    max_iter : int
        Most iterations of L-BFGS, or epochs of the perceptron.
    tol : float
        L-BFGS has converged when no entry of the mean gradient exceeds this.
    features : callable, optional
        `features(sequence, place)` gives a dictionary of features (texts are categories), or an
        iterable of names. By default tokens have `token_features` (word, form, prefixes, suffixes,
        neighbors), and steps that are dictionaries, lists of names or rows of an array are taken as
        they are.
    random_state : int, optional
        Seed of the order of the perceptron.
    n_jobs : int, optional
        Number of threads; all by default.

    Attributes
    ----------
    classes_ : list
        Labels.
    feature_names_ : list of str or None
        Names of the columns, None for arrays.
    coef_ : (n_features, n_classes) array
        Weights of the features.
    transition_ : (n_classes, n_classes) array
        Scores of pairs of neighboring labels, row: from, column: to.
    start_, end_ : (n_classes,) arrays
        Scores of first and last labels.
    n_iter_, converged_, history_
        Of the training.

    See Also
    --------
    CategoricalHMM : a model of the steps as well as of the labels.
    RecurrentClassifier : labels of steps by a network.

    References
    ----------
    J. Lafferty, A. McCallum, F. Pereira (2001), "Conditional random fields: probabilistic models
    for segmenting and labeling sequence data".
    M. Collins (2002), "Discriminative training methods for hidden Markov models: theory and
    experiments with perceptron algorithms".

    Examples
    --------
    >>> from tenfold import CRF
    >>> X = [["Anna", "lives", "in", "Rome"], ["Rome", "is", "old"], ["Bert", "likes", "Anna"]]
    >>> y = [["P", "-", "-", "L"], ["L", "-", "-"], ["P", "-", "P"]]
    >>> CRF().fit(X, y).predict([["Bert", "lives", "in", "Rome"]])
    [['P', '-', '-', 'L']]
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Learned attributes, which no type checker sees."""

    _parameter_constraints: dict[str, Any] = {
        "algorithm": [StrOptions({"lbfgs", "perceptron"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "features": [callable, None],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }
    _learned_shapes = {
        "coef_": "f c",
        "transition_": "c c",
        "start_": "c",
        "end_": "c",
    }

    def __init__(
        self,
        algorithm: str = "lbfgs",
        *,
        alpha: float = 1.0,
        max_iter: int = 200,
        tol: float = 1e-5,
        features: Callable[[Any, int], Any] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.algorithm = algorithm
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.features = features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labeled sequences.

        Parameters
        ----------
        X : list of sequences
            Lists of tokens, of dictionaries or of names of features; or arrays (n_steps, n).
        y : list of sequences of labels
            A label for each step.

        Returns
        -------
        self
        """
        self._validate_params()
        reader = StepFeatures(self.features)
        matrix, offsets = reader.read(X)
        labels = [label for sequence in _list_labels(offsets, y) for label in sequence]
        self.classes_ = sort_symbols(set(labels))
        numbers = {label: number for number, label in enumerate(self.classes_)}
        targets = np.array([numbers[label] for label in labels], np.int64)
        self.feature_names_ = reader.names
        with fit_context(self):
            fit = self._fit_lbfgs if self.algorithm == "lbfgs" else self._fit_perceptron
            coef, chain, report = fit(matrix, offsets, targets)
        self.coef_ = coef
        self.transition_, self.start_, self.end_ = chain
        for name, value in report.items():
            setattr(self, name, value)
        return self

    def _fit_lbfgs(self, matrix: Any, offsets: np.ndarray, y: np.ndarray) -> Any:
        k, p = len(self.classes_), matrix.shape[1]
        like = [np.zeros((p, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k)]
        workers, n = PartWorkers(_PART_SEQUENCES), len(offsets) - 1

        def value_and_gradient(flat: np.ndarray) -> tuple[float, np.ndarray]:
            coef, *chain = unflatten_params(flat, like)

            def compute(a: int, b: int) -> BatchGradient:
                return part_gradient(matrix, offsets, y, coef, LabelChain(*chain), (a, b))

            total = workers.gradient(n, compute)
            value = total.loss + self.alpha / 2 * float(flat @ flat)
            return value / n, (flatten_params(total.arrays) + self.alpha * flat) / n

        found = lbfgs(
            value_and_gradient, flatten_params(like), tol=self.tol, max_iter=self.max_iter
        )
        coef, *chain = unflatten_params(found.x, like)
        return coef, LabelChain(*chain), found.report

    def _fit_perceptron(self, matrix: Any, offsets: np.ndarray, y: np.ndarray) -> Any:
        k, p = len(self.classes_), matrix.shape[1]
        draw = check_random_state(self.random_state).randint
        seed = int(record_value(lambda: int(draw(2**31 - 1))))
        like = [np.zeros((p, k)), np.zeros((k, k)), np.zeros(k), np.zeros(k)]
        start: Any = (like, [array.copy() for array in like], 1)
        loop = until_converged(start, tol=0.0, max_iter=self.max_iter)
        for weights, sums, steps in loop:
            now, later = [a.copy() for a in weights], [a.copy() for a in sums]
            order = np.random.default_rng([seed, loop.n_iter]).permutation(len(offsets) - 1)
            mistakes = 0
            for number, place in enumerate(order):
                span = (int(offsets[place]), int(offsets[place + 1]))
                mistakes += _perceptron_step(matrix, span, y, now, later, steps + number)
            state = (now, later, steps + len(order))
            loop.update(state, objective=mistakes / len(y), change=float(mistakes))
        weights, sums, steps = loop.state
        coef, *chain = [w - u / steps for w, u in zip(weights, sums, strict=True)]
        return coef, LabelChain(*chain), loop.report

    def _scores(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        matrix, offsets = StepFeatures(self.features, self.feature_names_).read(X)
        if matrix.shape[1] != len(self.coef_):
            raise ValueError(f"steps have {matrix.shape[1]} features, in the fit {len(self.coef_)}")
        return np.asarray(matrix @ self.coef_), offsets

    @property
    def _chain(self) -> LabelChain:
        return LabelChain(self.transition_, self.start_, self.end_)

    def predict(self, X: Any) -> list[list[Any]]:
        """The most probable labels of each sequence, found together (Viterbi).

        Parameters
        ----------
        X : as for `fit`
            Sequences.
        """
        scores, offsets = self._scores(X)
        numbers, _ = find_best_labels(scores, offsets, self._chain)
        labels = [self.classes_[number] for number in numbers]
        return [labels[a:b] for a, b in pairwise(offsets)]

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """Probability of each label at each step, (n_steps, n_classes) for each sequence.

        Parameters
        ----------
        X : as for `fit`
            Sequences.
        """
        scores, offsets = self._scores(X)
        found = infer_labels(scores, offsets, self._chain)
        return np.split(found.marginals, offsets[1:-1])

    def log_prob(self, X: Any, y: Any) -> np.ndarray:
        """Natural logarithm of the probability of the labels of each sequence.

        Parameters
        ----------
        X, y : as for `fit`
            Sequences and labels.
        """
        scores, offsets = self._scores(X)
        numbers = {label: number for number, label in enumerate(self.classes_)}
        labels = [label for sequence in _list_labels(offsets, y) for label in sequence]
        unknown = [label for label in labels if label not in numbers]
        if unknown:
            raise ValueError(f"the label {unknown[0]!r} did not occur in the fit")
        targets = np.array([numbers[label] for label in labels], np.int64)
        paths = score_paths(scores, offsets, self._chain, targets)
        return paths - infer_labels(scores, offsets, self._chain).log_normalizers

    def score(self, X: Any, y: Any) -> float:
        """Share of the steps with the right label.

        Parameters
        ----------
        X, y : as for `fit`
            Sequences and labels.
        """
        predictions = self.predict(X)
        wanted = _list_labels(np.cumsum([0, *map(len, predictions)]), y)
        pairs = [
            (a, b)
            for one, other in zip(predictions, wanted, strict=True)
            for a, b in zip(one, other, strict=True)
        ]
        return float(np.mean([a == b for a, b in pairs]))

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)


def part_gradient(
    matrix: Any,
    offsets: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    chain: LabelChain,
    part: tuple[int, int],
) -> BatchGradient:
    """Minus the log-likelihood of some sequences, and its gradient."""
    a, b = part
    low, high = offsets[a], offsets[b]
    own, labels = offsets[a : b + 1] - low, y[low:high]
    rows = matrix[low:high]
    scores = np.ascontiguousarray(rows @ coef)
    found = infer_labels(scores, own, chain)
    loss = float((found.log_normalizers - score_paths(scores, own, chain, labels)).sum())
    errors = found.marginals.copy()
    errors[np.arange(len(labels)), labels] -= 1
    pairs, first, last = count_labels(own, labels, len(chain.start))
    of_start = found.marginals[own[:-1]].sum(axis=0) - first
    of_end = found.marginals[own[1:] - 1].sum(axis=0) - last
    of_coef = np.asarray(rows.T @ errors)
    return BatchGradient(loss, float(b - a), [of_coef, found.pairs - pairs, of_start, of_end])


def _perceptron_step(
    matrix: Any,
    span: tuple[int, int],
    y: np.ndarray,
    weights: list[np.ndarray],
    sums: list[np.ndarray],
    step: int,
) -> int:
    """Move the weights from the best path to the true one; the number of wrong labels."""
    rows, labels = matrix[span[0] : span[1]], y[span[0] : span[1]]
    own, k = np.array([0, len(labels)]), len(weights[2])
    scores = np.ascontiguousarray(rows @ weights[0])
    best, _ = find_best_labels(scores, own, LabelChain(*weights[1:]))
    wrong = np.flatnonzero(best != labels)
    if not len(wrong):
        return 0
    signs = np.zeros((len(wrong), k))
    signs[np.arange(len(wrong)), labels[wrong]] = 1
    signs[np.arange(len(wrong)), best[wrong]] -= 1
    moves = [np.asarray(rows[wrong].T @ signs)]
    moves += [
        true - found
        for true, found in zip(
            count_labels(own, labels, k), count_labels(own, best, k), strict=True
        )
    ]
    for weight, total, move in zip(weights, sums, moves, strict=True):
        weight += move
        total += step * move
    return len(wrong)


def _list_labels(offsets: np.ndarray, y: Any) -> list[Any]:
    """Sequences of labels, as many and as long as those that begin at `offsets`."""
    labels = list_sequences(y, "y")
    if len(labels) != len(offsets) - 1:
        raise ValueError(f"there are {len(offsets) - 1} sequences and {len(labels)} of labels")
    for number, (length, sequence) in enumerate(zip(np.diff(offsets), labels, strict=True)):
        if len(sequence) != length:
            raise ValueError(
                f"sequence {number} has {length} steps and {len(sequence)} labels: each step needs "
                "one"
            )
    return labels
