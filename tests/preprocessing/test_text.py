"""Words of documents against scikit-learn's vectorisers, and the formulas of the notes."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import MultinomialNB as TheirNB
from sklearn.pipeline import make_pipeline

from tenfold import MultinomialNB
from tenfold.preprocessing.text.tfidf import TfIdf
from tenfold.preprocessing.text.tokens import tokenize
from tenfold.preprocessing.text.word_counts import WordCounts

TEXTS = [
    "The quick brown fox; the lazy dog's bone.",
    "",
    "Ünïcode Straße İstanbul naïve café — 42 km/h, a b c",
    "under_score 007 x-ray e-mail: me@example.org\n\ttabs\x0cfeed\x1c\x85 end",
    "The THE the dog dog, fox!",
    "中文 文字 and 日本語 ½ x² \U0001d504bc",
]
DEFAULT = re.compile(r"(?u)\b\w\w+\b")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.booleans())
def test_words_are_those_of_the_default_pattern(text, lowercase):
    theirs = DEFAULT.findall(text.lower() if lowercase else text)
    ours = [word.decode() for word in tokenize(text, lowercase=lowercase)]
    assert [word for word in ours if len(word) > 1] == theirs


def test_every_ascii_character_is_treated_as_the_pattern_does():
    text = "".join(f"aa{chr(code)}bb " for code in range(128))
    assert [w.decode() for w in tokenize(text) if len(w) > 1] == DEFAULT.findall(text.lower())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lowercase": False},
        {"stop_words": "english"},
        {"stop_words": ["fox", "the"]},
        {"min_df": 2},
        {"max_df": 1},
        {"min_df": 0.3, "max_df": 0.6},
        {"max_features": 2},
        {"vocabulary": ["fox", "unseen", "the"]},
        {"vocabulary": {"the": 1, "dog": 0}},
    ],
)
def test_counts_are_scikit_learns(options):
    ours, theirs = WordCounts(**options), CountVectorizer(**options)
    X, Y = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
    assert_array_equal(X.toarray(), Y.toarray())
    assert ours.vocabulary_ == theirs.vocabulary_
    assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    new = ["a fox and a bird", "", "the the Dog"]
    assert_array_equal(ours.transform(new).toarray(), theirs.transform(new).toarray())
    assert_array_equal(WordCounts(**options).fit(TEXTS).transform(TEXTS).toarray(), X.toarray())
    assert X.has_sorted_indices
    assert X.dtype == np.float64


def split_at_blanks(text):
    return text.split()


def remove_digits(text):
    return re.sub(r"\d", "", text)


@pytest.mark.parametrize(
    "options",
    [
        {"token_pattern": r"\w+|[^\w\s]"},
        {"token_pattern": r"(?u)\b\w+\b", "stop_words": ["the", "a"], "ngram_range": (1, 2)},
        {"token_pattern": r"(\w)\w+"},
        {"tokenizer": split_at_blanks, "token_pattern": None, "lowercase": False},
        {"preprocessor": remove_digits, "stop_words": "english"},
        {"strip_accents": "unicode"},
        {"analyzer": "char", "ngram_range": (2, 3), "min_df": 2},
        {"analyzer": "char_wb", "max_features": 20},
        {"analyzer": split_at_blanks},
    ],
)
@pytest.mark.filterwarnings("ignore:The parameter 'token_pattern':UserWarning")
def test_patterns_tokenizers_and_stop_words_are_scikit_learns(options):
    for ours, theirs in [
        (WordCounts(**options), CountVectorizer(**options)),
        (TfIdf(**options), TfidfVectorizer(**options)),
    ]:
        X, Y = ours.fit_transform(TEXTS), theirs.fit_transform(TEXTS)
        if "max_features" not in options:  # which breaks ties in another order
            assert ours.vocabulary_ == theirs.vocabulary_
            assert_allclose(X.toarray(), Y.toarray())
            new = ["a fox and a bird!", "", "the the Dog"]
            assert_allclose(ours.transform(new).toarray(), theirs.transform(new).toarray())
        assert_allclose(type(ours)(**options).fit(TEXTS).transform(TEXTS).toarray(), X.toarray())
        assert X.shape == Y.shape


def test_presence_and_frequency():  # [003: one-hot, presence, frequency]
    counts = WordCounts().fit_transform(TEXTS).toarray()
    presence = WordCounts("presence").fit_transform(TEXTS).toarray()
    frequency = WordCounts("frequency").fit_transform(TEXTS).toarray()
    assert_array_equal(presence, counts > 0)
    total = counts.sum(axis=1, keepdims=True)
    assert_allclose(frequency, counts / np.where(total > 0, total, 1))
    assert_array_equal(frequency[1], 0)  # an empty document


def test_both_forms_of_tf_idf():  # [001, 2.8]: (167), and what its table shows
    counts = WordCounts().fit_transform(TEXTS).toarray()
    within = (counts > 0).sum(axis=0)
    assert_allclose(TfIdf("ratio").fit_transform(TEXTS).toarray(), counts / within)
    smooth = counts * (np.log((1 + len(TEXTS)) / (1 + within)) + 1)
    assert_allclose(TfIdf(norm=None).fit_transform(TEXTS).toarray(), smooth)
    for norm in ("l2", "l1"):
        theirs = TfidfVectorizer(norm=norm).fit(TEXTS)
        ours = TfIdf(norm=norm).fit(TEXTS)
        assert_allclose(ours.transform(TEXTS).toarray(), theirs.transform(TEXTS).toarray())
        assert_allclose(ours.idf_, theirs.idf_)
    common, rare = ours.vocabulary_["the"], ours.vocabulary_["lazy"]
    assert ours.idf_[common] < ours.idf_[rare]


def corpus(n=9000):
    rng = np.random.default_rng(0)
    words = np.array([f"w{j}" for j in range(400)])
    for _ in range(n):
        yield " ".join(words[rng.zipf(1.5, 12) % 400])


def test_a_corpus_that_is_never_held_together():
    model = WordCounts(min_df=3).fit(corpus())  # a generator: read once
    theirs = CountVectorizer(min_df=3).fit(corpus())
    assert model.vocabulary_ == theirs.vocabulary_
    chunks = list(model.transform_chunks(corpus(), size=1000))
    assert [chunk.shape[0] for chunk in chunks] == [1000] * 9
    rows = np.vstack([chunk.toarray() for chunk in chunks])
    assert_array_equal(rows, theirs.transform(corpus()).toarray())


@pytest.mark.parametrize("cut", [1, 2, 4])
def test_parts_make_the_whole(cut):
    first, second = TEXTS[:cut], [*TEXTS[cut:], "the dog"]
    whole = TfIdf().fit(first + second)
    merged = TfIdf().fit(first).merge(TfIdf().fit(second))
    grown = TfIdf().partial_fit(first).partial_fit(second)
    for model in (merged, grown):
        assert model.vocabulary_ == whole.vocabulary_
        assert model.documents_ == len(TEXTS) + 1
        assert_allclose(model.idf_, whole.idf_)
        assert_array_equal(model.document_frequency_, whole.document_frequency_)
    rare = TfIdf(min_df=2).partial_fit(TEXTS[:1] + TEXTS[4:5]).partial_fit(second)
    assert "dog" in rare.vocabulary_
    assert "bone" not in rare.vocabulary_  # columns are chosen anew from all counts


def test_from_raw_text_to_classes():
    likes = ["good fun good", "fun film", "a good film", "bad film", "bad bad acting", "no fun"]
    y = [1, 1, 1, 0, 0, 0]
    ours = make_pipeline(WordCounts(), MultinomialNB()).fit(likes, y)
    theirs = make_pipeline(CountVectorizer(), TheirNB()).fit(likes, y)
    new = ["good acting", "unheard-of words", "bad fun"]
    assert_allclose(ours.predict_proba(new), theirs.predict_proba(new))
    assert_array_equal(ours.predict(["film good", "good film"])[0], ours.predict(["good film"])[0])


def test_problems_are_named():
    with pytest.raises(ValueError, match="empty vocabulary"):
        WordCounts(stop_words="english").fit(["the and of", ""])
    with pytest.raises(ValueError, match="no terms remain"):
        WordCounts(min_df=2).fit(["one two", "three"])
    with pytest.raises(ValueError, match="max_df corresponds to < documents than min_df"):
        WordCounts(min_df=2, max_df=1).fit(["one two", "three"])
    with pytest.raises(ValueError, match="string object received"):
        WordCounts().fit("a document")
    with pytest.raises(ValueError, match="each for one word"):
        WordCounts(vocabulary={"a": 0, "b": 2}).fit(["a b"])
    with pytest.raises(TypeError, match="a document is text, not ndarray: give a list of strings"):
        TfIdf().fit(np.eye(2))
    with pytest.raises(TypeError, match="a document is text, not float"):
        WordCounts().fit(["a b", np.nan])


def test_counts_of_given_words_need_no_fit():
    model = WordCounts(vocabulary=["cat", "dog"])
    documents = ["a dog and a dog", "cat"]
    assert model.transform(documents).toarray().tolist() == [[0, 2], [1, 0]]
    assert model.get_feature_names_out().tolist() == ["cat", "dog"]
    fitted = WordCounts(vocabulary=["cat", "dog"]).fit(documents).transform(documents)
    assert (fitted != model.transform(documents)).nnz == 0
    weighted = WordCounts(vocabulary=["cat", "dog"], word_weights={"dog": 3.0})
    assert weighted.transform(documents).toarray().tolist() == [[0, 6], [1, 0]]
    for unfitted in (TfIdf(vocabulary=["cat"]), WordCounts()):  # these learn from documents
        with pytest.raises(NotFittedError):
            unfitted.transform(documents)
