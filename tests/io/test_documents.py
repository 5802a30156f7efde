"""Runs of words, weights of words, columns of text in files, and bags of words that are saved."""

import copy
import csv
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import feather, parquet
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import mutual_info_classif
from sklearn.pipeline import make_pipeline

import tenfold
from tenfold import (
    BernoulliNB,
    Documents,
    MultinomialNB,
    SphericalKMeans,
    TfIdf,
    WordCounts,
    datasets,
    word_weights,
)

TEXTS = [
    "The quick brown fox; the lazy dog's bone.",
    "",
    "Ünïcode Straße naïve café — 42 km/h, a b c",
    "The THE the dog dog, fox! It is not a good dog",
    "not good, not bad: 中文 文字 and 日 本語",
    "one",
]


# ------------------------------------------------------------------------------- runs of words


@pytest.mark.parametrize("ngram_range", [(1, 2), (2, 2), (1, 3), (3, 3)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stop_words": "english"},
        {"stop_words": ["the", "not"], "lowercase": False},
        {"min_df": 2},
    ],
)
def test_runs_are_scikit_learns(ngram_range, options):
    if ngram_range == (3, 3) and "min_df" in options:
        pytest.skip("no three words are in two documents")
    ours = WordCounts(ngram_range=ngram_range, **options)
    theirs = CountVectorizer(ngram_range=ngram_range, **options)
    X, Y = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
    assert_array_equal(X.toarray(), Y.toarray())
    assert ours.vocabulary_ == theirs.vocabulary_
    new = ["the quick brown dog is not good", "", "lazy dog's"]
    assert_array_equal(ours.transform(new).toarray(), theirs.transform(new).toarray())
    weighed = TfIdf(ngram_range=ngram_range, **options).fit_transform(TEXTS)
    expected = TfidfVectorizer(ngram_range=ngram_range, **options).fit_transform(TEXTS)
    assert_allclose(weighed.toarray(), expected.toarray(), atol=1e-12)


def test_pairs_tell_what_words_cannot():  # [002, 5.2]: bags forget the order of words
    texts, liked = ["not bad", "good film", "not good", "bad film"], [1, 1, 0, 0]
    odds = {}
    for n in (1, 2):
        model = make_pipeline(WordCounts(ngram_range=(1, n)), MultinomialNB()).fit(texts, liked)
        odds[n] = model.predict_proba(["not bad", "not good"])[:, 1]
    assert_allclose(odds[1], 0.5)
    assert odds[2][0] > 0.5 > odds[2][1]


def test_ranges_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"ngram_range=\(2, 1\) is not a range"):
        WordCounts(ngram_range=(2, 1)).fit(TEXTS)


# ------------------------------------------------------------------------------ weights of words


def test_words_weigh_what_they_are_said_to_weigh():  # [003, 14.5]
    plain = WordCounts().fit(TEXTS)
    dog, fox = plain.vocabulary_["dog"], plain.vocabulary_["fox"]
    given = {"dog": 3.0, "fox": 0.0, "zebra": 9.0}  # nobody speaks of zebras
    expected = plain.transform(TEXTS).toarray()
    expected[:, dog] *= 3
    expected[:, fox] = 0
    assert_allclose(WordCounts(word_weights=given).fit_transform(TEXTS).toarray(), expected)
    columns = np.ones(len(plain.vocabulary_))
    columns[[dog, fox]] = 3.0, 0.0
    by_column = WordCounts(word_weights=columns).fit(TEXTS)
    assert_allclose(by_column.transform(TEXTS).toarray(), expected)
    idf = TfIdf(norm=None).fit(TEXTS).idf_
    rows = expected * idf
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    weighed = TfIdf(word_weights=given).fit_transform(TEXTS).toarray()
    assert_allclose(weighed, rows / np.where(lengths > 0, lengths, 1))  # scaled after weighing
    with pytest.raises(ValueError, match=r"\(2,\) word weights for"):
        WordCounts(word_weights=[1.0, 2.0]).fit_transform(TEXTS)
    with pytest.raises(ValueError, match="not negative"):
        WordCounts(word_weights={"dog": -1.0}).fit_transform(TEXTS)


