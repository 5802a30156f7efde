"""Faces: Olivetti and CBCL."""

import io
import re
from pathlib import Path

import numpy as np

from tenfold.datasets.arguments import check_choice
from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import DataFileError, expect, find, members, tar_members, unpacking

PGM = re.compile(rb"P5\s+(?:#.*\n\s*)*(\d+)\s+(?:#.*\n\s*)*(\d+)\s+(?:#.*\n\s*)*(\d+)\s")
CBCL_SIZES = {"train": [4548, 2429], "test": [23573, 472]}  # other images, faces


def fetch_olivetti_faces(*, return_X_y: bool = False) -> Loaded:
    """Olivetti faces: ten grey images of each of 40 persons [001, sec. 4.3].

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (400, 4096) float32 from 0 to 1, ``images`` the same as (400, 64, 64),
        ``target`` (400,) the person.

    Examples
    --------
    >>> fetch_olivetti_faces().images.shape  # doctest: +SKIP
    (400, 64, 64)
    """
    from scipy.io import loadmat

    path = find("olivetti")
    faces = loadmat(path)["faces"]
    expect(path, "(pixels, faces)", faces.shape, (4096, 400))
    images = faces.T.reshape(400, 64, 64).transpose(0, 2, 1).astype(np.float32)
    images -= images.min()
    images /= images.max()
    return bundle(
        return_X_y=return_X_y,
        data=images.reshape(400, -1),
        target=np.repeat(np.arange(40), 10),
        images=images,
        DESCR="Olivetti faces, AT&T Laboratories Cambridge, 1992-94: 40 persons, 10 images each.",
    )


def fetch_cbcl_faces(*, subset: str = "train", return_X_y: bool = False) -> Loaded:
    """CBCL faces: 19 x 19 grey images with and without a face [000, ch. 3, matrix factorisation].

    Parameters
    ----------
    subset : {"train", "test"}
        2,429 faces and 4,548 other images, or 472 and 23,573.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 361) uint8, ``images`` the same as (n, 19, 19), ``target`` 1 for a face.

    Notes
    -----
    The publisher's page is http://cbcl.mit.edu/software-datasets/FaceData2.html (research use).
    No sum is published: the numbers of images are checked.

    Examples
    --------
    >>> fetch_cbcl_faces().data.shape  # doctest: +SKIP
    (6977, 361)
    """
    sizes = CBCL_SIZES[check_choice("subset", subset, CBCL_SIZES)]
    path = find("cbcl")
    inner = b"".join(raw for _, raw in members(path, rf"(^|/)face\.{subset}\.tar\.gz$"))
    if not inner:
        raise DataFileError(f"{path} holds no face.{subset}.tar.gz")
    with unpacking(path):
        files = sorted(tar_members(io.BytesIO(inner), r"\.pgm$"))
    target = np.array(["/non-face/" not in f"/{name}" for name, _ in files], dtype=int)
    expect(path, "other images and faces", np.bincount(target, minlength=2).tolist(), sizes)
    images = np.stack([read_pgm(raw, path / name) for name, raw in files])
    expect(path, "(height, width) of images", images.shape[1:], (19, 19))
    return bundle(
        return_X_y=return_X_y,
        data=images.reshape(len(images), -1),
        target=target,
        images=images,
        target_names=["other", "face"],
        DESCR="CBCL face database 1, MIT Center for Biological and Computational Learning.",
    )


def read_pgm(raw: bytes, path: Path) -> np.ndarray:
    """Return a grey image, one byte a pixel, from a binary PGM file; `path` names it in errors."""
    header = PGM.match(raw)
    if header is None or int(header[3]) > 255:
        raise DataFileError(f"{path} is no binary PGM image with one byte a pixel: {raw[:16]!r}")
    width, height = int(header[1]), int(header[2])
    pixels = np.frombuffer(raw, np.uint8, offset=header.end())
    expect(path, "pixels", pixels.size, width * height)
    return pixels.reshape(height, width)
