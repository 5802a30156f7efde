"""Models whose prediction is a linear function of the features."""
