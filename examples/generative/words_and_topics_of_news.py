"""
Words of the news: counts, tf-idf, weights, entropy
===================================================

Messages of ten newsgroups as bags of words. Two ways to weigh words and two classifiers on each,
with their coefficients, entropies and confusions; which words speak for which group; pairs of
words; words weighed by what they tell; and a corpus that stays in its files. Groups found without
labels are on the page about clusters of texts.
"""

# %%
# **The messages.** Headers, footers and quotes are cut off as in the notes, and so are digits. The
# vocabulary is that of the training part alone: words that come up later are ignored.
import os
import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tenfold import (
    BernoulliNB,
    Documents,
    LogisticRegression,
    MultinomialNB,
    TfIdf,
    WordCounts,
    datasets,
    feature_contributions,
    plot,
    top_weights,
    word_weights,
)
from tenfold.plot.style import TEXT_COLOR, palette_color, style_axes

in_course = "TENFOLD_DATA" in os.environ
if in_course:
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    messages, label, groups = news.data, news.target, news.target_names
    messages = [re.sub(r"\d+", "", text) for text in messages]
else:
    print("Without TENFOLD_DATA: 2,000 made-up messages of ten groups, 3,000 words.")
    rng = np.random.default_rng(0)
    groups = [f"group {j}" for j in range(10)]
    common, label = rng.dirichlet(np.full(3000, 0.1)), rng.integers(10, size=2000)
    own = [0.85 * common + 0.15 * rng.dirichlet(np.full(3000, 0.02)) for _ in groups]
    messages = [" ".join(f"word{j}" for j in rng.choice(3000, 60, p=own[k])) for k in label]
order = np.random.default_rng(1).permutation(len(messages))
size = int(0.8 * len(messages))
train, test = ([messages[i] for i in part] for part in (order[:size], order[size:]))
y, y_test = label[order[:size]], label[order[size:]]
everything = WordCounts(stop_words="english").fit(messages)
print(f"{len(messages)} messages, {len(everything.vocabulary_)} words (45534 in the notes)")

# %%
# **Two ways to weigh.** Counts favour words that are everywhere; tf-idf words that are in few
# messages. Formula (167) of the notes divides by the number of messages with the word; their table
# was made by the smoothed logarithm with rows of length one. Here is that table, of the message
# about a Macintosh IIcx that does not turn on, with the words that the notes kept of it.
kept = re.findall(
    r"\w+",
    "ago back board cause either failure hearing hit iicx immediately keyboard know logic long "
    "machine mentioned minutes plug power problem remember sometimes source switch time true turn "
    "unplug way work",
)
printed = {"ago": 0.115122, "back": 0.288116, "know": 0.075488, "switch": 0.321834}
printed |= {"time": 0.164800, "unplug": 0.233554}
about_mac = [text for text in messages if "IIcx to not turn on" in text]
if about_mac:
    kinds = [WordCounts(vocabulary=kept), TfIdf(vocabulary=kept), TfIdf("ratio", vocabulary=kept)]
    rows = [kind.fit(messages).transform(about_mac).toarray()[0] for kind in kinds]
    within = dict(zip(kept, kinds[0].document_frequency_, strict=True))
    print(f"{'word':>8} {'messages':>9} {'count':>6} {'ratio':>7} {'tf-idf':>9}   in the notes")
    for word, value in printed.items():
        count, smooth, ratio = (row[kept.index(word)] for row in rows)
        print(
            f"{word:>8} {within[word]:>9} {count:>6.0f} {ratio:>7.4f} {smooth:>9.6f}   {value:.6f}"
        )

# %%
# **Two classifiers on each.** The notes conclude that softmax regression is the better one, and
# print no accuracy; the notebook of 001 has 0.774 for softmax regression on counts and 0.485 to
# 0.683 for its naive Bayes, which overflowed and smoothed heavily. With log-sums and plain
# smoothing it is the other way round.
kinds = {
    "counts": WordCounts(stop_words="english", min_df=4),
    "tf-idf": TfIdf(stop_words="english", min_df=4),
}
models, bags_test = {}, {}
print(f"{'':>10} {'naive Bayes':>12} {'softmax':>9}")
for name, kind in kinds.items():
    bag, bags_test[name] = kind.fit_transform(train), kind.transform(test)
    models["naive Bayes", name] = MultinomialNB(alpha=0.1).fit(bag, y)
    models["softmax", name] = LogisticRegression(tol=1e-3).fit(bag, y)
    scores = [
        models[who, name].score(bags_test[name], y_test) for who in ("naive Bayes", "softmax")
    ]
    print(f"{name:>10} {scores[0]:>12.3f} {scores[1]:>9.3f}")
