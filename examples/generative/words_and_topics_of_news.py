"""
Words of the news: counts, tf-idf, entropy, topics
==================================================

Messages of ten newsgroups as bags of words. Two ways to weigh words, two classifiers on each, the
entropy of the words of a group, and topics found without the labels. [001, 2.8; 003, unit 4]
"""

# %%
# **The messages.** Headers, footers and quotes are cut off as in the notes, and so are digits. The
# vocabulary is that of the training part alone: words that come up later are ignored.
import os
import re

import matplotlib.pyplot as plt
import numpy as np

from tenfold import LogisticRegression, MultinomialNB, datasets
from tenfold.cluster.spherical import SphericalKMeans
from tenfold.generative.words.counts import WordCounts
from tenfold.generative.words.tfidf import TfIdf
from tenfold.plot.style import clean, colour

if "TENFOLD_DATA" in os.environ:
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    messages, label, groups = news.data, news.target, news.target_names
else:
    print("Without TENFOLD_DATA: 2,000 made-up messages of ten groups, 3,000 words.")
    rng = np.random.default_rng(0)
    groups = [f"group {j}" for j in range(10)]
    common, label = rng.dirichlet(np.full(3000, 0.1)), rng.integers(10, size=2000)
    own = [0.85 * common + 0.15 * rng.dirichlet(np.full(3000, 0.02)) for _ in groups]
    messages = [" ".join(f"word{j}" for j in rng.choice(3000, 60, p=own[k])) for k in label]
messages = [re.sub(r"\d+", "", text) if "TENFOLD_DATA" in os.environ else text for text in messages]
order = np.random.default_rng(1).permutation(len(messages))
size = int(0.8 * len(messages))
train, test = ([messages[i] for i in part] for part in (order[:size], order[size:]))
y, y_test = label[order[:size]], label[order[size:]]
everything = WordCounts(stop_words="english").fit(messages)
print(f"{len(messages)} messages, {len(everything.vocabulary_)} words (notes: 5616 and 45534)")

# %%
# **Two ways to weigh.** Counts favour words that are everywhere; tf-idf words that are in few
# messages. The formula of the notes divides by the number of messages with the word; their table
# was made by the smoothed logarithm with rows of length one.
kinds = {
    "counts": WordCounts(stop_words="english", min_df=4),
    "tf-idf": TfIdf(stop_words="english", min_df=4),
    "count / messages": TfIdf("ratio", stop_words="english", min_df=4),
}
bags = {name: kind.fit_transform(train) for name, kind in kinds.items()}
words = kinds["counts"].get_feature_names_out()
first = bags["counts"][[0]].indices
heavy = first[np.argsort(-bags["tf-idf"][[0]].toarray()[0, first])][:6]
print(f"{'word':>14} {'messages':>9} {'count':>6} {'tf-idf':>7} {'ratio':>7}")
for j in heavy:
    row = [bags[name][0, j] for name in kinds]
    seen = kinds["counts"].document_frequency_[j]
    print(f"{words[j]:>14} {seen:>9} {row[0]:>6.0f} {row[1]:>7.3f} {row[2]:>7.3f}")

# %%
# **Two classifiers on each.** The notes report 0.774 for logistic regression on counts and 0.485 to
# 0.683 for their naive Bayes, which overflowed and smoothed heavily; they conclude that logistic
# regression is the better one. With log-sums and plain smoothing that is not so clear.
models, shares = {}, {}
print(f"{'':>18} {'naive Bayes':>12} {'logistic':>9} {'std of coefficients':>20}")
for name in ("counts", "tf-idf"):
    X_test = kinds[name].transform(test)
    bayes = MultinomialNB(alpha=0.1).fit(bags[name], y)
    logistic = LogisticRegression(tol=1e-3).fit(bags[name], y)
    models[name], shares[name] = (bayes, logistic), np.exp(bayes.feature_log_prob_)
    scores = [model.score(X_test, y_test) for model in models[name]]
    print(f"{name:>18} {scores[0]:>12.3f} {scores[1]:>9.3f} {logistic.coef_.std():>20.3f}")

# %%
# **Entropy.** How evenly a group spreads its words: H(p) = - sum p log p. The notes claim that it
# is nearly the same for both, a little larger for tf-idf. The most it could be is the logarithm of
# the number of words.
entropy = {name: -(p * np.log(p)).sum(axis=1) for name, p in shares.items()}
print(f"log of {len(words)} words: {np.log(len(words)):.2f}")
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for place, name in enumerate(entropy):
    ax.plot(entropy[name], range(10), "os"[place], color=colour(place), label=name)
ax.axvline(np.log(len(words)), color="#333333", linewidth=1, linestyle="--", label="most possible")
ax.set_yticks(range(10), groups)
ax.set_xlabel("entropy of the words of a group (nats)")
ax.invert_yaxis()
ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.12), ncols=3)
clean(ax)
plt.show()

# %%
# **Who is taken for whom.** Naive Bayes on counts; rows are the true groups.
guess = models["counts"][0].predict(kinds["counts"].transform(test))
table = np.zeros((10, 10), int)
np.add.at(table, (y_test, guess), 1)
fig, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
ax.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
for (i, j), count in np.ndenumerate(table):
    if count:
        dark = count > 0.5 * table[i].sum()
        ax.text(j, i, count, ha="center", va="center", color="white" if dark else "black", size=8)
ax.set_xticks(range(10), groups, rotation=40, ha="right")
ax.set_yticks(range(10), groups)
ax.set_xlabel("predicted")
ax.set_ylabel("true")
plt.show()

# %%
# **Topics without labels.** Spherical k-means groups messages by the angle between their tf-idf
# rows, so that long and short ones count alike. The heaviest words of each centre name its topic.
topics = SphericalKMeans(10, random_state=0, tol=1e-3).fit(bags["tf-idf"])
print(f"{'messages':>8}  {'most frequent group':<24} heaviest words")
for j, centre in enumerate(topics.cluster_centers_):
    inside = y[topics.labels_ == j]
    most = np.bincount(inside, minlength=10).argmax()
    share = (inside == most).mean()
    top = " ".join(words[np.argsort(-centre)[:7]])
    print(f"{len(inside):>8}  {groups[most]:<21}{share:>4.0%}  {top}")
