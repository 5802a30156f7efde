"""Trained networks for other programs: weights for PyTorch, whole models as ONNX files."""
