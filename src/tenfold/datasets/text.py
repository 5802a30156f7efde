"""Text: SMS messages, Shakespeare, first names, 20 Newsgroups, product reviews, the text game."""

import re
from collections.abc import Collection

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets._base import (
    LoadedData,
    check_choice,
    decode_text,
    make_bunch,
    parse_numbers,
    parse_records,
    to_columns,
)
from tenfold.datasets.cache import (
    DataFileError,
    archive_members,
    check_figure,
    find_file,
    read_bytes,
)

_ROOMS = ("living room", "garden", "kitchen", "bedroom")
_QUESTS = ("bored", "getting fat", "hungry", "sleepy")


def fetch_sms_spam(*, return_X_y: bool = False) -> LoadedData:
    """SMS Spam Collection: 5,574 messages, 747 of them spam.

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` list of str, ``target`` 1 for spam, ``target_names``.

    Examples
    --------
    >>> int(fetch_sms_spam().target.sum())  # doctest: +SKIP
    747
    """
    path = find_file("sms")
    if path.suffix == ".zip":
        raw = b"".join(raw for _, raw in archive_members(path, "SMSSpamCollection$"))
    else:
        raw = read_bytes(path)
    rows = parse_records(path, decode_text(path, raw, "utf-8"), "\t", 2, quoted=False)
    target = np.array([label == "spam" for label, _ in rows], dtype=int)
    check_figure(path, "(messages, spam)", (len(rows), int(target.sum())), (5574, 747))
    return make_bunch(
        return_X_y=return_X_y,
        data=[message for _, message in rows],
        target=target,
        target_names=["ham", "spam"],
        DESCR="SMS Spam Collection v.1, T. Almeida and J. M. Gomez Hidalgo: 5,574 messages.",
    )


def fetch_tiny_shakespeare() -> Bunch:
    """Tiny Shakespeare: 1,115,394 characters of plays, to learn the next one from.

    Returns
    -------
    Bunch
        ``data`` one str.

    Examples
    --------
    >>> fetch_tiny_shakespeare().data[:14]  # doctest: +SKIP
    'First Citizen:'
    """
    path = find_file("shakespeare")
    text = decode_text(path, read_bytes(path))
    check_figure(path, "characters", len(text), 1_115_394)
    return Bunch(data=text, DESCR="Tiny Shakespeare, A. Karpathy: 40,000 lines of plays.")


def fetch_names() -> Bunch:
    """First names in lower case: 32,033 short words, to learn the next letter from.

    Returns
    -------
    Bunch
        ``data`` list of str.

    Examples
    --------
    >>> fetch_names().data[:3]  # doctest: +SKIP
    ['emma', 'olivia', 'ava']
    """
    path = find_file("names")
    names = decode_text(path, read_bytes(path)).split()
    check_figure(path, "names", len(names), 32_033)
    return Bunch(data=names, DESCR="First names of the United States, 2018, by A. Karpathy.")


def fetch_text_game() -> Bunch:
    """Texts of the home world, the text game of 6.86x.

    Returns
    -------
    Bunch
        ``rooms`` room -> its four descriptions; ``quests`` quest -> its sentence.

    Examples
    --------
    >>> fetch_text_game().quests["hungry"]  # doctest: +SKIP
    'You are hungry.'
    """
    path = find_file("text-game")
    lines = [line.strip() for line in decode_text(path, read_bytes(path)).splitlines()]
    check_figure(path, "lines", len(lines), 20)
    quests = dict(zip(_QUESTS, lines[16:], strict=True))
    if any(quest not in line for quest, line in quests.items()):
        raise DataFileError(f"{path}: the last four lines are not the quests {list(_QUESTS)}")
    return Bunch(
        rooms={room: lines[4 * i : 4 * i + 4] for i, room in enumerate(_ROOMS)},
        quests=quests,
        DESCR="Home world, 6.86x project 5: four descriptions of each of four rooms, four quests.",
    )


