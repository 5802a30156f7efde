"""Matrix decompositions: principal component analysis."""
