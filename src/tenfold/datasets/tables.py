"""Tables of the UCI repository: breast cancer, spam, wine quality."""

import numpy as np

from tenfold.datasets.arguments import check_choice
from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import expect, find, read
from tenfold.datasets.parsing import decoded, numbers

CELLS = ["clump thickness", "uniformity of cell size", "uniformity of cell shape"]
CELLS += ["marginal adhesion", "single epithelial cell size", "bare nuclei", "bland chromatin"]
CELLS += ["normal nucleoli", "mitoses"]
NUCLEI = ["radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity"]
NUCLEI += ["concave points", "symmetry", "fractal dimension"]
DIAGNOSES = {  # columns, [malignant, benign] cases, missing values
    "diagnostic": (
        [form.format(name) for form in ("mean {}", "{} error", "worst {}") for name in NUCLEI],
        [212, 357],
        0,
    ),
    "original": (CELLS, [241, 458], 16),
}
SPAM_WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
SPAM_COLUMNS = [f"word_freq_{word}" for word in SPAM_WORDS.split()]
SPAM_COLUMNS += [f"char_freq_{character}" for character in ";([!$#"]
SPAM_COLUMNS += [f"capital_run_length_{figure}" for figure in ("average", "longest", "total")]
WINE_COLUMNS = ["fixed acidity", "volatile acidity", "citric acid", "residual sugar", "chlorides"]
WINE_COLUMNS += ["free sulfur dioxide", "total sulfur dioxide", "density", "pH", "sulphates"]
WINE_COLUMNS += ["alcohol"]
WINES = {"red": 1599, "white": 4898}


def fetch_breast_cancer(version: str = "original", *, return_X_y: bool = False) -> Loaded:
    """Breast cancer, Wisconsin: benign or malignant from measured cells [003, tumour diagnosis].

    Parameters
    ----------
    version : {"original", "diagnostic"}
        The original 699 cases with 9 grades from 1 to 10, 16 of them missing (NaN); or the 569
        cases with 30 measures of nuclei (WDBC), which `load_breast_cancer` has without a file.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` float64, ``target`` 0 malignant, 1 benign, ``feature_names``, ``target_names``,
        ``ids`` the number of each case.

    Examples
    --------
    >>> int(np.isnan(fetch_breast_cancer().data).sum())  # doctest: +SKIP
    16
    """
    names, sizes, missing = DIAGNOSES[check_choice("version", version, DIAGNOSES)]
    path = find(f"breast-cancer-{version}")
    text = decoded(path, read(path)).replace("?", "nan")
    table = numbers(path, text.replace(",M,", ",4,").replace(",B,", ",2,"))
    expect(path, "columns", table.shape[1], len(names) + 2)
    label = 1 if version == "diagnostic" else -1
    data = np.delete(table, [0, label % table.shape[1]], axis=1)
    target = (table[:, label] == 2).astype(int)
    expect(path, "malignant and benign cases", np.bincount(target).tolist(), sizes)
    expect(path, "missing values", int(np.isnan(data).sum()), missing)
    return bundle(
        return_X_y=return_X_y,
        data=data,
        target=target,
        feature_names=list(names),
        target_names=["malignant", "benign"],
        ids=table[:, 0].astype(int),
        DESCR=f"Breast cancer Wisconsin ({version}), W. H. Wolberg et al., UCI repository.",
    )


def fetch_spambase(*, return_X_y: bool = False) -> Loaded:
    """Spambase: 57 frequencies of 4,601 e-mails, 1,813 of them spam [001, e-mail example].

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (4601, 57), ``target`` 1 for spam, ``feature_names``, ``target_names``.

    Examples
    --------
    >>> fetch_spambase().feature_names[0]  # doctest: +SKIP
    'word_freq_make'
    """
    path = find("spambase")
    table = numbers(path, decoded(path, read(path)))
    expect(path, "(rows, columns)", table.shape, (4601, 58))
    expect(path, "spam", int(table[:, -1].sum()), 1813)
    return bundle(
        return_X_y=return_X_y,
        data=table[:, :-1].copy(),
        target=table[:, -1].astype(int),
        feature_names=list(SPAM_COLUMNS),
        target_names=["ham", "spam"],
        DESCR="Spambase, M. Hopkins et al. 1999, UCI repository: frequencies in percent.",
    )


def fetch_wine_quality(colour: str = "red", *, return_X_y: bool = False) -> Loaded:
    """Wine quality: grades of Portuguese wines from 11 chemical measures.

    Parameters
    ----------
    colour : {"red", "white"}
        1,599 red wines or 4,898 white ones.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 11), ``target`` (n,) grades from 0 to 10, ``feature_names``.

    Examples
    --------
    >>> fetch_wine_quality("white").data.shape  # doctest: +SKIP
    (4898, 11)
    """
    path = find(f"wine-quality-{check_choice('colour', colour, WINES)}")
    lines = decoded(path, read(path)).replace(";", ",").splitlines()
    rows = lines[1:] if lines[:1] and "acidity" in lines[0] else lines  # the publisher has a header
    table = numbers(path, "\n".join(rows))
    expect(path, "(rows, columns)", table.shape, (WINES[colour], 12))
    return bundle(
        return_X_y=return_X_y,
        data=table[:, :-1].copy(),
        target=table[:, -1].copy(),
        feature_names=list(WINE_COLUMNS),
        DESCR=f"Wine quality ({colour}), P. Cortez et al. 2009, UCI repository.",
    )
