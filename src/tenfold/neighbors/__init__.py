"""The nearest examples."""
