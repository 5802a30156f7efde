"""What is done with totals: loops that watch themselves, L-BFGS, Newton."""

from tenfold.solve.lbfgs import lbfgs
from tenfold.solve.loop import until_still
from tenfold.solve.newton import newton

__all__ = ["lbfgs", "newton", "until_still"]
