"""Images: MNIST, CIFAR-10, faces, and folders of image files such as ImageNet."""

import io
import math
import re
from pathlib import Path

import numpy as np
from sklearn.datasets import load_files
from sklearn.utils import Bunch

from tenfold.datasets._base import LoadedData, check_choice, make_bunch
from tenfold.datasets.cache import (
    DataFileError,
    archive_errors,
    archive_members,
    check_figure,
    find_file,
    find_folder,
    read_bytes,
    tar_members,
)

_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MNIST_SIZES = {"train": 60_000, "test": 10_000}
_CIFAR10_BATCHES = {"train": r"data_batch_\d\.bin$", "test": r"test_batch\.bin$"}
_CIFAR10_SIZES = {"train": 50_000, "test": 10_000}
_CIFAR10_NAMES = ["airplane", "automobile", "bird", "cat", "deer"]
_CIFAR10_NAMES += ["dog", "frog", "horse", "ship", "truck"]
_IMAGENET_SIZES = {"train": 1_281_167, "val": 50_000}
_IMAGE_SUFFIXES = [".jpg", ".jpeg", ".JPEG", ".JPG", ".png", ".pgm", ".bmp"]


def load_idx(path: str | Path) -> np.ndarray:
    """Read an array in the idx format of MNIST, gzipped or not.

    Four bytes (0, 0, type, number of axes), the length of each axis as four bytes, then the
    values, all with the most significant byte first.

    Parameters
    ----------
    path : str or Path
        The file; a name that ends in ``.gz`` is unpacked.

    Returns
    -------
    ndarray
        In the machine's own byte order.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "two-by-two.idx")
    >>> _ = file.write_bytes(bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4]))
    >>> load_idx(file)
    array([[1, 2],
           [3, 4]], dtype=uint8)
    """
    path = Path(path)
    raw = read_bytes(path)
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] not in _IDX_TYPES:
        raise DataFileError(f"{path} is no idx file: it starts with {raw[:4]!r}")
    kind, start = np.dtype(_IDX_TYPES[raw[2]]), 4 + 4 * raw[3]
    shape = tuple(int(n) for n in np.frombuffer(raw[4:start].ljust(4 * raw[3], b"\0"), ">u4"))
    check_figure(path, "bytes", len(raw), start + kind.itemsize * math.prod(shape))
    return np.frombuffer(raw, kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))


def fetch_mnist(*, subset: str = "train", return_X_y: bool = False) -> LoadedData:
    """MNIST: 28 x 28 grey images of handwritten digits.

    Parameters
    ----------
    subset : {"train", "test"}
        60,000 images, or the other 10,000.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 784) uint8 of 0 to 255, ``images`` the same as (n, 28, 28), ``target`` (n,).

    Examples
    --------
    >>> fetch_mnist().data.shape  # doctest: +SKIP
    (60000, 784)
    """
    n = _MNIST_SIZES[check_choice("subset", subset, _MNIST_SIZES)]
    paths = [find_file(f"mnist-{subset}-{part}") for part in ("images", "labels")]
    images, labels = (load_idx(path) for path in paths)
    check_figure(paths[0], "(images, height, width)", images.shape, (n, 28, 28))
    check_figure(paths[1], "labels", labels.shape, (n,))
    return make_bunch(
        return_X_y=return_X_y,
        data=images.reshape(n, -1),
        target=labels.astype(int),
        images=images,
        target_names=[str(digit) for digit in range(10)],
        feature_names=[f"pixel_{row}_{column}" for row in range(28) for column in range(28)],
        DESCR="MNIST, Y. LeCun, C. Cortes and C. Burges: 70,000 digits, 28 x 28 pixels, 0 to 255.",
    )


def fetch_cifar10(*, subset: str = "train", return_X_y: bool = False) -> LoadedData:
    """CIFAR-10: 32 x 32 color images of ten classes.

    The binary version is read: unlike the Python version it holds no pickles.

    Parameters
    ----------
    subset : {"train", "test"}
        50,000 images, or the other 10,000.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 3072) uint8, red plane, green plane, blue plane; ``images`` the same as
        (n, 3, 32, 32); ``target`` (n,), ``target_names``.

    Examples
    --------
    >>> fetch_cifar10(subset="test").images.shape  # doctest: +SKIP
    (10000, 3, 32, 32)
    """
    pattern = _CIFAR10_BATCHES[check_choice("subset", subset, _CIFAR10_BATCHES)]
    path = find_file("cifar10")
    batches = sorted(archive_members(path, pattern))
    raw = np.frombuffer(b"".join(batch for _, batch in batches), np.uint8)
    check_figure(path, "bytes of images", raw.size, _CIFAR10_SIZES[subset] * 3073)
    rows = raw.reshape(-1, 3073)  # the label, then the pixels
    data = np.ascontiguousarray(rows[:, 1:])
    return make_bunch(
        return_X_y=return_X_y,
        data=data,
        target=rows[:, 0].astype(int),
        images=data.reshape(-1, 3, 32, 32),
        target_names=list(_CIFAR10_NAMES),
        DESCR="CIFAR-10, A. Krizhevsky: 60,000 color images, 32 x 32 pixels, 10 classes.",
    )


