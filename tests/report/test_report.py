"""The page: well-formed, self-contained, safe against what stands in the data."""

import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenfold
from tenfold.automl import explain, explain_row, linear_weights
from tenfold.automl.candidates import CANDIDATES
from tenfold.automl.result import Attempt, ClusterSummary, Finding, HoldoutEvaluation, Study
from tenfold.automl.schema import ExpectedColumn, cells_to_records
from tenfold.automl.table_model import TableModel
from tenfold.automl.target import TargetScale
from tenfold.automl.task_scores import make_scoring
from tenfold.io import open_table
from tenfold.preprocessing.column_kinds import infer_column_kinds
from tenfold.preprocessing.table_encoder import TableEncoder
from tenfold.report import (
    ModelExplanation,
    dataset,
    evaluation,
    leaderboard,
    model_cards,
    render_explanation,
    render_report,
    summary,
    write_report,
)
from tenfold.report import pages as pages_module
from tenfold.report.evaluation import classification_figures
from tenfold.report.figures import count_bins
from tenfold.report.format import format_duration, format_fixed, format_percent, format_value
from tenfold.report.model_cards import MODEL_CARDS, find_model_card
from tenfold.report.summary import headline, lead
from tenfold.report.svg import (
    Chart,
    Scale,
    element,
    log_ticks,
    pad_limits,
    render_formula,
    round_ticks,
)

VOID = {"br", "hr", "img", "input", "meta", "link", "wbr"}
EVIL = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
ROWS = 150


