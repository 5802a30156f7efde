"""Networks: an epoch, and the way to a good accuracy, against torch and scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import util
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from benchmarks.case import Data
from benchmarks.generated import mnist
from benchmarks.limits import cores
from benchmarks.networks_torch import BATCH, torch_epochs
from benchmarks.report import Row, Table, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Networks"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "of the limit"]
HEADER += ["right, ours", "peer"]
OURS = "tenfold"
LONG = ("MLP 784-512-10 to 98.3 %", "CNN 32-64-128 to 99.2 %")  # minutes: only by their names
AS_GOOD = 0.002  # share of unseen digits by which ours may know fewer

# products (rows per image, inner, columns) of a step forward and back, without that in the input
MLP = ((1, 784, 128), (1, 128, 10))
CNN = ((676, 9, 32), (121, 288, 64), (1, 1600, 128), (1, 128, 10))
LSTM = ((28, 28, 256), (28, 64, 256), (1, 64, 10))

Fit = Callable[[np.ndarray, np.ndarray, int], Callable[[np.ndarray], np.ndarray]]


class Case(NamedTuple):
    """A network, ours and a peer's: epochs, and what part of the digits it must know then."""

    name: str
    peer: str
    ours: Fit
    theirs: Fit
    products: tuple[tuple[int, int, int], ...]
    target: float
    epochs: int = 1
    right: float = 0.0
    rounds: int = 5


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    missing = [case for case in chosen if util.find_spec(case.peer) is None]
    rows = [tell(case.name) or contest(case, quick=quick) for case in chosen if case not in missing]
    notes = [f"batches of {BATCH}, Adam, float32, {cores()} threads each; MNIST"]
    notes += ["the limit: the matrix products of all steps, on one BLAS thread a core"]
    notes += ["right: share of 10,000 unseen digits; of an epoch only that of the last turn"]
    notes += [f"left out: {case.name}, {case.peer} is not installed" for case in missing]
    return Table(TITLE, HEADER, rows, notes)


