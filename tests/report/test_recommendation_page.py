"""The page of recommendations: one file, lists of users, reasons, escaped names."""

import pytest

import tenfold
from tenfold import ALS, BPR, BayesianPMF, ImplicitALS, KNNRecommender
from tenfold.report import render_recommendations, write_recommendations
from tests.recommend.conftest import make_ratings

MODELS = [
    ALS(2, random_state=0),
    ImplicitALS(2, random_state=0),
    BPR(2, max_iter=100, tol=1e-2, random_state=0),
    BayesianPMF(2, burn_in=2, n_samples=3, random_state=0),
    KNNRecommender(5),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_each_user_of_the_page_has_a_list_with_reasons(model):
    X, y = make_ratings()
    named = [(int(u), f"film <{i}>") for u, i in X]
    model.fit(named, abs(y))
    page = render_recommendations(model, users=[3, 5], n=4)
    assert page.count('class="user-view"') == 2
    best = model.recommend(3, 4).items
    for item in best:
        assert item.replace("<", "&lt;").replace(">", "&gt;") in page
        assert item not in page  # names are text, never markup
    assert "https:" not in page
    assert "left out" not in page


def test_the_page_of_a_study_shows_all_models(tmp_path):
    X, y = make_ratings(0, 60, 30)
    table = {"user": X[:, 0], "item": X[:, 1], "rating": y.round()}
    study = tenfold.learn(table, minutes=0.05)
    path = write_recommendations(study, tmp_path / "report.html", n=3)
    page = path.read_text()
    assert all(attempt.title in page for attempt in study.attempts)
    assert "chosen" in page


def test_an_unknown_user_is_refused():
    X, y = make_ratings()
    with pytest.raises(ValueError, match="user 999 was not part of the fit"):
        render_recommendations(ALS(1, random_state=0).fit(X, y), users=[999])


def test_titles_stand_for_items_and_never_for_users():
    X, y = make_ratings()
    titles = {i: f"film {i}" for i in range(24)}  # item 24 keeps its number
    for model in (ALS(2, random_state=0), KNNRecommender(5)):
        model.fit(X, abs(y))
        page = render_recommendations(model, users=[3], n=4, titles=titles)
        best = model.recommend(3, 4).items.tolist()
        assert all(f'<td class="name">{titles.get(item, item)}</td>' in page for item in best)
        reason = model.explain(3, best[0], 1).reasons[0].item
        shown = reason if isinstance(model, KNNRecommender) else titles.get(reason, reason)
        assert f"<small><b>{shown}</b> (" in page


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_reasons_against_an_item_are_not_shown(model):
    X, y = make_ratings()
    page = render_recommendations(model.fit(X, abs(y)), n=20)  # down to items nobody would take
    assert "</b> (" in page
    assert "): -" not in page
