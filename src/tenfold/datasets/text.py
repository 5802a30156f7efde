"""Text: SMS messages, Shakespeare, first names, and the descriptions of the text game."""

import numpy as np
from sklearn.utils import Bunch

from tenfold.datasets.bundle import Loaded, bundle
from tenfold.datasets.cache import DataFileError, expect, find, members, read
from tenfold.datasets.parsing import decoded, records

ROOMS = ("living room", "garden", "kitchen", "bedroom")
QUESTS = ("bored", "getting fat", "hungry", "sleepy")


def fetch_sms_spam(*, return_X_y: bool = False) -> Loaded:
    """SMS Spam Collection: 5,574 messages, 747 of them spam [003, sentiment and spam].

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
    path = find("sms")
    if path.suffix == ".zip":
        raw = b"".join(raw for _, raw in members(path, "SMSSpamCollection$"))
    else:
        raw = read(path)
    rows = records(path, decoded(path, raw, "utf-8"), "\t", 2, quoted=False)
    target = np.array([label == "spam" for label, _ in rows], dtype=int)
    expect(path, "(messages, spam)", (len(rows), int(target.sum())), (5574, 747))
    return bundle(
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
    path = find("shakespeare")
    text = decoded(path, read(path))
    expect(path, "characters", len(text), 1_115_394)
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
    path = find("names")
    names = decoded(path, read(path)).split()
    expect(path, "names", len(names), 32_033)
    return Bunch(data=names, DESCR="First names of the United States, 2018, by A. Karpathy.")


def fetch_text_game() -> Bunch:
    """Texts of the home world, the text game of 6.86x [003, project 5].

    Returns
    -------
    Bunch
        ``rooms`` room -> its four descriptions; ``quests`` quest -> its sentence.

    Examples
    --------
    >>> fetch_text_game().quests["hungry"]  # doctest: +SKIP
    'You are hungry.'
    """
    path = find("text-game")
    lines = [line.strip() for line in decoded(path, read(path)).splitlines()]
    expect(path, "lines", len(lines), 20)
    quests = dict(zip(QUESTS, lines[16:], strict=True))
    if any(quest not in line for quest, line in quests.items()):
        raise DataFileError(f"{path}: the last four lines are not the quests {list(QUESTS)}")
    return Bunch(
        rooms={room: lines[4 * i : 4 * i + 4] for i, room in enumerate(ROOMS)},
        quests=quests,
        DESCR="Home world, 6.86x project 5: four descriptions of each of four rooms, four quests.",
    )
