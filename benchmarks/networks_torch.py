"""The same networks in torch, trained as its users do: tensors in memory, eager, Adam."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.limits import cores

BATCH = 128


def torch_network(kind: str, dropout: float) -> Any:
    from torch import nn  # pyright: ignore[reportMissingImports]

    if kind == "lstm":
        return last_state(nn)
    rest = [nn.Dropout(dropout)] if dropout else []
    if kind == "mlp":
        units = 512 if dropout else 128
        return nn.Sequential(nn.Linear(784, units), nn.ReLU(), *rest, nn.Linear(units, 10))
    kernels = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2)]
    kernels += [nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    dense = [nn.Linear(1600, 128), nn.ReLU(), *rest, nn.Linear(128, 10)]
    return nn.Sequential(*kernels, *rest, *dense)


def last_state(nn: Any) -> Any:
    """An LSTM that reads an image line by line, and scores of its last state."""

    class LastState(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.scores = nn.LSTM(28, 64, batch_first=True), nn.Linear(64, 10)

        def forward(self, x: Any) -> Any:
            return self.scores(self.cells(x)[0][:, -1])

    return LastState()


SHAPES = {"mlp": (-1, 784), "cnn": (-1, 1, 28, 28), "lstm": (-1, 28, 28)}


def torch_epochs(kind: str, dropout: float, X: np.ndarray, y: np.ndarray, epochs: int) -> Any:
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(cores())
    torch.manual_seed(0)
    network, shape = torch_network(kind, dropout), SHAPES[kind]
    rows, labels = torch.from_numpy(X).reshape(shape), torch.from_numpy(y)
    steps = epochs * -(-len(X) // BATCH)
    rule = torch.optim.Adam(network.parameters(), lr=0.002 if epochs > 1 else 0.001)
    fall = torch.optim.lr_scheduler.CosineAnnealingLR(rule, steps) if epochs > 1 else None
    for _ in range(epochs):
        for batch in torch.randperm(len(rows)).split(BATCH):
            rule.zero_grad()
            scores = network(rows[batch])
            torch.nn.functional.cross_entropy(scores, labels[batch]).backward()
            rule.step()
            if fall is not None:
                fall.step()

    def predict(unseen: np.ndarray) -> np.ndarray:
        network.eval()
        with torch.no_grad():
            return network(torch.from_numpy(unseen).reshape(shape)).argmax(1).numpy()

    return predict
