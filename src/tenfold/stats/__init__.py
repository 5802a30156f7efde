"""Statistics of rows that merge: moments, scatters by class, Gram matrices, triangular factors."""
