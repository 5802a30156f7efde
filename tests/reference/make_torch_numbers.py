"""Numbers that PyTorch gives for small networks; run once, with torch installed.

    python tests/reference/make_torch_numbers.py

writes torch_numbers.npz beside this file. Weights and rows are drawn by numpy and kept there too,
in tenfold's layout: dense (inputs, units), kernels (height, width, channels, filters), images
channels-last.
"""

from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

KINDS = {
    "cross_entropy": lambda z, y: F.cross_entropy(z, y, reduction="sum"),
    "binary_cross_entropy": lambda z, y: F.binary_cross_entropy_with_logits(
        z[:, 0], (y > 0).double(), reduction="sum"
    ),
    "hinge": lambda z, y: z.shape[1] * F.multi_margin_loss(z, y, reduction="sum"),
    "gaussian": lambda z, y: F.gaussian_nll_loss(
        z[:, :1], y[:, None].double(), z[:, 1:2].exp(), full=True, reduction="sum"
    ),
}
BENDS = {
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


def tensor(array):
    return torch.tensor(np.array(array), requires_grad=array.dtype.kind == "f")


def activations(rng, out):
    z = rng.normal(size=(5, 4)) * 2
    out["bend_z"] = z
    for name, bend in BENDS.items():
        t = tensor(z)
        a = bend(t)
        (a * torch.arange(20.0).reshape(5, 4)).sum().backward()
        out[f"bend_{name}_value"], out[f"bend_{name}_slope"] = a.detach().numpy(), t.grad.numpy()


def losses(rng, out):
    z, y = rng.normal(size=(6, 3)), rng.integers(3, size=6)
    out["loss_z"], out["loss_y"] = z, y
    for name, loss in KINDS.items():
        t = tensor(z)
        value = loss(t, torch.tensor(y))
        value.backward()
        out[f"loss_{name}_value"], out[f"loss_{name}_slope"] = (
            value.detach().numpy(),
            t.grad.numpy(),
        )


def images(rng, out):
    """Convolution with stride and padding, pools, norms, dense, cross-entropy: one network."""
    x, y = rng.normal(size=(4, 9, 8, 2)), rng.integers(3, size=4)
    W1, b1 = rng.normal(size=(3, 2, 2, 5)) / 3, rng.normal(size=5)
    g, h = rng.normal(size=5), rng.normal(size=5)
    W2, b2 = rng.normal(size=(20, 3)), rng.normal(size=3)
    given = {"x": x, "W1": W1, "b1": b1, "g": g, "h": h, "W2": W2, "b2": b2}
    t = {name: tensor(array) for name, array in given.items()}
    z = F.conv2d(
        t["x"].permute(0, 3, 1, 2), t["W1"].permute(3, 2, 0, 1), t["b1"], stride=(2, 1), padding=1
    )
    z = F.max_pool2d(torch.tanh(z), (2, 3), stride=2)
    z = F.batch_norm(z, None, None, t["g"], t["h"], training=True)
    z = F.avg_pool2d(z, (1, 2))
    z = z.permute(0, 2, 3, 1).reshape(4, -1)
    loss = F.cross_entropy(z @ t["W2"] + t["b2"], torch.tensor(y), reduction="sum")
    loss.backward()
    out |= {f"net_{name}": array for name, array in given.items()}
    out |= {f"net_{name}_slope": t[name].grad.numpy() for name in given}
    out["net_y"], out["net_loss"] = y, loss.detach().numpy()


def adam(rng, out):
    """Ten steps of Adam with an L2 penalty on a dense network, in float64."""
    x, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    given = [rng.normal(size=(3, 4)), np.zeros(4), rng.normal(size=(4, 2)), np.zeros(2)]
    params = [tensor(array) for array in given]
    rule = torch.optim.Adam(params, lr=0.01)
    for _ in range(10):
        rule.zero_grad()
        z = torch.tanh(tensor(x) @ params[0] + params[1]) @ params[2] + params[3]
        penalty = 0.05 * sum((params[i] ** 2).sum() for i in (0, 2)) / 2
        ((z - tensor(y)) ** 2).sum().div(2 * 8).add(penalty).backward()
        rule.step()
    out["adam_x"], out["adam_y"] = x, y
    out |= {f"adam_{i}": array for i, array in enumerate(given)}
    out |= {f"adam_{i}_end": param.detach().numpy() for i, param in enumerate(params)}


def main():
    rng, out = np.random.default_rng(0), {}
    for make in (activations, losses, images, adam):
        make(rng, out)
    np.savez_compressed(Path(__file__).with_name("torch_numbers.npz"), **out)


if __name__ == "__main__":
    main()
