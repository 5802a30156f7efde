"""Writing safetensors files, with a checksum of all that they hold.

The format: eight bytes with the length of the header, the header (JSON with dtype, shape and place
of each tensor, and texts under `__metadata__`), and the bytes of all tensors. The package
`safetensors` reads it; its own writer makes temporary files that nobody removes after a kill, and
reports a full disk without a number.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

CHECKSUM = "sha256"  # key of the checksum in the metadata
_DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
}
_ALIGNMENT = 8
_BLOCK_BYTES = 2**24  # that are read at a time


def write_tensors(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    """Write C-contiguous arrays and texts, and their checksum."""
    names = sorted(tensors, key=lambda name: (-tensors[name].itemsize, name))
    entries: dict[str, Any] = {}
    end = 0
    for name in names:
        start, end = end, end + tensors[name].nbytes
        tensor, dtype = tensors[name], _DTYPES[tensors[name].dtype.name]
        entries[name] = dict(dtype=dtype, shape=list(tensor.shape), data_offsets=[start, end])
    blocks = [np.ascontiguousarray(tensors[name]).reshape(-1).view(np.uint8) for name in names]
    digest = _begin_digest({"__metadata__": metadata} | entries)
    for block in blocks:
        digest.update(block.data)
    header = {"__metadata__": metadata | {CHECKSUM: digest.hexdigest()}} | entries
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for block in blocks:
            file.write(block.data)


def verify_checksum(path: str | os.PathLike[str]) -> None:
    """Raise a ValueError if a file has a checksum and holds something else.

    The file has been opened by `safetensors`, so its header is sound. A checksum tells damage; it
    does not tell who wrote a file.
    """
    with Path(path).open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        expected = header.get("__metadata__", {}).pop(CHECKSUM, None)
        if expected is None:  # of format 1
            return
        digest = _begin_digest(header)
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    if digest.hexdigest() != expected:
        raise ValueError(
            "its checksum is not that of its content: it was damaged or changed after it was saved"
        )


def _begin_digest(header: dict[str, Any]) -> Any:
    """A digest that has seen the header without the checksum, whatever the order of its entries."""
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode())
