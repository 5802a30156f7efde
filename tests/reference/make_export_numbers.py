"""Makes export_numbers.npz: weights of small torch networks, and what the networks say.

Run once, with torch 2.13 and numpy: `python make_export_numbers.py`. The tests read the file and
need no torch. Inputs are stored channels-last, as tenfold takes them.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import nn


class States(nn.Module):
    """All states of a recurrent layer, or the last of each direction."""

    def __init__(self, layer: nn.RNNBase, *, every: bool = False) -> None:
        super().__init__()
        self.layer, self.every = layer, every
        one_bias(layer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, t, p) to (n, t, u) or (n, u)."""
        states, last = self.layer(x)
        last = last[0] if isinstance(last, tuple) else last
        return states if self.every else last.transpose(0, 1).reshape(len(x), -1)


def one_bias(layer: nn.RNNBase) -> None:
    """Offsets of the state that only add to others are zero, as tenfold has one for both."""
    for name, bias in layer.named_parameters():
        if name.startswith("bias_hh"):
            alone = 2 * layer.hidden_size if isinstance(layer, nn.GRU) else None
            bias.data[:alone] = 0


def batch_norm(width: int) -> nn.Module:
    """With running statistics that are not those of the start."""
    layer = nn.BatchNorm2d(width)
    for name, size in (("running_mean", 0.0), ("running_var", 1.0), ("weight", 1.0), ("bias", 0)):
        getattr(layer, name).data[:] = size + torch.rand(width)
    return layer


def networks() -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
    """Networks, and shapes of a row."""
    sequential: Callable[..., nn.Module] = nn.Sequential
    recurrent = {"batch_first": True, "bidirectional": True}
    gru = States(nn.GRU(3, 4, batch_first=True), every=True)
    return {
        "dense": (sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2, bias=False)), (3,)),
        "images": (
            sequential(
                nn.Conv2d(2, 3, 3, stride=(1, 2), padding=1),
                nn.ReLU(),
                nn.MaxPool2d(2),
                nn.Conv2d(3, 4, (1, 2)),
                batch_norm(4),
                nn.Flatten(),
                nn.LayerNorm(8),
                nn.Linear(8, 2),
            ),
            (2, 4, 7),
        ),
        "series": (
            sequential(
                nn.Conv1d(2, 3, 3), nn.Sigmoid(), nn.AvgPool1d(2), nn.Flatten(), nn.Linear(9, 2)
            ),
            (2, 8),
        ),
        "lstm": (
            sequential(
                States(nn.LSTM(3, 4, **recurrent), every=True),
                States(nn.LSTM(8, 2, batch_first=True)),
            ),
            (5, 3),
        ),
        "gru": (sequential(gru, nn.Flatten()), (5, 3)),
        "rnn": (sequential(nn.Embedding(3, 4), States(nn.RNN(4, 2, **recurrent))), (5,)),
    }


def main() -> None:
    """Write the file beside this script."""
    torch.manual_seed(0)
    found = {}
    for name, (network, shape) in networks().items():
        x = torch.randint(0, 3, (2, *shape)) if name == "rnn" else torch.randn(2, *shape)
        turned = name in ("images", "series")
        found[f"{name}.x"] = (x.movedim(1, -1) if turned else x).numpy()
        found[f"{name}.out"] = network.eval()(x).detach().numpy()
        for key, value in network.state_dict().items():
            if "num_batches" not in key:
                found[f"{name}.state.{key.replace('layer.', '')}"] = value.numpy()
    np.savez_compressed(Path(__file__).with_name("export_numbers.npz"), **found)


if __name__ == "__main__":
    main()
