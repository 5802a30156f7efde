"""Patches of images: cut out, put together again, and denoised with a dictionary."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tenfold.decomposition.sparse_coder import sparse_encode


def extract_patches_2d(
    image: Any,
    patch_size: tuple[int, int],
    *,
    max_patches: float | None = None,
    random_state: Any = None,
) -> np.ndarray:
    """Patches of an image, all of them or a random sample.

    Parameters
    ----------
    image : (height, width) or (height, width, n_channels) array
        The image.
    patch_size : (int, int)
        Height and width of a patch.
    max_patches : int or float, optional
        Number of patches to draw (with replacement), or their share; by default all, row by row.
    random_state : int or RandomState, optional
        Seed of the sample.

    Returns
    -------
    (n_patches, height, width[, n_channels]) array

    Examples
    --------
    >>> import numpy as np
    >>> extract_patches_2d(np.arange(12).reshape(3, 4), (2, 3)).shape
    (4, 2, 3)
    """
    image = np.asarray(image)
    h, w = patch_size
    if h > image.shape[0] or w > image.shape[1] or h < 1 or w < 1:
        raise ValueError(
            f"patch_size {patch_size} does not fit an image of {image.shape[0]} by "
            f"{image.shape[1]}: Height of the patch should be less than the height of the image, "
            "and its width less than the width."
        )
    windows = np.lib.stride_tricks.sliding_window_view(image, (h, w), axis=(0, 1))
    windows = np.moveaxis(windows, (-2, -1), (2, 3))
    down, across = windows.shape[:2]
    if max_patches is None:
        return windows.reshape(down * across, *windows.shape[2:])
    n = _sample_size(max_patches, down * across)
    rng = check_random_state(random_state)
    rows, columns = rng.randint(down, size=n), rng.randint(across, size=n)
    return windows[rows, columns]


def _sample_size(max_patches: float, total: int) -> int:
    if isinstance(max_patches, int | np.integer) and max_patches >= 1:
        return min(int(max_patches), total)
    if isinstance(max_patches, float) and 0 < max_patches < 1:
        return int(max_patches * total)
    raise ValueError(
        f"Invalid value for max_patches: {max_patches!r}: a number, or a share below 1"
    )


def reconstruct_from_patches_2d(patches: Any, image_size: tuple[int, ...]) -> np.ndarray:
    """The image of which these are all patches, row by row; where they overlap, their mean.

    Parameters
    ----------
    patches : (n_patches, height, width[, n_channels]) array
        All patches, as `extract_patches_2d` gives them without `max_patches`.
    image_size : (height, width[, n_channels])
        Shape of the image.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.arange(12.0).reshape(3, 4)
    >>> bool(
    ...     (reconstruct_from_patches_2d(extract_patches_2d(image, (2, 2)), (3, 4)) == image).all()
    ... )
    True
    """
    patches = np.asarray(patches)
    height, width = image_size[:2]
    h, w = patches.shape[1:3]
    down, across = height - h + 1, width - w + 1
    if len(patches) != down * across:
        raise ValueError(
            f"an image of {height} by {width} has {down * across} patches of {h} by {w}, not "
            f"{len(patches)}: give all of them"
        )
    grid = patches.reshape(down, across, *patches.shape[1:])
    total, count = np.zeros(image_size), np.zeros((height, width))
    for i in range(h):
        for j in range(w):
            total[i : i + down, j : j + across] += grid[:, :, i, j]
            count[i : i + down, j : j + across] += 1.0
    return total / count.reshape(height, width, *[1] * (total.ndim - 2))


def denoise_image(
    image: Any,
    dictionary: Any,
    *,
    patch_size: tuple[int, int],
    alpha: float = 1.0,
    algorithm: str = "lasso_lars",
    n_nonzero_coefs: int | None = None,
    positive: bool = False,
    noise_atoms: Any = None,
    noise_alpha: float | None = None,
    center: bool = True,
) -> np.ndarray:
    r"""Denoise an image: code every patch, leave out what noise atoms took up, and put together.

    .. math:: \min_{z, e} \tfrac12 \lVert x - z D - e N \rVert^2 + \alpha \lVert z \rVert_1
              + \alpha_N \lVert e \rVert_1, \qquad \hat x = z D

    Parameters
    ----------
    image : (height, width) array
        The noisy image.
    dictionary : (n_atoms, n_pixels) array
        Atoms of the picture itself, as `DictionaryLearning` or `NMF` learn them from patches.
    patch_size : (int, int)
        Height and width of a patch.
    alpha, algorithm, n_nonzero_coefs, positive : see `sparse_encode`
    noise_atoms : (n_noise_atoms, n_pixels) array or "impulse", optional
        Atoms that look like the noise: learned from patches of it, or "impulse" for single pixels.
    noise_alpha : float, optional
        Penalty on the codes of noise atoms; `alpha` by default.
    center : bool
        Whether the mean of each patch is kept apart from its code; not for non-negative codes.

    Returns
    -------
    (height, width) array

    Examples
    --------
    >>> import numpy as np
    >>> image = np.outer(np.ones(8), np.arange(8.0))
    >>> noisy = image.copy()
    >>> noisy[3, 3] += 20
    >>> ramp = np.tile(np.arange(4.0) - 1.5, 4)[None] / np.sqrt(20)
    >>> clean = denoise_image(
    ...     noisy, ramp, patch_size=(4, 4), alpha=0.01, noise_atoms="impulse", noise_alpha=0.5
    ... )
    >>> bool(np.abs(clean - image).max() < 2)
    True
    """
    image = np.asarray(image, np.float64)
    D = np.asarray(dictionary, np.float64)
    pixels = int(np.prod(patch_size))
    if D.shape[1] != pixels:
        raise ValueError(f"atoms have {D.shape[1]} pixels, and patches of {patch_size} {pixels}")
    X = extract_patches_2d(image, patch_size).reshape(-1, pixels)
    mean = X.mean(axis=1, keepdims=True) if center and not positive else 0.0
    atoms = D
    if noise_atoms is not None:
        if isinstance(noise_atoms, str) and noise_atoms != "impulse":
            raise ValueError(f"noise_atoms is an array or 'impulse', not {noise_atoms!r}")
        N = np.eye(pixels) if isinstance(noise_atoms, str) else np.asarray(noise_atoms, np.float64)
        # a penalty of its own is the same as atoms of another length
        atoms = np.vstack([D, N * (alpha / (alpha if noise_alpha is None else noise_alpha))])
        mean = np.median(X, axis=1, keepdims=True) if center and not positive else 0.0
    codes = sparse_encode(
        X - mean,
        atoms,
        algorithm=algorithm,
        alpha=alpha,
        n_nonzero_coefs=n_nonzero_coefs,
        positive=positive,
    )
    clean = codes[:, : len(D)] @ D + mean
    return reconstruct_from_patches_2d(clean.reshape(-1, *patch_size), image.shape)
