"""Losses that outliers do not rule: Huber's and quantiles."""
