"""What a linear model says: reasons, redundant columns, projections, ambiguous regions."""
