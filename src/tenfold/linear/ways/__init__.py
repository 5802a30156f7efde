"""From a loss and a penalty to the minimum: the objective and the solvers for it."""
