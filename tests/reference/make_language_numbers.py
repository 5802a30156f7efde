"""Makes language_numbers.npz: what torch says about steps of language models.

Run once, with torch 2.13 and numpy: `python make_language_numbers.py`. The tests read the file
and need no torch. Everything is float64.
"""

from pathlib import Path

import numpy as np
import torch

SYMBOLS, WIDTH, UNITS, HEADS, WINDOW, ROWS, STEPS = 7, 6, 6, 2, 5, 3, 3


class Block(torch.nn.Module):
    """A block of a transformer, layer normalization first."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.dense1, self.dense2 = (
            torch.nn.Linear(WIDTH, 4 * WIDTH),
            torch.nn.Linear(4 * WIDTH, WIDTH),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention and a dense network, around residuals."""
        mask = torch.triu(torch.ones(WINDOW, WINDOW, dtype=torch.bool), 1)
        y = self.norm1(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.dense2(torch.nn.functional.gelu(self.dense1(self.norm2(x))))


class Lstm(torch.nn.Module):
    """An LSTM that gives all states, from a given one."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(WIDTH, UNITS, batch_first=True)
        self.h, self.c = torch.randn(1, ROWS, UNITS), torch.randn(1, ROWS, UNITS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """All states."""
        return self.lstm(x, (self.h, self.c))[0]


def train(name: str, body: torch.nn.Module, positions: bool) -> dict[str, np.ndarray]:
    """Loss, gradients and parameters before and after some steps of Adam with clipping."""
    table = torch.nn.Parameter(torch.randn(SYMBOLS + 1, WIDTH))
    places = torch.nn.Parameter(torch.randn(WINDOW, WIDTH))
    last, scores = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(UNITS, SYMBOLS)
    named = {"table": table, **{f"body.{n}": p for n, p in body.named_parameters()}}
    if positions:
        named |= {"places": places, "last.weight": last.weight, "last.bias": last.bias}
    named |= {"scores.weight": scores.weight, "scores.bias": scores.bias}
    x = torch.randint(0, SYMBOLS + 1, (STEPS, ROWS, WINDOW))
    y = torch.randint(0, SYMBOLS, (STEPS, ROWS, WINDOW))
    found = {"x": x, "y": y, **{f"start.{n}": p.detach().clone() for n, p in named.items()}}
    adam = torch.optim.Adam(list(named.values()), lr=0.01)
    losses = []
    for step in range(STEPS):
        h = table[x[step]] + (places if positions else 0)
        h = last(body(h)) if positions else body(h)
        loss = torch.nn.functional.cross_entropy(
            scores(h).reshape(-1, SYMBOLS), y[step].reshape(-1)
        )
        adam.zero_grad()
        loss.backward()
        if step == 0:
            found |= {f"slope.{n}": p.grad.clone() for n, p in named.items()}
        torch.nn.utils.clip_grad_norm_(list(named.values()), 0.5)
        adam.step()
        losses.append(loss.item())
    found |= {f"end.{n}": p.detach() for n, p in named.items()}
    found["losses"] = torch.tensor(losses)
    if isinstance(body, Lstm):
        found |= {"h": body.h[0], "c": body.c[0]}
    return {f"{name}.{key}": value.numpy() for key, value in found.items()}


def main() -> None:
    """Write the file beside this script."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    found = train("lstm", Lstm(), positions=False)
    found |= train("transformer", torch.nn.Sequential(Block(), Block()), positions=True)
    np.savez_compressed(Path(__file__).with_name("language_numbers.npz"), **found)


if __name__ == "__main__":
    main()
