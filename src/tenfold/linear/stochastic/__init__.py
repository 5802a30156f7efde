"""Linear models by stochastic gradient descent, one row at a time: SGD, perceptron, Pegasos."""
