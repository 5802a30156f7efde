"""Layers on layers: networks whose forward and backward passes read like the notes.

Names are lazy: a dense network does not import what recurrent ones need.
"""

from tenfold.lazy import homes, lazily

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "activations": ("Activation", "Softmax"),
    "augmentation": ("Augment", "augment"),
    "convolution": ("Conv1d", "Conv2d"),
    "dense": ("Dense",),
    "dropout": ("Dropout",),
    "embedding": ("Embedding",),
    "export.onnx_file": ("to_onnx",),
    "export.torch_weights": ("to_torch",),
    "image_changes": (
        "Brightness",
        "Density",
        "Mirror",
        "Noise",
        "RandomPadding",
        "Rotate",
        "Shift",
    ),
    "layer": ("Layer", "Way"),
    "layer_slopes": ("GradientReport", "gradient_report"),
    "looking": ("saliency", "snapshots"),
    "network": ("Network",),
    "norms": ("BatchNorm", "LayerNorm"),
    "pooling": ("AveragePool", "MaxPool"),
    "rate_finder": ("RateSearch", "find_rate"),
    "recurrent.bidirectional": ("Bidirectional",),
    "recurrent.layers": ("GatedRnn", "Gru", "Lstm", "Rnn"),
    "sizes": ("convolve", "cross_correlate", "layer_sizes", "output_size", "pool"),
    "surface": ("Surface", "loss_surface"),
    "symmetry": ("flip_units", "permute_units", "symmetry_count"),
    "shaping": ("Flatten", "Reshape"),
}
_MODULES = ("losses",)  # families of small things
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted([*_WHERE, *_MODULES])  # noqa: PLE0605
__getattr__, __dir__ = lazily(__name__, _WHERE, _MODULES)