class Read(HTMLParser):
    """Tags that are open, and all that was met."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)
        self.attributes += attributes

    def handle_endtag(self, name):
        assert self.open.pop() == name, f"</{name}> closes something else"

    def handle_data(self, words):
        self.words.append(words)


def a_table(task, evil=""):
    rng = np.random.default_rng(0)
    size, weight = rng.normal(size=ROWS), rng.uniform(0, 9, ROWS)
    colour = rng.integers(0, 3, ROWS)
    score = 2 * size + 0.4 * weight + colour + 0.5 * rng.normal(size=ROWS)
    table = {
        f"size{evil}": np.where(rng.random(ROWS) < 0.1, np.nan, size),
        "weight": weight,
        "colour": [f"{['red', 'green', 'blue'][c]}{evil}" for c in colour],
    }
    if task == "regression":
        table[f"price{evil}"] = score
    elif task != "clusters":
        cuts = [2.5] if task == "two-class" else [1.5, 4.0]
        table[f"price{evil}"] = [f"{'abc'[k]}{evil}" for k in np.digitize(score, cuts)]
    return table


def a_model(cells, kinds, target, task, y, classes):
    names = [name for name in cells.names if name != target]
    model = TableModel()
    model.task_, model.target_, model.classes_ = task, target, classes
    model.scale_ = TargetScale.of(y) if task == "regression" else None
    model.interval_, model.residuals_ = np.linspace(0, 2, 50), 100
    model.columns_ = {
        name: ExpectedColumn(cells.types[name], kinds[name].kind, kinds[name].examples)
        for name in names
    }
    model.encoder_ = TableEncoder().fit(cells_to_records(cells.select(names)))
    inner = tenfold.Ridge() if task == "regression" else tenfold.LogisticRegression()
    model.model_ = inner.fit(model.encode(cells), y if classes else model.scale_.forward(y))
    return model


def an_attempt(key, title, mean, others, **more):
    scores = mean + np.linspace(-0.01, 0.01, 5)
    spread = {name: value + np.zeros(5) for name, value in others.items()}
    order = {"eligible": True, "simplicity": 0} | more
    return Attempt(key, title, {"C": 0.1}, scores, spread, scores + 0.02, 1.5, **order)


def a_study(task, evil=""):
    """A finished study without its search."""
    table = a_table(task, evil)
    target = f"price{evil}"
    records = open_table(table)
    cells, kinds = records.slice(0, ROWS), infer_column_kinds(records, target)
    y, classes = table[target], None
    if task != "regression":
        labels, y = np.unique(y, return_inverse=True)
        classes = labels.tolist()
    model = a_model(cells, kinds, target, task, y, classes)
    scoring = make_scoring(task, y, classes and len(classes), None)
    said = model.predict_cells(cells)
    scores = scoring.scores(y, said)
    mean = scores[scoring.deciding]
    others = {name: scores[name] for name in scoring.names[1:]}
    attempts = [
        an_attempt("baseline", "Baseline", mean - 0.4, others),
        an_attempt("ridge" if classes is None else "logistic", f"Linear{evil}", mean, others),
        an_attempt("boosting", "Boosted trees", mean, others, eligible=False, is_reference=True),
    ]
    skipped = an_attempt("qda", "Quadratic", mean, others, note=f"no time{evil}")
    return Study(
        shown=f"things{evil}.csv",
        n_rows=ROWS,
        kinds=kinds,
        notes=[f"a note{evil}"],
        said=[f"inferred{evil}"],
        target=target,
        task=task,
        classes=classes,
        metric=scoring.deciding,
        folds=5,
        seed=0,
        n_train=ROWS,
        n_test=ROWS,
        n_choosing=ROWS,
        attempts=[*attempts, skipped],
        best=attempts[1],
        chosen=attempts[1],
        test=HoldoutEvaluation(
            y,
            said if classes is None else said.argmax(axis=1),
            None if classes is None else said,
            scores,
            {name: (value - 0.1, value + 0.1) for name, value in scores.items()},
        ),
        test_rows=cells,
        train_rows=cells,
        choosing_y=y,
        choosing_fold=None,
        warnings=[Finding("leak", "alarm", f"{target} leaks{evil}"), Finding("id", "note", "ids")],
        model=model,
        seconds=12.0,
        settings={"drop": [evil], "seed": 0, "minutes": None},
    )


def a_study_of_groups(evil=""):
    table = a_table("clusters", evil)
    records = open_table(table)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, ROWS)
    tries = [an_attempt(f"kmeans_{k}", f"{k} groups", 0.1 * k, {}) for k in (2, 3)]
    profile = [(f"size{evil}", f"higher{evil}", 2.0)]
    found = ClusterSummary(
        np.bincount(labels), labels, [profile] * 3, rng.normal(size=(ROWS, 2)), labels,
        np.array([0.5, 0.2]), ["size", "weight"],
    )  # fmt: skip
    return Study(
        shown="things", n_rows=ROWS, kinds=infer_column_kinds(records), notes=[], said=["3 groups"],
        target=None, task="clusters", classes=None, metric="silhouette", folds=5, seed=0,
        n_train=ROWS, n_test=0, n_choosing=ROWS, attempts=tries, best=tries[1], chosen=tries[1],
        test=None, test_rows=None, train_rows=records.slice(0, ROWS), choosing_y=None,
        choosing_fold=None, warnings=[], model=None, seconds=1.0, settings={}, clusters=found,
    )  # fmt: skip


TASKS = ("regression", "two-class", "multi-class", "clusters")


@pytest.fixture(scope="module", params=TASKS)
def pages(request):
    """A page of plain names and one of hostile names."""
    make = a_study_of_groups if request.param == "clusters" else a_study
    given = () if request.param == "clusters" else (request.param,)
    return request.param, render_report(make(*given)), render_report(make(*given, evil=EVIL))


def test_every_tag_is_closed_in_its_place(pages):
    for text in pages[1:]:
        assert Read(text).open == []


def test_nothing_is_asked_of_the_network(pages):
    for text in pages[1:]:
        read = Read(text)
        assert not {"link", "iframe", "object", "embed", "base", "form"} & set(read.tags)
        asked = [value for name, value in read.attributes if name in {"src", "href", "action"}]
        assert all(value.startswith("#") for value in asked)
        assert not re.search(r"https?://|url\(|@import|fetch\(|XMLHttp", text)


def test_hostile_names_stay_text(pages):
    _, plain, evil = pages
    read = Read(evil)
    assert read.tags.count("script") == 1
    assert "img" not in read.tags
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    assert "<img src=x onerror=alert(2)>" in "".join(read.words)
    assert set(read.tags) == set(Read(plain).tags)


def test_the_page_is_small_and_has_all_sections(pages):
    task, text, _ = pages
    assert len(text.encode()) < 2_000_000
    anchors = {value for name, value in Read(text).attributes if name == "id"}
    links = {value[1:] for name, value in Read(text).attributes if name == "href"}
    assert links <= anchors
    wanted = {"data", "usage", "models", "provenance"}
    if task == "clusters":
        assert wanted | {"clusters"} == links
    else:
        rest = {"warnings", "leaderboard", "test", "learning-curve", "importance", "errors"}
        assert wanted | rest == links


def test_figures_have_the_names_that_people_know(pages):
    task, text, _ = pages
    titles = set(re.findall("<h[234]>([^<]*)</h", text))
    classes = {"Confusion matrix", "ROC curve", "Precision and recall", "Calibration"}
    known = {
        "regression": {"Residuals", "Predicted and true values", "Coverage of intervals"},
        "two-class": classes,
        "multi-class": classes,
        "clusters": {"Principal components", "Number of clusters"},
    }[task]
    if task != "clusters":
        known |= {"Learning curve", "Feature importance", "Partial dependence", "Leaderboard"}
    assert known <= titles


def test_no_rounding_error_and_no_course_code_is_shown(pages):
    words = " ".join(Read(pages[1]).words)
    tips = " ".join(value for name, value in Read(pages[1]).attributes if name == "data-tip")
    body = words.split("addEventListener")[-1] + tips
    assert not re.search(r"\de[−-]\d\d", body)
    assert not re.search(r"Syllabus|§|\b[LGKNC]\d\d\b", body)


def test_pictures_hold_numbers_only(pages):
    for name, value in Read(pages[1]).attributes:
        if name == "d":
            assert not re.search("nan|inf", value)
            assert re.fullmatch(r"[MLHVCQZhv0-9. -]*", value)
        assert not (name in {"x", "y", "cx", "cy", "width", "height"} and "nan" in value)


def told_of(task, evil=""):
    """What `tenfold explain` knows with a table, without one, and about one row."""
    study = a_study(task, evil)
    model = study.model
    model.title_, model.created_, model.scores_ = f"Linear{evil}", "2026-01-02T03", {"test": {}}
    rows = study.test_rows
    found, row = explain(model, rows), explain_row(model, rows[:1])
    weights = linear_weights(model)
    shown = f"things{evil}.csv"
    return model, [
        ModelExplanation(shown, found),
        ModelExplanation(weights=weights),
        ModelExplanation(shown, row=(7, row)),
    ]


@pytest.mark.parametrize("task", TASKS[:3])
def test_the_page_of_an_explanation_is_whole_and_safe(task):
    model, several = told_of(task)
    bad_model, bad = told_of(task, EVIL)
    for told, evil in zip(several, bad, strict=True):
        plain, read = (
            Read(render_explanation(model, told)),
            Read(render_explanation(bad_model, evil)),
        )
        assert plain.open == read.open == []
        assert set(read.tags) == set(plain.tags)
        assert read.tags.count("script") == 1
        assert not [name for name, _ in read.attributes if name.startswith("on")]
        asked = [value for name, value in read.attributes if name in {"src", "href"}]
        assert all(value.startswith("#") for value in asked)


def test_an_explanation_speaks_of_rows_that_it_does_not_know():
    model, [told, alone, row] = told_of("regression")
    words = "".join(Read(render_explanation(model, told)).words)
    assert "held out" not in words
    assert "test row" not in words
    assert "Feature importance" in words
    words = "".join(Read(render_explanation(model, alone)).words)
    assert "size, " in words
    assert "weight" in words
    assert "Change of the prediction" in words
    assert f"Row 7: price is {format_value(row.row[1].predicted)}." in "".join(
        Read(render_explanation(model, row)).words
    )


def test_classes_that_are_told_without_a_mistake_have_no_hardest():
    y = np.arange(9) % 3
    test = HoldoutEvaluation(y, y, np.eye(3)[y], {}, {})
    assert "ranked without an error" in captions_of(test)
    flawed = np.eye(3)[np.r_[1, y[1:]]]
    test = HoldoutEvaluation(y, flawed.argmax(axis=1), flawed, {}, {})
    assert "is the hardest to separate" in captions_of(test)


def captions_of(test):
    return " ".join(figure.caption for figure in classification_figures(test, ["a", "b", "c"]))


def test_the_headline_and_the_lead_compare_with_baseline_and_reference():
    study = a_study("two-class")
    right = np.mean(study.test.y == study.test.predicted)
    assert str(headline(study)) == (
        f"It predicts price correctly for {format_percent(right)} of test rows."
    )
    assert "Always predicting" in str(lead(study))
    assert "score about the same" in str(lead(study))
    study.attempts[2].scores += 0.2
    assert "score higher" in str(lead(study))
    study.chosen = study.attempts[0]
    assert "no reliable signal" in str(headline(study))


def test_the_headline_of_a_regression_speaks_of_variance():
    study = a_study("regression")
    assert "of the variance of price" in str(headline(study))
    assert "predicting the mean gives" in str(lead(study))
    study.test.scores["r2"] = 0.01
    assert "no better than the baseline" in str(headline(study))
    study.attempts[0].scores[:] = 0.0
    assert "almost nothing" in str(headline(study))


def test_write_replaces_the_page_at_once_or_not_at_all(tmp_path, monkeypatch):
    study, path = a_study_of_groups(), tmp_path / "new" / "report.html"
    assert write_report(study, path) == path
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_report(study, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_every_candidate_has_a_model_card():
    for candidate in CANDIDATES:
        assert find_model_card(candidate.key) is MODEL_CARDS[candidate.key]
    assert find_model_card("kmeans_4") is MODEL_CARDS["kmeans"]
    assert find_model_card("unheard of") is None


@pytest.mark.parametrize("key", MODEL_CARDS)
def test_formulas_are_set_in_the_colour_of_the_text(key):
    drawn = render_formula(MODEL_CARDS[key].formula)
    assert Read(drawn).open == []
    assert 'fill="currentColor"' in drawn
    width = float(re.search(r' width="([0-9.]+)"', drawn)[1])
    assert 60 < width < 480


@given(st.text(), st.text())
def test_text_is_escaped_wherever_it_stands(words, value):
    read = Read(element("text", words, data_tip=value))
    assert read.tags == ["text"]
    assert read.open == []
    assert Read(element("g", element("circle"), words)).tags == ["g", "circle"]


@given(
    st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(1, 10)
)  # spans that a picture can have
def test_ticks_are_round_few_and_within(low, span, about):
    ticks = round_ticks(low, low + span, about)
    assert len(ticks) <= about + 2
    assert all(low - 1e-6 * span <= tick <= low + span * (1 + 1e-6) for tick in ticks)
    assert ticks == sorted(set(ticks))


def test_log_scale_puts_equal_ratios_at_equal_distances():
    scale = Scale(10, 1000, 0, 200, log=True)
    assert scale([10, 100, 1000]).tolist() == [0, 100, 200]
    assert log_ticks(10, 1000) == [10, 20, 50, 100, 200, 500, 1000]


def test_numbers_as_people_read_them():
    assert [format_value(v) for v in (0, 1987, 12345.6, -0.00012, 1e-9, True, "a")] == [
        "0", "1987", "12,346", "−0.00012", "1.00e−09", "yes", "a",
    ]  # fmt: skip
    assert format_fixed(-0.0001) == "0.000"
    assert format_percent(1.0) == "100\N{NO-BREAK SPACE}%"
    assert [format_duration(t) for t in (0.004, 2.34, 30, 600)] == [
        "4 ms",
        "2.3 s",
        "30 s",
        "10.0 min",
    ]


# ------------------------------------------------------------------------- values at the edge


@pytest.mark.parametrize("section", ["data", "leaderboard", "test", "usage", "models"])
def test_a_section_that_fails_is_left_out_with_a_sentence(section, monkeypatch):
    study = a_study("two-class")
    where = {
        "data": (dataset, "column_rows"),
        "leaderboard": (leaderboard, "leaderboard_rows"),
        "test": (evaluation, "score_rows"),
        "usage": (pages_module, "split_tokens"),
        "models": (model_cards, "shown_cards"),
    }

    def fail(*_):
        raise OverflowError("cannot convert <b>infinity</b>")

    monkeypatch.setattr(*where[section], fail)
    if section == "usage":
        monkeypatch.setitem(pages_module._environment().filters, "tokens", fail)
    with pytest.warns(UserWarning, match="leaves out the section"):
        page = render_report(study)
    assert page.count("left out") == 1
    assert "<b>infinity" not in page
    assert 'id="provenance"' in page


def test_a_header_or_an_explanation_that_fails_is_left_out(monkeypatch):
    def fail(*_):
        raise OverflowError("too large")

    monkeypatch.setattr(summary, "headline", fail)
    with pytest.warns(UserWarning, match="leaves out the header"):
        page = render_report(a_study("regression"))
    assert 'id="leaderboard"' in page
    monkeypatch.undo()
    monkeypatch.setattr(pages_module, "explain_study", fail)
    with pytest.warns(UserWarning, match="explanation of the model"):
        page = render_report(a_study("regression"))
    assert 'id="leaderboard"' in page
    assert 'id="importance"' not in page


@pytest.mark.parametrize(
    "values",
    [
        1e16 + np.arange(60.0),
        1e-309 * np.arange(60),
        np.array([-1e150, 1e150] * 30),
        np.full(60, 3.0),
        np.array([1e150, 1e-150] * 30),
    ],
)
def test_any_finite_numbers_are_counted_and_drawn(values):
    counts, edges = count_bins(values, 40)
    assert counts.sum() == 60
    assert len(edges) == len(counts) + 1
    chart = Chart(pad_limits(values, 0.0), (0, 60)).axes("x", "y")
    chart.histogram(counts, edges, "bar", [""] * len(counts))
    assert "nan" not in chart.render("x")
    assert "inf" not in chart.render("x")


def test_ticks_of_small_ranges_differ():
    assert round_ticks(1e-15, 5e-15, 4) == [1e-15, 2e-15, 3e-15, 4e-15, 5e-15]
    assert len(Scale(0.0, 5e-309, 0, 100).ticks()) == 2


def test_a_study_of_groups_says_how_many_components_keep_the_variance():
    study = a_study_of_groups()
    assert "Retained variance" not in render_report(study)  # two components show everything
    study.clusters.variance = np.array([0.5, 0.25, 0.15, 0.06, 0.04])
    text = render_report(study)
    assert "Retained variance" in text
    assert re.search(r"50\s%\sby\s1,\s80\s%\sby\s3,\s95\s%\sby\s4", text)
    figure = text[text.index("Retained variance") :].split("</svg>")[0]
    assert re.findall(r'class="tick mid">(\d+)<', figure) == list("12345")
