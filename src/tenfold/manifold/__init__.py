"""Maps of rows in few dimensions: scaling of distances, neighbor embeddings, latent variables."""

from tenfold._lazy import attach

__getattr__, __dir__ = attach(__name__, {})