words = kinds["counts"].get_feature_names_out()

# %%
# **Coefficients.** Those of two groups over all words, in the order of the alphabet. The notes say
# that counts make them spread more than tf-idf, which tames words. With the same penalty it is the
# other way round: entries of rows of length one are small, so their coefficients are large.
shown = [0, 3]  # graphics and motorcycles
figure, panels = plt.subplots(
    2, 2, figsize=(10, 5), sharex=True, sharey="col", layout="constrained"
)
for column, name in enumerate(kinds):
    for ax, group in zip(panels[:, column], shown, strict=True):
        w = models["softmax", name].coef_[group]
        ax.plot(w, color=palette_color(column), lw=0.5)
        top = np.argsort(-np.abs(w))[:3]
        for j in top:
            ax.annotate(
                words[j], (j, w[j]), (4, 0), textcoords="offset points", size=8, color=TEXT_COLOR
            )
        ax.set_title(f"{groups[group]}, {name}: deviation {w.std():.3f}", size=10)
        style_axes(ax)
for ax in panels[1]:
    ax.set_xlabel("number of the word")
figure.supylabel("coefficient")
plt.show()

# %%
# **Entropy.** Naive Bayes knows how often each word comes in a group; H(p) = - sum p log p says
# how evenly. The notes find it nearly the same for all, a little larger for tf-idf. Groups are
# alike here too; tf-idf, which lowers the peaks, adds more than a little. The most that it could be
# is the logarithm of the number of words.
figure, panels = plt.subplots(2, 2, figsize=(10, 5), sharex=True, sharey=True, layout="constrained")
for column, name in enumerate(kinds):
    for ax, group in zip(panels[:, column], shown, strict=True):
        p = np.exp(models["naive Bayes", name].feature_log_prob_[group])
        entropy = -(p * np.log(p)).sum()
        ax.plot(p, color=palette_color(column), lw=0.5)
        for j in np.argsort(-p)[:3]:
            ax.annotate(
                words[j], (j, p[j]), (4, 0), textcoords="offset points", size=8, color=TEXT_COLOR
            )
        ax.set_title(f"{groups[group]}, {name}: entropy {entropy:.3f}", size=10)
        style_axes(ax)
for ax in panels[1]:
    ax.set_xlabel("number of the word")
figure.supylabel("share of the words of the group")
plt.show()
shares = {name: np.exp(models["naive Bayes", name].feature_log_prob_) for name in kinds}
entropies = {name: -(p * np.log(p)).sum(axis=1) for name, p in shares.items()}
more = (entropies["tf-idf"] > entropies["counts"]).sum()
print(
    f"larger for tf-idf in {more} of 10 groups; log of {len(words)} words: {np.log(len(words)):.2f}"
)

