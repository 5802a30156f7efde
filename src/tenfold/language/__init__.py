"""Language models made of networks, byte pairs, encoder and decoder, and taggers of sequences."""
