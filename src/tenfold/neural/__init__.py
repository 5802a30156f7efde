"""Neural networks: layers with explicit forward and backward passes, losses, estimators, export.

Names are imported on first use: a dense network does not import recurrent layers.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "augmentation": (
        "Augment",
        "Brightness",
        "Contrast",
        "Flip",
        "GaussianNoise",
        "RandomPadding",
        "Rotate",
        "Shift",
        "augment",
    ),
    "export.onnx": ("to_onnx",),
    "export.torch": ("to_torch",),
    "inspection": (
        "GradientReport",
        "gradient_report",
        "node_errors",
        "saliency",
        "training_snapshots",
    ),
    "layers.activations": (
        "Activation",
        "Softmax",
    ),
    "layers.attention": ("MultiHeadAttention",),
    "layers.base": (
        "Layer",
        "LayerStates",
        "PassContext",
    ),
    "layers.conv": (
        "Conv1d",
        "Conv2d",
    ),
    "layers.dense": ("Dense",),
    "layers.dropout": ("Dropout",),
    "layers.embedding": ("Embedding",),
    "layers.noise": (
        "GaussianSample",
        "Noise",
    ),
    "layers.normalization": (
        "BatchNorm",
        "LayerNorm",
    ),
    "layers.pooling": (
        "AveragePool",
        "MaxPool",
    ),
    "layers.positions": (
        "PositionalEmbedding",
        "sinusoidal_positions",
    ),
    "layers.pretrained_layer": (
        "Pretrained",
        "pretrained_layers",
    ),
    "layers.recurrent": (
        "Bidirectional",
        "GatedRnn",
        "Gru",
        "Lstm",
        "Rnn",
    ),
    "layers.reshape": (
        "Flatten",
        "Reshape",
    ),
    "layers.transformer": ("TransformerBlock",),
    "layers.upsample": ("Upsample",),
    "learning_rate_finder": (
        "LearningRateSearch",
        "find_learning_rate",
    ),
    "network": (
        "Network",
        "backward",
        "build_network",
        "count_parameters",
        "forward",
        "forward_layers",
        "layer_sizes",
    ),
    "network_features": ("NetworkFeatures",),
}
_MODULES = ("losses",)
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted([*_WHERE, *_MODULES])  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE, _MODULES)
