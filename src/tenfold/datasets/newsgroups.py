"""20 Newsgroups, sorted by date: train on the older messages, test on the newer ones."""

import re
from collections.abc import Collection

import numpy as np

from tenfold.datasets.arguments import check_choice
from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import expect, find, members

TEN_GROUPS = (  # (165) of note 001
    "comp.graphics",
    "comp.sys.mac.hardware",
    "misc.forsale",
    "rec.motorcycles",
    "rec.sport.baseball",
    "sci.med",
    "sci.space",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.religion.misc",
)
FOUR_GROUPS = (  # note 000, its notebooks on PCA and NMF
    "comp.sys.mac.hardware",
    "rec.motorcycles",
    "sci.med",
    "soc.religion.christian",
)
SIZES = {"train": 11_314, "test": 7_532}
PARTS = ("headers", "footers", "quotes")
QUOTED = re.compile(r"^[|>]|^In article|^Quoted from|writes( in|:)|wrote:|says:|said:")


def fetch_20newsgroups(
    *,
    subset: str = "train",
    categories: Collection[str] | None = None,
    remove: Collection[str] = (),
    return_X_y: bool = False,
) -> Loaded:
    """20 Newsgroups by date: raw messages and their groups [000, ch. 3; 001, sec. 2.8].

    Parameters
    ----------
    subset : {"train", "test", "all"}
        11,314 messages, the later 7,532, or both, train first.
    categories : collection of str, default: all 20
        Groups to keep; `TEN_GROUPS` and `FOUR_GROUPS` are those of the notes.
    remove : collection of {"headers", "footers", "quotes"}
        What to cut from each message: lines up to the first blank one; the last paragraph, as a
        signature would be; lines that quote or announce a quote. Rules of thumb.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` list of str, ``target`` (n,), ``target_names`` sorted, ``filenames`` inside the
        archive. The order is that of groups and files.

    Examples
    --------
    >>> from tenfold.datasets import TEN_GROUPS
    >>> len(fetch_20newsgroups(categories=TEN_GROUPS).data)  # doctest: +SKIP
    5616
    """
    wanted = list(SIZES) if check_choice("subset", subset, [*SIZES, "all"]) == "all" else [subset]
    for part in remove:
        check_choice("remove", part, PARTS)
    messages = _messages(wanted)
    groups = sorted({group for _, group, _ in messages})
    kept = groups if categories is None else sorted(set(categories))
    for group in kept:
        check_choice("categories", group, groups)
    chosen = [message for message in messages if message[1] in set(kept)]
    return bundle(
        return_X_y=return_X_y,
        data=[_stripped(text, remove) for _, _, text in chosen],
        target=np.array([kept.index(group) for _, group, _ in chosen], dtype=int),
        target_names=kept,
        filenames=[name for name, _, _ in chosen],
        DESCR="20 Newsgroups by date, K. Lang and J. Rennie: 18,846 messages of 20 groups.",
    )


def _messages(subsets: list[str]) -> list[tuple[str, str, str]]:
    """Return (name, group, text) of all messages of the subsets."""
    path, found = find("20newsgroups"), []
    files = sorted(members(path, r"20news-bydate-(train|test)/[^/]+/\d+$"))
    for subset in subsets:
        part = [(name, raw) for name, raw in files if f"-{subset}/" in name]
        expect(path, f"messages for {subset}", len(part), SIZES[subset])
        found += [(name, name.split("/")[-2], raw.decode("latin-1")) for name, raw in part]
    return found


def _stripped(text: str, remove: Collection[str]) -> str:
    if "headers" in remove:
        text = text.partition("\n\n")[2]
    if "footers" in remove:
        lines = text.strip().split("\n")
        breaks = [i for i, line in enumerate(lines) if not line.strip().strip("-")]
        last = max(breaks, default=0)
        text = "\n".join(lines[:last]) if last else text
    if "quotes" in remove:
        text = "\n".join(line for line in text.split("\n") if not QUOTED.search(line))
    return text
