"""Pure functions of arrays: no fit, no self, no data access.

The names offered here differentiate functions that you write; the rest is in modules by subject.
"""

from tenfold.lazy import homes, lazily

_OFFERS = {
    "differentiate.channels": ("Channels", "channels"),
    "differentiate.checking": (
        "Check",
        "check_gradient",
        "check_hessian",
        "check_jacobian",
        "numerical_gradient",
        "numerical_jacobian",
    ),
    "differentiate.gradients": ("grad", "hessian", "hvp", "jacobian", "value_and_grad"),
    "differentiate.traced": ("NoRuleError",),
}
_WHERE = homes(__name__, _OFFERS)

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above
__getattr__, __dir__ = lazily(__name__, _WHERE)
