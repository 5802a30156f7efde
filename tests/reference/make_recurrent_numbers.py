"""Makes recurrent_numbers.npz: what torch says about recurrent layers, with packed sequences.

Run once, with torch 2.13 and numpy: `python make_recurrent_numbers.py`. The tests read the file
and need no torch. Everything is float64.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = [5, 2, 4]
LAYERS = {
    "rnn": lambda **more: torch.nn.RNN(3, 4, **more),
    "relu": lambda **more: torch.nn.RNN(3, 4, nonlinearity="relu", **more),
    "gru": lambda **more: torch.nn.GRU(3, 4, **more),
    "lstm": lambda **more: torch.nn.LSTM(3, 4, **more),
}


def numbers_of(layer: torch.nn.RNNBase, x: torch.Tensor) -> dict[str, np.ndarray]:
    """All states, the last ones, and the slopes of a weighted sum of both."""
    packed = pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    out, last = layer(packed)
    states, _ = pad_packed_sequence(out, batch_first=True)
    last = (last[0] if isinstance(last, tuple) else last).transpose(0, 1).reshape(len(LENGTHS), -1)
    found = {"states": states, "last": last}
    for name, value in list(found.items()):
        pull = torch.cos(torch.arange(value.numel(), dtype=torch.float64)).reshape(value.shape)
        named = dict(layer.named_parameters())
        slopes = torch.autograd.grad((value * pull).sum(), [x, *named.values()], retain_graph=True)
        found |= {f"{name}.slope.{n}": s for n, s in zip(["x", *named], slopes, strict=True)}
    found |= {f"weight.{n}": p for n, p in layer.named_parameters()}
    return {name: value.detach().numpy() for name, value in found.items()}


def main() -> None:
    """Write the file beside this script."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    x = torch.randn(len(LENGTHS), max(LENGTHS), 3, requires_grad=True)
    found = {"x": x.detach().numpy(), "lengths": np.array(LENGTHS)}
    for name, make in LAYERS.items():
        for both in {False, name == "lstm"}:
            numbers = numbers_of(make(batch_first=True, bidirectional=both), x)
            side = "both" if both else "one"
            found |= {f"{name}.{side}.{key}": value for key, value in numbers.items()}
    np.savez_compressed(Path(__file__).with_name("recurrent_numbers.npz"), **found)


if __name__ == "__main__":
    main()
