"""Sets that judge word vectors: analogies and similarities."""

import numpy as np

from tenfold.datasets.arguments import check_choice
from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import expect, find, read
from tenfold.datasets.parsing import decoded, records

SIMILARITIES = {"wordsim353": 353, "simlex999": 999}


def fetch_word_analogies(*, return_X_y: bool = False) -> Loaded:
    """Google's analogies: "Athens is to Greece as Baghdad is to Iraq" [003, word embeddings].

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
    path = find("analogies")
    words, kinds, names = [], [], []
    for line in decoded(path, read(path)).splitlines():
        if line.startswith(":"):
            names.append(line.removeprefix(":").strip())
        else:
            words.append(line.split())
            kinds.append(len(names) - 1)
    expect(path, "(analogies, kinds)", (len(words), len(names)), (19_544, 14))
    expect(path, "words in an analogy", {len(row) for row in words}, {4})
    return bundle(
        return_X_y=return_X_y,
        data=np.array(words),
        target=np.array(kinds),
        target_names=names,
        DESCR="Analogies, T. Mikolov et al. 2013: 19,544 questions of 14 kinds.",
    )


def fetch_word_similarity(name: str = "wordsim353", *, return_X_y: bool = False) -> Loaded:
    """Pairs of words and how alike people find them, from 0 to 10 [003, word embeddings].

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
    path = find(check_choice("name", name, SIMILARITIES))
    lines = decoded(path, read(path)).splitlines()
    table = "\n".join(line for line in lines if not line.startswith("#"))
    rows = records(path, table, "\t", 3, quoted=False)
    expect(path, "pairs", len(rows), SIMILARITIES[name])
    return bundle(
        return_X_y=return_X_y,
        data=np.array([row[:2] for row in rows]),
        target=np.array([float(row[2]) for row in rows]),
        DESCR="WordSim-353, L. Finkelstein et al. 2002"
        if name == "wordsim353"
        else "SimLex-999, F. Hill et al. 2015",
    )
