"""Side by side with peers, in one run: `python -m benchmarks`, or `make bench`."""
