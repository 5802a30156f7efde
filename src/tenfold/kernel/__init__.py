"""Kernels as objects, and the models that use them: ridge, logistic regression, PCA, density.

`kernels` resolves names; `base`, `dot_product`, `stationary` and `object_kernels` define kernels;
`_block` computes their values tile by tile.
"""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "_block": (
        "gram_matrix",
        "kernel_block",
        "kernel_matrix",
        "kernel_product",
    ),
    "base": (
        "ConstantKernel",
        "Exponentiation",
        "FunctionScaledKernel",
        "Kernel",
        "Product",
        "Sum",
        "WhiteKernel",
        "as_kernel",
    ),
    "dot_product": (
        "CosineKernel",
        "DotProduct",
        "LinearKernel",
        "PolynomialKernel",
        "QuadraticKernel",
        "SigmoidKernel",
    ),
    "feature_maps": (
        "FeatureMap",
        "explicit_features",
        "rbf_series",
    ),
    "gram_check": (
        "GramCheck",
        "check_gram",
    ),
    "kernels": (
        "resolve_gamma",
        "resolve_kernel",
    ),
    "object_kernels": (
        "CallableKernel",
        "PrecomputedKernel",
        "SetIntersectionKernel",
        "SpectrumKernel",
    ),
    "stationary": (
        "AdditiveChi2Kernel",
        "Chi2Kernel",
        "ExpSineSquared",
        "LaplacianKernel",
        "Matern",
        "RBF",
        "RationalQuadratic",
    ),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605 - names are written once, above

__getattr__, __dir__ = attach(__name__, _WHERE)
