"""Save and load models: one safetensors file, no pickle, nothing executed.

The file is an ordinary safetensors file. Its tensors are the arrays, named by where they sit in the
model (`KMeans.cluster_centers_`). Its metadata has one entry, `tenfold`, a JSON document::

    {
        "format": "tenfold model",
        "version": 2,
        "versions": {"tenfold": "0.1.0", "numpy": "2.4.6", "sklearn": "1.9.1"},
        "model": {"model": {"class": "tenfold.KMeans", "params": {...}, "learned": {...}}},
    }

Read in order: `registry` (what a file may name), `_arrays` (arrays as tensors), `_codecs` (one
table: how each kind of value is written and read), `_reader_writer` (the traversal of a model, both
ways), `model_file` (the file).
"""

from tenfold._lazy import attach
from tenfold.persist.model_file import load, save

__all__ = ["load", "save"]
__getattr__, __dir__ = attach(__name__, {})
