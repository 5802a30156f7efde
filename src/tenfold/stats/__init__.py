"""Statistics of rows that merge: moments, class scatters, Gram matrices, QR factors."""
