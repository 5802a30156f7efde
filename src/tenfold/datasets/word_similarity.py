"""Benchmarks of word vectors: analogies and similarities."""

import numpy as np

from tenfold.datasets._base import LoadedData, check_choice, decode_text, make_bunch, parse_records
from tenfold.datasets.cache import check_figure, find_file, read_bytes

_SIMILARITY_SIZES = {"wordsim353": 353, "simlex999": 999}


def fetch_word_analogies(*, return_X_y: bool = False) -> LoadedData:
    """Google's analogies: "Athens is to Greece as Baghdad is to Iraq".

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (19544, 4) str, ``target`` (19544,) the kind of analogy, ``target_names`` the 14
        kinds.

    Examples
    --------
    >>> fetch_word_analogies().data[0].tolist()  # doctest: +SKIP
    ['Athens', 'Greece', 'Baghdad', 'Iraq']
    """
    path = find_file("analogies")
    words, kinds, names = [], [], []
    for line in decode_text(path, read_bytes(path)).splitlines():
        if line.startswith(":"):
            names.append(line.removeprefix(":").strip())
        else:
            words.append(line.split())
            kinds.append(len(names) - 1)
    check_figure(path, "(analogies, kinds)", (len(words), len(names)), (19_544, 14))
    check_figure(path, "words in an analogy", {len(row) for row in words}, {4})
    return make_bunch(
        return_X_y=return_X_y,
        data=np.array(words),
        target=np.array(kinds),
        target_names=names,
        DESCR="Analogies, T. Mikolov et al. 2013: 19,544 questions of 14 kinds.",
    )


def fetch_word_similarity(name: str = "wordsim353", *, return_X_y: bool = False) -> LoadedData:
    """Pairs of words and how alike people find them, from 0 to 10.

    Parameters
    ----------
    name : {"wordsim353", "simlex999"}
        WordSim-353 asks for relatedness, SimLex-999 for similarity proper.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (n, 2) str, ``target`` (n,) the mean of the judgements.

    Examples
    --------
    >>> pairs = fetch_word_similarity("simlex999")  # doctest: +SKIP
    >>> pairs.data[0].tolist(), pairs.target[0]  # doctest: +SKIP
    (['old', 'new'], 1.58)
    """
    path = find_file(check_choice("name", name, _SIMILARITY_SIZES))
    lines = decode_text(path, read_bytes(path)).splitlines()
    table = "\n".join(line for line in lines if not line.startswith("#"))
    rows = parse_records(path, table, "\t", 3, quoted=False)
    check_figure(path, "pairs", len(rows), _SIMILARITY_SIZES[name])
    return make_bunch(
        return_X_y=return_X_y,
        data=np.array([row[:2] for row in rows]),
        target=np.array([float(row[2]) for row in rows]),
        DESCR="WordSim-353, L. Finkelstein et al. 2002"
        if name == "wordsim353"
        else "SimLex-999, F. Hill et al. 2015",
    )
