"""Inspection of fitted models: contributions, collinearity, leverage, cost-sensitive decisions."""
