"""Matrix decompositions: principal components and truncated singular values."""
