"""A page on which a person can look at recommendations: a user, a list, and reasons."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from tenfold.report.format import format_count, format_duration, format_value
from tenfold.report.pages import Section, read_asset, render_page, write_page
from tenfold.report.summary import Fact

_USERS = 24  # users to choose from by default
_SHOWN_RATINGS = 8  # of what a user has rated
_REASONS = 3
_NEIGHBORS = 6  # similar items of a popular one
_POPULAR = 24  # popular items whose neighbors are shown


class ShownReason(NamedTuple):
    """A reason: an item (or a user), its rating, and what it adds."""

    name: str
    rating: str
    contribution: str


class RecommendedItem(NamedTuple):
    """An item of a list: name, score, length of its bar in percent, reasons."""

    name: str
    score: str
    percent: float
    base: str
    reasons: list[ShownReason]


class UserView(NamedTuple):
    """What the page shows about a user."""

    name: str
    n_ratings: int
    liked: list[tuple[str, str]]
    items: list[RecommendedItem]


def write_recommendations(
    source: Any,
    path: str | os.PathLike[str],
    *,
    users: Any = None,
    n: int = 10,
    titles: Mapping[Any, str] | None = None,
) -> Path:
    """Write a page of recommendations with reasons; the file is replaced when it is complete.

    Parameters
    ----------
    source : recommender or RecommenderStudy
        A fitted model, or what `tenfold.learn` found for a table of ratings.
    path : path
        Of the page, such as ``report.html``.
    users : list of ids, optional
        Users to choose from on the page; by default some with few, some with many ratings.
    n : int, default=10
        Length of their lists.
    titles : dict, item id -> str, optional
        What the page calls items whose ids are numbers; items without a title keep their id.

    Returns
    -------
    Path
        Path of the page.

    See Also
    --------
    render_recommendations : The page as a string.
    """
    return write_page(path, render_recommendations(source, users=users, n=n, titles=titles))


def render_recommendations(
    source: Any, *, users: Any = None, n: int = 10, titles: Mapping[Any, str] | None = None
) -> str:
    """A page of recommendations with reasons as HTML.

    Parameters
    ----------
    source : recommender or RecommenderStudy
        A fitted model, or what `tenfold.learn` found for a table of ratings.
    users : list of ids, optional
        Users to choose from on the page.
    n : int, default=10
        Length of their lists.
    titles : dict, item id -> str, optional
        What the page calls items whose ids are numbers; items without a title keep their id.

    Returns
    -------
    str
        One page without references to other files.

    Examples
    --------
    >>> from tenfold import ALS
    >>> from tenfold.report import render_recommendations
    >>> pairs = [[u, f"film {i}"] for u in range(9) for i in range(6) if (u + i) % 3]
    >>> model = ALS(2, random_state=0).fit(pairs, [3 + u % 2 for u, _ in pairs])
    >>> page = render_recommendations(model, n=2)
    >>> "film 3" in page, "https:" in page
    (True, False)
    """
    study = source if hasattr(source, "attempts") else None
    model = source if study is None else study.model
    chosen = _choose_users(model) if users is None else list(users)
    names = _ItemNames(titles or {})
    views = [_view(model, user, n, names) for user in chosen]
    sections = [Section("lists", "Recommendations", "recommendations")]
    sections.append(Section("items", "Items near each other", "similar_items"))
    if study is not None:
        sections.append(Section("models", "Models tried", "recommenders"))
    return render_page(
        "recommendations.html.j2",
        "Recommendations",
        sections,
        study=study,
        title=type(model).__name__ if study is None else study.chosen.title,
        facts=_facts(model, study),
        views=views,
        neighbors=_neighbors(model, names),
        page_script=Markup(read_asset("recommendations.js")),  # noqa: S704 - our own file
        attempts=[] if study is None else _attempt_rows(study),
    )


class _ItemNames:
    """Titles of items; their ids where they have none."""

    def __init__(self, titles: Mapping[Any, str]) -> None:
        self.titles = titles

    def __getitem__(self, item: Any) -> str:
        return str(self.titles.get(item, item))


def _choose_users(model: Any) -> list[Any]:
    """Users with few, some and many ratings, spread over all numbers of ratings."""
    counts = np.diff(model.seen_starts_)
    order = np.argsort(counts, kind="stable")
    places = np.unique(np.linspace(0, len(order) - 1, min(_USERS, len(order))).round().astype(int))
    chosen = np.sort(order[places])
    return model.user_ids_[chosen].tolist()


def _view(model: Any, user: Any, n: int, names: _ItemNames) -> UserView:
    code = int(np.searchsorted(model.user_ids_, user))
    if code >= len(model.user_ids_) or model.user_ids_[code] != user:
        raise ValueError(f"the user {user!r} was not part of the fit")
    span = slice(model.seen_starts_[code], model.seen_starts_[code + 1])
    items, values = model.item_ids_[model.seen_items_[span]], model.seen_values_[span]
    order = np.lexsort([-model.item_counts_[model.seen_items_[span]], -values])[:_SHOWN_RATINGS]
    best = model.recommend(user, n)
    scores = best.scores[~np.isnan(best.scores)]  # there may be fewer items than n
    kept = zip(best.items.tolist(), scores.tolist(), strict=False)
    low = min(scores.min(), 0.0) if len(scores) else 0.0
    top = max(scores.max() - low, 1e-12) if len(scores) else 1.0
    shown = [_describe_item(model, user, i, 100 * (s - low) / top, names) for i, s in kept]
    liked = [(names[items[j].item()], format_value(float(values[j]))) for j in order]
    return UserView(str(user), len(items), liked, shown)


def _describe_item(
    model: Any, user: Any, item: Any, percent: float, names: _ItemNames
) -> RecommendedItem:
    found = model.explain(user, item, _REASONS)
    by_users = getattr(model, "by", "item") == "user"  # then reasons are other users
    reasons = [
        ShownReason(
            str(reason.item) if by_users else names[reason.item],
            format_value(reason.rating),
            f"{reason.contribution:+.3f}",
        )
        for reason in found.reasons
        if reason.contribution > 0
    ]
    return RecommendedItem(names[item], f"{found.score:.3f}", percent, f"{found.base:.3f}", reasons)


def _neighbors(model: Any, names: _ItemNames) -> list[tuple[str, list[tuple[str, str]]]]:
    """The most popular items and those near them, of items that enough users rated."""
    popular = model.popular_items(_POPULAR).items.tolist()
    counts = dict(zip(model.item_ids_.tolist(), model.item_counts_.tolist(), strict=True))
    least = 0.02 * counts[popular[0]] if popular else 0.0
    rows = []
    for item in popular:
        near = model.similar_items(item, 50 * _NEIGHBORS)
        pairs = zip(near.items.tolist(), near.scores.tolist(), strict=True)
        kept = [(names[i], f"{s:.2f}") for i, s in pairs if counts[i] >= least][:_NEIGHBORS]
        rows.append((names[item], kept))
    return rows


def _facts(model: Any, study: Any) -> list[Fact]:
    facts = [
        Fact("Ratings", format_count(len(model.seen_items_)), type(model).__name__),
        Fact("Users", format_count(len(model.user_ids_)), "who rated something"),
        Fact("Items", format_count(len(model.item_ids_)), "that were rated"),
    ]
    if study is None:
        return facts
    if "rmse" in study.test:
        facts.append(Fact("RMSE", f"{study.test['rmse']:.4f}", f"test: {study.split}"))
    beside = f"most popular items: {study.popular['ndcg']:.4f}"
    facts.append(Fact("NDCG at 10", f"{study.test['ndcg']:.4f}", beside))
    return [*facts, Fact("Time", format_duration(study.seconds), "of the whole study")]


def _attempt_rows(study: Any) -> list[tuple[str, str, str, str]]:
    return [
        (
            attempt.title,
            ", ".join(f"{name}={value}" for name, value in attempt.params.items()),
            f"{attempt.score:.4f}",
            format_duration(attempt.seconds),
        )
        for attempt in study.attempts
    ]
