"""Reverse-mode automatic differentiation of NumPy functions, and checks of derivatives."""

from tenfold._lazy import attach, modules_of_names

# What each module offers. No name here is also that of a module: importing it would hide the name.
_OFFERS = {
    "chain_rule": (
        "TotalDerivative",
        "total_derivative",
    ),
    "function_loss": ("FunctionLoss",),
    "gradient_check": (
        "GradientCheck",
        "check_gradient",
        "check_hessian",
        "check_jacobian",
        "numerical_gradient",
        "numerical_jacobian",
    ),
    "reverse_mode": (
        "grad",
        "hessian",
        "hvp",
        "jacobian",
        "value_and_grad",
    ),
    "tracer": ("NoRuleError",),
}
_WHERE = modules_of_names(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605
__getattr__, __dir__ = attach(__name__, _WHERE)
