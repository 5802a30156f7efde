"""Models of sequences: Markov chains and n-grams."""