# %%
# **Who is taken for whom.** Rows are the true groups, in percent. All four are nearly diagonal. The
# notes ask why naive Bayes suffers on sci.med: here it does not, and religion is hardest.
short = [name.removesuffix(".misc").rsplit(".", 1)[-1] for name in groups]
figure, panels = plt.subplots(
    2, 2, figsize=(10, 9.4), sharex=True, sharey=True, layout="constrained"
)
for ax, (who, model) in zip(panels.ravel(), models.items(), strict=True):
    said = model.predict(bags_test[who[1]])
    table = np.zeros((10, 10))
    np.add.at(table, (y_test, said), 1)
    table *= 100 / table.sum(axis=1, keepdims=True)
    ax.imshow(table, cmap="Blues", vmin=0, vmax=100)
    for (i, j), share in np.ndenumerate(table):
        if share >= 1:
            ink = "white" if share > 55 else TEXT_COLOR
            ax.text(j, i, f"{share:.0f}", ha="center", va="center", color=ink, size=8)
    ax.set_title(f"{' on '.join(who)}: {np.mean(said == y_test):.1%} right")
    ax.set_xticks(range(10), short, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_yticks(range(10), short)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    worst = np.argmin(np.diag(table))
    print(f"{' on '.join(who):>22}: hardest is {groups[worst]} ({table[worst, worst]:.0f} % right)")
figure.supxlabel("said")
figure.supylabel("true")
plt.show()

# %%
# **Which words speak for a group.** The weights of a linear model, ranked by name. A word of weight
# zero plays no part, and the weight is what one more occurrence adds to the score.
linear = models["softmax", "counts"]
strongest = top_weights(linear, words, top=6)
for group, top, weights in zip(*strongest, strict=True):
    said = ", ".join(f"{word} {weight:+.2f}" for word, weight in zip(top, weights, strict=True))
    print(f"{groups[group]:>22}: {said}")

# %%
# Of a single message, each word's count times its weight; together with the baseline they are the
# score. Here is the surest mistake of the test part: the words that misled.
probabilities = linear.predict_proba(bags_test["counts"])
wrong = probabilities.argmax(axis=1) != y_test
lengths = np.diff(bags_test["counts"].indptr)
i = int(np.argmax(np.where(wrong & (lengths < 60), probabilities.max(axis=1), 0)))
said = int(probabilities[i].argmax())
why = feature_contributions(linear, bags_test["counts"][[i]], words).compare(said, int(y_test[i]))
ax = plot.contributions(why, top=8)
ax.set_title(f"said {groups[said]}, true is {groups[y_test[i]]}", size=11)
ax.set_xlabel("score of what was said, less that of the truth")
plt.show()

# %%
# **Pairs of words, and words that tell.** A bag forgets the order of words. Pairs of neighbours
# remember some of it, at the price of many more columns; of topics, as here, they tell nothing that
# their words do not. Words may also be weighed by what they tell of the group: by information, that
# of words that are frequent and tell, or by concentration, that of words of one group, however
# rare. Naive Bayes, which weighs them itself, gains little by it.
presence = WordCounts("presence", stop_words="english", min_df=4)
known = BernoulliNB(alpha=0.1).fit(presence.fit_transform(train), y)
tells = {by: word_weights(known, by) for by in ("information", "concentration")}
for by, told in tells.items():
    print(f"most {by}: {', '.join(words[np.argsort(-told)[:9]])}")
variants = {
    "words": TfIdf(stop_words="english", min_df=4),
    "words and pairs": TfIdf(stop_words="english", min_df=4, ngram_range=(1, 2)),
    "words by information": TfIdf(
        stop_words="english", min_df=4, word_weights=np.sqrt(tells["information"])
    ),
    "words by concentration": TfIdf(
        stop_words="english", min_df=4, word_weights=tells["concentration"]
    ),
}
print(f"{'naive Bayes on':>23} {'columns':>8} {'right':>7}")
for name, kind in variants.items():
    model = MultinomialNB(alpha=0.02).fit(kind.fit_transform(train), y)
    right = model.score(kind.transform(test), y_test)
    print(f"{name:>23} {model.n_features_in_:>8} {right:>7.3f}")

# %%
# **A corpus in files.** `Documents` walks over a column of text, in CSV, Parquet or Arrow files of
# any size. One pass learns the vocabulary, another counts and learns, some documents at a time.
# What comes out is what memory gives.
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "news.parquet")
    parquet.write_table(pa.table({"group": y, "text": train}), file, row_group_size=500)
    texts = Documents(file, "text")
    counter = WordCounts(stop_words="english", min_df=4).fit(texts)
    model, first = MultinomialNB(alpha=0.1), 0
    for some in counter.transform_chunks(texts, size=1000):
        model.partial_fit(some, y[first : first + some.shape[0]], classes=range(10))
        first += some.shape[0]
in_memory = models["naive Bayes", "counts"].feature_log_prob_
print(
    f"{first} documents; largest difference {np.abs(model.feature_log_prob_ - in_memory).max():.1e}"
)
