"""Arrays as tensors: the same bits, the same dtype and the same layout in memory.

Products of matrices may differ in the last bit when the layout differs, so the order of the axes in
memory is kept. A dtype that safetensors does not have is stored as bytes, beside its name.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

_NATIVE_DTYPE_CHARS = frozenset("?bhilqBHILQefd")
_PLAIN_DTYPE = re.compile(r"[<>|](?:[biufcSU]\d+|[mM]8(?:\[\d*[a-zA-Z]+\])?)")


def parse_dtype(name: str) -> np.dtype:
    """Dtype that `dtype.str` of a dtype of numbers, text, times or objects stands for."""
    if name != "|O" and not _PLAIN_DTYPE.fullmatch(name):
        raise ValueError(f"unknown dtype {name!r}")
    return np.dtype(name)


def is_plain_dtype(dtype: np.dtype) -> bool:
    """Whether values of this dtype are nothing but bytes of a known meaning."""
    return _PLAIN_DTYPE.fullmatch(dtype.str) is not None


def to_memory_order(array: np.ndarray) -> tuple[list[int], np.ndarray]:
    """Order of the axes in memory, slowest first, and the C-contiguous array in that order.

    An axis of length one has any stride, but BLAS is called by strides: ties keep them exact.
    """
    strides, shape = array.strides, array.shape
    axes = sorted(range(array.ndim), key=lambda i: (-abs(strides[i]), -shape[i]))
    return axes, np.asarray(array.transpose(axes), order="C")


def restore_axes(straight: np.ndarray, axes: list[int]) -> np.ndarray:
    """Undo `to_memory_order`."""
    if sorted(axes) != list(range(straight.ndim)):
        raise ValueError(f"{axes} is not an order of {straight.ndim} axes")
    return straight.transpose(np.argsort(axes))


def pack(straight: np.ndarray) -> tuple[str, np.ndarray]:
    """Name of the dtype, and the tensor to be stored."""
    little = straight.astype(straight.dtype.newbyteorder("<"), copy=False)
    as_it_is = little.dtype.char in _NATIVE_DTYPE_CHARS
    return little.dtype.str, little if as_it_is else _to_bytes(little)


def unpack(name: str, tensor: np.ndarray) -> np.ndarray:
    """Array that `pack` made a tensor of."""
    dtype = parse_dtype(name)
    if tensor.dtype != dtype:
        tensor = _from_bytes(tensor, dtype)
    _check_values(tensor)
    return tensor.astype(dtype.newbyteorder("="), copy=False)


def pack_scalar(value: np.generic) -> list[str]:
    """Dtype and bytes of one NumPy number, text or time."""
    name, tensor = pack(np.asarray(value))
    return [name, tensor.tobytes().hex()]


def unpack_scalar(name: str, digits: str) -> Any:
    """Undo `pack_scalar`."""
    stored = np.frombuffer(bytes.fromhex(digits), np.uint8)
    return unpack(name, _from_bytes(stored, parse_dtype(name)))[()]


def stack_scalars(values: Sequence[Any]) -> np.ndarray | None:
    """One array of many NumPy scalars, if they are all of one dtype."""
    dtypes = {value.dtype if isinstance(value, np.generic) else None for value in values}
    only = dtypes.pop()
    return (
        np.array(values, only) if not dtypes and only is not None and is_plain_dtype(only) else None
    )


def _to_bytes(array: np.ndarray) -> np.ndarray:
    return array[..., None].view(np.uint8)


def _from_bytes(stored: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if (
        stored.dtype != np.uint8
        or stored.shape[-1:] != (dtype.itemsize,)
        or not is_plain_dtype(dtype)
    ):
        raise ValueError(f"{stored.dtype} of shape {stored.shape} does not hold {dtype}")
    return stored.view(dtype)[..., 0]


def _check_values(array: np.ndarray) -> None:
    """Compiled code trusts that a truth value is 0 or 1 and that a character exists."""
    if array.dtype == bool and array.view(np.uint8).max(initial=0) > 1:
        raise ValueError("an array of truth values holds other numbers than 0 and 1")
    if array.dtype.kind == "U" and _to_bytes(array).view(np.uint32).max(initial=0) > 0x10FFFF:
        raise ValueError("an array of text holds characters that do not exist")
