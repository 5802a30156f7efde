"""What many zero coefficients need: lasso, elastic net, their paths."""