TEN_GROUPS = (
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
FOUR_GROUPS = (
    "comp.sys.mac.hardware",
    "rec.motorcycles",
    "sci.med",
    "soc.religion.christian",
)
_NEWSGROUP_SIZES = {"train": 11_314, "test": 7_532}
_REMOVABLE_PARTS = ("headers", "footers", "quotes")
_QUOTED_LINE = re.compile(r"^[|>]|^In article|^Quoted from|writes( in|:)|wrote:|says:|said:")


def fetch_20newsgroups(
    *,
    subset: str = "train",
    categories: Collection[str] | None = None,
    remove: Collection[str] = (),
    return_X_y: bool = False,
) -> LoadedData:
    """20 Newsgroups by date: raw messages and their groups.

    Parameters
    ----------
    subset : {"train", "test", "all"}
        11,314 messages, the later 7,532, or both, train first.
    categories : collection of str, default: all 20
        Groups to keep; `TEN_GROUPS` and `FOUR_GROUPS` are common choices.
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
    wanted = (
        list(_NEWSGROUP_SIZES)
        if check_choice("subset", subset, [*_NEWSGROUP_SIZES, "all"]) == "all"
        else [subset]
    )
    for part in remove:
        check_choice("remove", part, _REMOVABLE_PARTS)
    messages = _read_messages(wanted)
    groups = sorted({group for _, group, _ in messages})
    selected_groups = groups if categories is None else sorted(set(categories))
    for group in selected_groups:
        check_choice("categories", group, groups)
    selected = [message for message in messages if message[1] in set(selected_groups)]
    return make_bunch(
        return_X_y=return_X_y,
        data=[_strip_parts(text, remove) for _, _, text in selected],
        target=np.array([selected_groups.index(group) for _, group, _ in selected], dtype=int),
        target_names=selected_groups,
        filenames=[name for name, _, _ in selected],
        DESCR="20 Newsgroups by date, K. Lang and J. Rennie: 18,846 messages of 20 groups.",
    )


def _read_messages(subsets: list[str]) -> list[tuple[str, str, str]]:
    """Return (name, group, text) of all messages of the subsets."""
    path, found = find_file("20newsgroups"), []
    files = sorted(archive_members(path, r"20news-bydate-(train|test)/[^/]+/\d+$"))
    for subset in subsets:
        part = [(name, raw) for name, raw in files if f"-{subset}/" in name]
        check_figure(path, f"messages for {subset}", len(part), _NEWSGROUP_SIZES[subset])
        found += [(name, name.split("/")[-2], raw.decode("latin-1")) for name, raw in part]
    return found


def _strip_parts(text: str, remove: Collection[str]) -> str:
    if "headers" in remove:
        text = text.partition("\n\n")[2]
    if "footers" in remove:
        lines = text.strip().split("\n")
        breaks = [i for i, line in enumerate(lines) if not line.strip().strip("-")]
        last = max(breaks, default=0)
        text = "\n".join(lines[:last]) if last else text
    if "quotes" in remove:
        text = "\n".join(line for line in text.split("\n") if not _QUOTED_LINE.search(line))
    return text


_REVIEW_SIZES = {"train": 4000, "val": 500, "test": 500, "submit": 500}
_REVIEW_COLUMNS = ["sentiment", "productId", "userId", "summary", "text", "helpfulY", "helpfulN"]


def fetch_reviews(*, subset: str = "train", return_X_y: bool = False) -> LoadedData:
    """Amazon product reviews of 6.86x, good (+1) or bad (-1).

    Parameters
    ----------
    subset : {"train", "val", "test", "submit"}
        4,000 reviews, or one of three sets of 500; the last has no labels.
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` list of str; ``target`` (n,) of -1 and +1, None for "submit"; ``to_columns`` the
        other columns: product, user, summary, votes; ``stop_words``; ``order`` the fixed order in
        which the course visits the training reviews.

    Examples
    --------
    >>> reviews = fetch_reviews()  # doctest: +SKIP
    >>> [int((reviews.target == label).sum()) for label in (-1, 1)]  # doctest: +SKIP
    [2030, 1970]
    """
    path = find_file(f"reviews-{check_choice('subset', subset, _REVIEW_SIZES)}")
    rows = parse_records(
        path,
        decode_text(path, read_bytes(path), "latin-1"),
        "\t",
        len(_REVIEW_COLUMNS),
        quoted=True,
    )
    check_figure(path, "rows", len(rows), _REVIEW_SIZES[subset] + 1)
    check_figure(path, "as header", rows.pop(0), _REVIEW_COLUMNS)
    table = to_columns(rows, _REVIEW_COLUMNS, {"sentiment", "helpfulY", "helpfulN"})
    sentiment = table.pop("sentiment")
    return make_bunch(
        return_X_y=return_X_y,
        data=table.pop("text").tolist(),
        target=None if subset == "submit" else sentiment.astype(int),
        columns=table,
        stop_words=decode_text(
            find_file("reviews-stopwords"), read_bytes(find_file("reviews-stopwords"))
        ).split(),
        order=_read_order("reviews-order", _REVIEW_SIZES["train"]),
        DESCR="Product reviews of 6.86x, project 1: 5,500 reviews of food sold by Amazon.",
    )


def fetch_reviews_toy(*, return_X_y: bool = False) -> LoadedData:
    """200 points of the plane in two classes, from the course 6.86x.

    Parameters
    ----------
    return_X_y : bool
        Return only ``(data, target)``.

    Returns
    -------
    Bunch
        ``data`` (200, 2), ``target`` of -1 and +1, ``order`` the course's order of visits.

    Examples
    --------
    >>> fetch_reviews_toy().data.shape  # doctest: +SKIP
    (200, 2)
    """
    path = find_file("reviews-toy")
    table = parse_numbers(path, decode_text(path, read_bytes(path)), None)
    check_figure(path, "(rows, columns)", table.shape, (200, 3))
    return make_bunch(
        return_X_y=return_X_y,
        data=table[:, 1:].copy(),
        target=table[:, 0].astype(int),
        order=_read_order("reviews-toy-order", 200),
        DESCR="Toy data of 6.86x, project 1.",
    )


def _read_order(name: str, n: int) -> np.ndarray:
    path = find_file(name)
    order = parse_numbers(path, decode_text(path, read_bytes(path)))[0].astype(int)
    check_figure(
        path,
        "as lowest, highest and number of places",
        (order.min(), order.max(), order.size),
        (0, n - 1, n),
    )
    return order