def rated(n=2000, seed=0):
    """Presence of five words: of no, little and much use for telling three classes apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    shares = np.array(
        [[0.5, 0.1, 0.1, 0.02, 0.9], [0.5, 0.2, 0.8, 0.0, 0.9], [0.5, 0.3, 0.1, 0.0, 0.9]]
    )
    return (rng.random((n, 5)) < shares[y]).astype(float), y


def test_information_is_that_of_presence_and_class():
    X, y = rated()
    ours = word_weights(BernoulliNB(alpha=0).fit(X, y))
    assert_allclose(ours, mutual_info_classif(X, y, discrete_features=True), atol=1e-12)
    assert ours.argmax() == 2
    parts = BernoulliNB(alpha=0).partial_fit(X[:700], y[:700], classes=[0, 1, 2])
    assert_allclose(word_weights(parts.partial_fit(X[700:], y[700:])), ours)


def test_concentration_favours_words_of_one_class():
    X, y = rated(20_000)
    found = word_weights(BernoulliNB(alpha=0).fit(X, y), "concentration")
    assert found[3] == 1.0  # rare, and in one class alone
    assert found[[0, 4]].max() < 0.01
    assert found.argsort().tolist()[2:] == [1, 2, 3]
    with pytest.raises(TypeError, match="fit a BernoulliNB"):
        word_weights(MultinomialNB().fit(X, y))
    with pytest.raises(ValueError, match="by='size'"):
        word_weights(BernoulliNB().fit(X, y), "size")


def test_weights_decide_what_clusters_are_about():  # [003, 14.5]: indirect supervision
    rng = np.random.default_rng(0)
    tone, topic = rng.integers(2, size=(2, 200))
    words = [["awful", "grand"], ["cat tail fur paw", "car wheel road gear"]]
    texts = [f"{words[0][t]} {words[1][s]}" for t, s in zip(tone, topic, strict=True)]

    def found(**options):
        labels = (
            SphericalKMeans(2, random_state=0).fit(TfIdf(**options).fit_transform(texts)).labels_
        )
        return [max(np.mean(labels == of), np.mean(labels != of)) for of in (tone, topic)]

    assert found()[1] == 1.0
    few = slice(0, 20)  # labels of some documents say what matters
    counts = WordCounts("presence").fit(texts)
    tells = word_weights(BernoulliNB().fit(counts.transform(texts[few]), tone[few]))
    weights = dict(zip(counts.get_feature_names_out(), tells, strict=True))
    assert found(word_weights=weights)[0] == 1.0


# ------------------------------------------------------------------------------- columns of files


@pytest.fixture(params=["csv", "tsv", "csv.gz", "parquet", "arrow"])
def column(request, tmp_path):
    """Texts in two files of a kind, with other columns beside them."""
    texts = [*TEXTS[:2], 'with "quotes", commas\nand lines\tand tabs', *TEXTS[2:]]
    for number, part in enumerate((texts[:4], texts[4:])):
        size = range(len(part))
        table = pl.DataFrame({"id": size, "text": part, "note": ["n"] * len(part)})
        path = tmp_path / f"part-{number}.{request.param}"
        if request.param == "parquet":
            parquet.write_table(table.to_arrow(), path, row_group_size=2)
        elif request.param == "arrow":
            feather.write_feather(table.to_arrow(), path, chunksize=2)
        else:
            lines = table.write_csv(separator="\t" if request.param == "tsv" else ",").encode()
            with pa.output_stream(path, compression="detect") as stream:
                stream.write(lines)
    return tmp_path, texts


def test_documents_of_files(column):
    folder, texts = column
    documents = Documents(folder, "text")
    assert list(documents) == texts
    assert list(documents) == texts  # as often as one likes
    assert list(Documents(folder, "id"))[:3] == ["0", "1", "2"]
    ours = TfIdf().fit(documents)
    assert ours.vocabulary_ == TfIdf().fit(texts).vocabulary_
    assert_array_equal(ours.transform(documents).toarray(), ours.transform(texts).toarray())
    with pytest.raises(ValueError, match=r"no column 'body'; it has .*text"):
        Documents(folder, "body")


def test_missing_documents_are_empty(tmp_path):
    parquet.write_table(pa.table({"text": ["a dog", None, "dog"]}), tmp_path / "some.parquet")
    documents = Documents(tmp_path / "some.parquet", "text")
    assert list(documents) == ["a dog", "", "dog"]
    assert WordCounts().fit(documents).documents_ == 3


def test_learning_from_files_some_documents_at_a_time(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{j}" for j in rng.zipf(1.6, 12) % 300) for _ in range(3000)]
    y = rng.integers(2, size=3000)
    parquet.write_table(pa.table({"text": texts, "y": y}), tmp_path / "news.parquet")
    documents = Documents(tmp_path / "news.parquet", "text")
    counter, model = WordCounts().fit(documents), MultinomialNB()
    first = 0
    for X in counter.transform_chunks(documents, size=700):
        model.partial_fit(X, y[first : first + X.shape[0]], classes=[0, 1])
        first += X.shape[0]
    whole = make_pipeline(WordCounts(), MultinomialNB()).fit(texts, y)
    assert_allclose(model.feature_log_prob_, whole[-1].feature_log_prob_)


def test_numbers_have_no_text(tmp_path):
    np.save(tmp_path / "numbers.npy", np.eye(3))
    with pytest.raises(ValueError, match="no columns of text"):
        Documents(tmp_path / "numbers.npy", "text")


# ---------------------------------------------------------------------------------------- saving


@pytest.mark.parametrize("family", [WordCounts, TfIdf])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ngram_range": (1, 2), "stop_words": {"the", "not"}, "min_df": 2},
        {"word_weights": {"dog": 2.0}, "dtype": np.float32, "vocabulary": ["dog", "fox", "naïve"]},
    ],
)
def test_bags_are_saved_and_go_on_learning(family, options, tmp_path):
    model = family(**options).fit(TEXTS)
    path = tmp_path / "words.tenfold"
    tenfold.save(model, path)
    more = ["the dog is not a fox", "naïve zebra"]
    expected = family(**options).fit(TEXTS + more)
    for again in (tenfold.load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.vocabulary_ == model.vocabulary_
        assert_array_equal(again.transform(TEXTS).toarray(), model.transform(TEXTS).toarray())
        again.partial_fit(more)
        assert again.vocabulary_ == expected.vocabulary_
        assert_array_equal(again.transform(more).toarray(), expected.transform(more).toarray())


def test_a_pipeline_from_raw_text_is_saved(tmp_path):
    y = [0, 1, 1, 0, 1, 0]
    pipe = make_pipeline(TfIdf(ngram_range=(1, 2)), MultinomialNB()).fit(TEXTS, y)
    tenfold.save(pipe, tmp_path / "pipe.tenfold")
    again = tenfold.load(tmp_path / "pipe.tenfold")
    assert_array_equal(again.predict_proba(TEXTS), pipe.predict_proba(TEXTS))


# ------------------------------------------------------------------------ [001, 2.8], figure 25

TABLE = """
ago 1 .115122 back 3 .288116 board 1 .138195 cause 1 .125130 either 1 .108417 failure 1 .170555
hearing 1 .170555 hit 2 .261832 iicx 1 .217706 immediately 1 .155037 keyboard 1 .160377
know 1 .075488 logic 1 .158818 long 2 .203652 machine 2 .266555 mentioned 1 .135408
minutes 1 .145699 plug 1 .171330 power 1 .111667 problem 2 .203382 remember 1 .119059
sometimes 1 .135854 source 1 .127372 switch 2 .321834 time 2 .164800 true 1 .114800
turn 2 .269503 unplug 1 .233554 way 1 .089654 work 2 .197874
"""
data = Path(os.environ.get("TENFOLD_DATA", ""), "20newsgroups")
needs_news = pytest.mark.skipif(
    "TENFOLD_DATA" not in os.environ or not data.is_dir(), reason="needs 20 Newsgroups"
)


def test_the_values_of_the_table_are_a_row_of_length_one():  # smoothed, not by (167)
    values = np.array(TABLE.split()[2::3], float)
    assert_allclose((values**2).sum(), 1, atol=2e-6)
    words = [TEXTS[0], TEXTS[3], TEXTS[4]]
    smooth, ratio = (TfIdf(form).fit_transform(words) for form in ("smooth", "ratio"))
    assert_allclose(np.square(smooth.toarray()).sum(axis=1), 1)
    assert (np.abs(np.square(ratio.toarray()).sum(axis=1) - 1) > 0.01).all()


@needs_news
def test_the_table_of_the_notes():
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    texts = [re.sub(r"\d+", "", text) for text in news.data]
    assert len(texts) == 5616
    (message,) = (text for text in texts if "IIcx to not turn on" in text)
    words, counts, values = TABLE.split()[::3], TABLE.split()[1::3], TABLE.split()[2::3]
    counted = WordCounts(vocabulary=words).fit(texts).transform([message]).toarray()[0]
    assert_array_equal(counted, np.array(counts, float))
    weighed = TfIdf(vocabulary=words).fit(texts).transform([message]).toarray()[0]
    assert_allclose(weighed, np.array(values, float), atol=6e-7)  # to the last printed digit


def test_documents_longer_than_a_block_of_the_reader_arrive_whole_and_once(tmp_path):
    documents = [f"short {n}" for n in range(300_000)]
    documents[5], documents[280_000] = "a" * 3_000_000, 'b, "b"\n' * 1_500_000
    file = tmp_path / "long.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([["text"], *([document] for document in documents)])
    assert list(Documents(file, "text")) == documents


def test_a_table_is_no_file():
    with pytest.raises(TypeError, match=r"give its column, table\['text'\]"):
        Documents(pd.DataFrame({"text": ["a b"]}), "text")