def contest(case: Case, *, quick: bool) -> Row:
    """Fits in turns; what the last turn has learned is judged on unseen digits."""
    data, unseen = pixels(mnist(10 if quick else 1)), unseen_digits()
    fits, said = {OURS: case.ours, case.peer: case.theirs}, {}
    with undisturbed():
        for fit in fits.values():
            fit(data.X[:1000], data.y[:1000], 1)

    def timed_fit(name: str, _: int) -> list[float]:
        spent = seconds(lambda: said.update({name: fits[name](data.X, data.y, case.epochs)}))
        return [spent]

    turns = {name: partial(timed_fit, name) for name in fits}
    times = interleaved(turns, 1 if quick else case.rounds)
    right = {
        name: float(np.mean(tell_digits(unseen.X) == unseen.y))
        for name, tell_digits in said.items()
    }
    ratio = times[case.peer].median / times[OURS].median
    steps = case.epochs * -(-len(data.X) // BATCH)
    limit = steps * product_seconds(case.products) / times[OURS].median
    good = right[OURS] >= max(case.right, right[case.peer] - AS_GOOD) or case.epochs == 1
    verdict = ("met" if ratio >= case.target else "missed") if good else "not counted: worse"
    cells = [case.name, case.peer, timed(times[OURS]), timed(times[case.peer]), f"{ratio:.2f}x"]
    cells += [f"{case.target:g}x", f"{limit:.0%}", *(f"{right[name]:.2%}" for name in fits)]
    return Row(cells, verdict)


def product_seconds(products: tuple[tuple[int, int, int], ...]) -> float:
    """Seconds of a step's matrix products, shared out evenly over the cores."""
    from threadpoolctl import threadpool_limits

    total = 0.0
    with threadpool_limits(1, "blas"):
        for number, (places, inner, columns) in enumerate(products):
            x = np.ones((places * BATCH // cores(), inner), np.float32)
            W, d = np.ones((inner, columns), np.float32), np.ones((len(x), columns), np.float32)
            ways = [lambda x=x, W=W: x @ W, lambda x=x, d=d: x.T @ d]
            ways += [lambda d=d, W=W: d @ W.T] if number else []
            total += sum(min(_spent(way) for _ in range(20)) for way in ways)
    return total


def _spent(way: Callable[[], Any]) -> float:
    start = perf_counter()
    way()
    return perf_counter() - start


def pixels(data: Data) -> Data:
    """Grey values from 0 to 1 in float32, labels as numbers."""
    X = np.asarray(data.X, np.float32)
    assert data.y is not None  # noqa: S101
    return Data(X / max(X.max(), 1), np.asarray(data.y).astype(np.int64))


def unseen_digits() -> Data:
    """The 10,000 digits that no fit sees; without TENFOLD_DATA, some of those that it sees."""
    if not os.environ.get("TENFOLD_DATA"):
        return pixels(mnist(6))
    from tenfold.datasets import fetch_mnist

    return pixels(Data(*fetch_mnist(subset="test", return_X_y=True)))


def layers(kind: str, dropout: float) -> list[Any]:
    """Our layers of a network."""
    from tenfold.neural import Conv2d, Dense, Dropout, Flatten, Lstm, MaxPool

    if kind == "lstm":
        return [Lstm(64), Dense()]
    rest = [Dropout(dropout)] if dropout else []
    if kind == "mlp":
        return [Dense(512 if dropout else 128, "relu"), *rest, Dense()]
    kernels = [Conv2d(32, 3, "relu"), MaxPool(2), Conv2d(64, 3, "relu"), MaxPool(2), Flatten()]
    return [*kernels, *rest, Dense(128, "relu"), *rest, Dense()]


def our_epochs(kind: str, dropout: float, X: np.ndarray, y: np.ndarray, epochs: int) -> Any:
    from tenfold import SequentialClassifier
    from tenfold.optim.schedules import CosineDecay

    rate = CosineDecay(0.002, epochs * -(-len(X) // BATCH)) if epochs > 1 else 0.001
    shape = {"cnn": (28, 28, 1), "lstm": (28, 28)}.get(kind)
    settings = {"learning_rate": rate, "epochs": epochs, "batch_size": BATCH, "random_state": 0}
    model = SequentialClassifier(layers(kind, dropout), input_shape=shape, **settings)
    return model.fit(X, y).predict


def sklearn_epochs(X: np.ndarray, y: np.ndarray, epochs: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    settings = {"batch_size": BATCH, "max_iter": epochs, "random_state": 0, "alpha": 0.0}
    return MLPClassifier((128,), **settings).fit(X, y).predict


def cases() -> list[Case]:
    wide = ((1, 784, 512), (1, 512, 10))
    ours, torch = partial(our_epochs, "mlp", 0.0), partial(torch_epochs, "mlp", 0.0)
    kernels, theirs = partial(our_epochs, "cnn", 0.0), partial(torch_epochs, "cnn", 0.0)
    steps = [partial(epochs, "lstm", 0.0) for epochs in (our_epochs, torch_epochs)]
    long = [
        (partial(our_epochs, kind, 0.3), partial(torch_epochs, kind, 0.3))
        for kind in ("mlp", "cnn")
    ]
    return [
        Case("MLP 784-128-10, an epoch", "torch", ours, torch, MLP, 2.0),
        Case("MLP 784-128-10, an epoch of scikit-learn", "sklearn", ours, sklearn_epochs, MLP, 3.0),
        Case("CNN 32-64-128, an epoch", "torch", kernels, theirs, CNN, 1.5, rounds=3),
        Case("LSTM 28 x 28, 64 units, an epoch", "torch", *steps, LSTM, 1.0, rounds=3),
        Case(LONG[0], "torch", *long[0], wide, 1.0, 20, 0.983, 1),
        Case(LONG[1], "torch", *long[1], CNN, 1.0, 8, 0.992, 1),
    ]
