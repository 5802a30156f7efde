"""Who watches a fit: progress bars, and checkpoints that make it resumable."""
