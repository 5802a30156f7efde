"""Documents as bags of words."""