def load_image_folder(path: str | Path) -> Bunch:
    """List the image files of a folder that has one folder for each class.

    Parameters
    ----------
    path : str or Path
        The folder.

    Returns
    -------
    Bunch
        ``filenames`` in order of class and name, ``target`` the number of the class of each,
        ``target_names`` the names of the folders. The images are not opened.

    Examples
    --------
    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> for name in ("cat/1.png", "dog/1.png", "dog/2.png"):
    ...     (top / name).parent.mkdir(exist_ok=True)
    ...     (top / name).touch()
    >>> listed = load_image_folder(top)
    >>> listed.target_names, listed.target.tolist()
    (['cat', 'dog'], [0, 1, 1])
    """
    if not Path(path).is_dir():
        raise DataFileError(f"{path} is no folder")
    listed = load_files(
        str(path), load_content=False, shuffle=False, allowed_extensions=_IMAGE_SUFFIXES
    )
    if not len(listed.filenames):
        raise DataFileError(
            f"{path} has no folder with images ({', '.join(_IMAGE_SUFFIXES)}) in it"
        )
    listed.DESCR = f"{len(listed.filenames)} images of {len(listed.target_names)} classes."
    return listed


def fetch_imagenet(*, subset: str = "train") -> Bunch:
    """ImageNet (ILSVRC 2012): paths and classes of the images that you have.

    The images are not free to pass on. Put them below TENFOLD_DATA as
    ``imagenet/train/n01440764/n01440764_10026.JPEG`` and so on, and ``imagenet/val`` likewise.

    Parameters
    ----------
    subset : {"train", "val"}
        1,281,167 or 50,000 images, 1,000 classes each.

    Returns
    -------
    Bunch
        As of `load_image_folder`; ``target_names`` are WordNet numbers.

    Examples
    --------
    >>> fetch_imagenet(subset="val").filenames[:2]  # doctest: +SKIP
    """
    path = find_folder(f"imagenet/{check_choice('subset', subset, _IMAGENET_SIZES)}")
    listed = load_image_folder(path)
    classes = [name for name in listed.target_names if re.fullmatch(r"n\d{8}", name)]
    check_figure(path, "folders named by WordNet numbers", len(classes), 1000)
    check_figure(path, "images", len(listed.filenames), _IMAGENET_SIZES[subset])
    return listed


_PGM_HEADER = re.compile(rb"P5\s+(?:#.*\n\s*)*(\d+)\s+(?:#.*\n\s*)*(\d+)\s+(?:#.*\n\s*)*(\d+)\s")
_CBCL_SIZES = {"train": [4548, 2429], "test": [23573, 472]}  # other images, faces


def fetch_olivetti_faces(*, return_X_y: bool = False) -> LoadedData:
    """Olivetti faces: ten grey images of each of 40 persons.

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

    path = find_file("olivetti")
    faces = loadmat(path)["faces"]
    check_figure(path, "(pixels, faces)", faces.shape, (4096, 400))
    images = faces.T.reshape(400, 64, 64).transpose(0, 2, 1).astype(np.float32)
    images -= images.min()
    images /= images.max()
    return make_bunch(
        return_X_y=return_X_y,
        data=images.reshape(400, -1),
        target=np.repeat(np.arange(40), 10),
        images=images,
        DESCR="Olivetti faces, AT&T Laboratories Cambridge, 1992-94: 40 persons, 10 images each.",
    )


def fetch_cbcl_faces(*, subset: str = "train", return_X_y: bool = False) -> LoadedData:
    """CBCL faces: 19 x 19 grey images with and without a face.

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
    sizes = _CBCL_SIZES[check_choice("subset", subset, _CBCL_SIZES)]
    path = find_file("cbcl")
    inner = b"".join(raw for _, raw in archive_members(path, rf"(^|/)face\.{subset}\.tar\.gz$"))
    if not inner:
        raise DataFileError(f"{path} holds no face.{subset}.tar.gz")
    with archive_errors(path):
        files = sorted(tar_members(io.BytesIO(inner), r"\.pgm$"))
    target = np.array(["/non-face/" not in f"/{name}" for name, _ in files], dtype=int)
    check_figure(path, "other images and faces", np.bincount(target, minlength=2).tolist(), sizes)
    images = np.stack([_read_pgm(raw, path / name) for name, raw in files])
    check_figure(path, "(height, width) of images", images.shape[1:], (19, 19))
    return make_bunch(
        return_X_y=return_X_y,
        data=images.reshape(len(images), -1),
        target=target,
        images=images,
        target_names=["other", "face"],
        DESCR="CBCL face database 1, MIT Center for Biological and Computational Learning.",
    )


def _read_pgm(raw: bytes, path: Path) -> np.ndarray:
    """Return a grey image, one byte a pixel, from a binary PGM file; `path` names it in errors."""
    header = _PGM_HEADER.match(raw)
    if header is None or int(header[3]) > 255:
        raise DataFileError(f"{path} is no binary PGM image with one byte a pixel: {raw[:16]!r}")
    width, height = int(header[1]), int(header[2])
    pixels = np.frombuffer(raw, np.uint8, offset=header.end())
    check_figure(path, "pixels", pixels.size, width * height)
    return pixels.reshape(height, width)
