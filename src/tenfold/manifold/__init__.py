"""Maps of rows in few dimensions: scaling of distances, neighbor embeddings, latent variables."""
