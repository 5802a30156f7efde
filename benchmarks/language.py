"""Gradients of language models beside torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util
from typing import Any, NamedTuple

import numpy as np

from benchmarks.limits import cores
from benchmarks.report import Row, Table, figure, tell, timed
from benchmarks.timing import interleaved, seconds, undisturbed

TITLE = "Language models"
HEADER = ["case", "peer", "ours (s)", "peer (s)", "ratio", "target", "loss ours", "peer"]
OURS, PEER = "tenfold", "torch"
SYMBOLS, WINDOW, ROWS, PASSES = 65, 64, 64, 5


class Case(NamedTuple):
    """Forward and backward passes of a network over windows of random symbols."""

    name: str
    target: float
    width: int
    rounds: int = 7


def cases() -> list[Case]:
    return [Case("lstm-256", 1.15, 64), Case("transformer-4x128", 1.0, 128)]


def names() -> list[str]:
    return [case.name for case in cases()]


def run(wanted: list[str], *, quick: bool) -> Table:
    chosen = [case for case in cases() if case.name in wanted]
    notes = [f"{PASSES} passes over {ROWS} windows of {WINDOW} symbols; losses at random weights"]
    if util.find_spec(PEER) is None:
        return Table(TITLE, HEADER, [], [*notes, "left out: torch is not installed"])
    return Table(TITLE, HEADER, [tell(c.name) or contest(c, quick=quick) for c in chosen], notes)


def contest(case: Case, *, quick: bool) -> Row:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(0, SYMBOLS, (ROWS, WINDOW)) for _ in "xy")
    fits: dict[str, Callable[[], float]] = {
        OURS: our_passes(case, x, y),
        PEER: torch_passes(case, x, y),
    }
    losses: dict[str, float] = {}

    def turn(home: str, _: int) -> list[float]:
        return [seconds(lambda: losses.update({home: fits[home]()}))]

    with undisturbed():
        for passes in fits.values():
            passes()
    times = interleaved({h: partial(turn, h) for h in fits}, 1 if quick else case.rounds)
    ratio = times[PEER].median / times[OURS].median
    cells = [case.name, PEER, timed(times[OURS]), timed(times[PEER]), f"{ratio:.2f}x"]
    shown = [figure(losses[home], 4) for home in fits]
    return Row([*cells, f"{case.target:g}x", *shown], "met" if ratio >= case.target else "missed")


def our_passes(case: Case, x: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    from tenfold.engine.blas_threads import one_blas_thread
    from tenfold.language.next_symbol_network import build_next_symbol_network, window_gradient
    from tenfold.neural import LayerNorm, Lstm, PassContext, PositionalEmbedding, TransformerBlock
    from tenfold.neural._minibatch import PartWorkers

    layers: list[Any] = [Lstm(256, all_states=True)]
    if case.name.startswith("transformer"):
        layers = [PositionalEmbedding(WINDOW), *4 * [TransformerBlock(4)], LayerNorm()]
    rng = np.random.default_rng(0)
    network, params = build_next_symbol_network(
        layers, (WINDOW, case.width), SYMBOLS, rng, tied=False, init=0.05
    )
    workers = PartWorkers(32)

    def passes() -> float:
        loss = 0.0
        with one_blas_thread():
            for _ in range(PASSES):
                found = workers.gradient(
                    ROWS,
                    lambda a, b: window_gradient(
                        network, params, x[a:b], y[a:b], PassContext(True)
                    ),
                )
                loss = found.loss / found.weight
        return loss

    return passes


def torch_passes(case: Case, x: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    import torch  # pyright: ignore[reportMissingImports]
    from torch import nn  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    symbols, targets = torch.from_numpy(x), torch.from_numpy(y).reshape(-1)
    embedding, width = nn.Embedding(SYMBOLS, case.width), case.width
    body: Any = nn.LSTM(width, 256, batch_first=True)
    scores = nn.Linear(256, SYMBOLS)
    mask: Any = None
    if case.name.startswith("transformer"):
        block = nn.TransformerEncoderLayer(
            width, 4, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        body = nn.TransformerEncoder(block, 4, nn.LayerNorm(width), enable_nested_tensor=False)
        scores = nn.Linear(width, SYMBOLS)
        mask = nn.Transformer.generate_square_subsequent_mask(WINDOW)
    params = [*embedding.parameters(), *body.parameters(), *scores.parameters()]

    def passes() -> float:
        loss: Any = None
        for _ in range(PASSES):
            for param in params:
                param.grad = None
            h = embedding(symbols)
            h = body(h)[0] if mask is None else body(h, mask=mask, is_causal=True)
            loss = nn.functional.cross_entropy(scores(h).reshape(-1, SYMBOLS), targets)
            loss.backward()
        return float(loss.detach())

    return passes
