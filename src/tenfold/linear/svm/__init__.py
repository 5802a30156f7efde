"""Support vector machines with linear scores."""
