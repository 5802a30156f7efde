"""Learning row by row: stochastic gradients, the perceptron, Pegasos."""
