"""
Topics of newsgroups
====================

Ten groups of 20 Newsgroups, from text to topics; scores of topics, and what they say about a
document. [G11, D37]
"""

# %%
# Words that occur in at least ten messages, but not in more than a tenth of them. The counts lie
# in a temporary file: the same three lines work for files of text larger than memory, with
# ``tenfold.Documents("mails/*.parquet", "text")`` in the place of the list.
import os
import re

import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    NMF,
    LatentDirichletAllocation,
    TfIdf,
    TopicMixture,
    WordCounts,
    datasets,
    top_words,
    topic_coherence,
    topic_diversity,
)
from tenfold.plot import topic_words, word_cloud
from tenfold.plot.style import palette_color

if "TENFOLD_DATA" in os.environ:
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    texts = [re.sub(r"\d+", "", text) for text in news.data]
    groups, names = news.target, news.target_names
else:  # sentences about three things, over and over
    rng = np.random.default_rng(0)
    names = ["space", "hockey", "cars"]
    lists = [
        "orbit moon nasa launch shuttle",
        "team game goal season ice",
        "car engine oil road dealer",
    ]
    groups = rng.integers(0, 3, 600)
    texts = [" ".join(rng.choice([*lists[g].split(), "people", "time"], 30)) for g in groups]

counts = WordCounts(stop_words="english", min_df=10, max_df=0.1 if len(names) > 3 else 1.0)
rows = counts.fit_rows(texts)
model = LatentDirichletAllocation(
    10 if len(names) > 3 else 3, doc_topic_prior="auto", random_state=0, max_iter=25
).fit(rows)
words = top_words(model, counts, 10)
coherence = topic_coherence(words, texts, measure="npmi")
for k in np.argsort(-coherence):
    print(f"{coherence[k]:+.3f}  {', '.join(words[k][:8])}")
print(f"diversity {topic_diversity(model):.2f}; learned prior of topics", end=" ")
print(np.round(model.doc_topic_prior_, 3).tolist())

# %%
# Three clouds: the size of a word is its probability in the topic.
fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
for ax, k in zip(axes, np.argsort(-coherence), strict=False):
    word_cloud(model, counts, int(k), n=35, ax=ax)
    ax.set_title(f"topic {k}", fontsize=9)

# %%
# The groups were not used. A topic's share in the messages of each group shows what it has found.
shares = model.transform(rows)
table = np.array([shares[groups == g].mean(axis=0) for g in range(len(names))])
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
image = ax.imshow(table, cmap="Blues", vmin=0)
ax.set_yticks(range(len(names)), names)
ax.set_xticks(range(table.shape[1]), [w[0] for w in words], rotation=45, ha="right")
fig.colorbar(image, label="mean share of the topic")

# %%
# The same by EM, without averaging over shares and words: how well does half of the words of a
# message predict the other half, in training and in new messages?
X = counts.transform(texts)
order = np.random.default_rng(0).permutation(X.shape[0])
train, test = X[order[: 4 * len(order) // 5]], X[order[4 * len(order) // 5 :]]
K = len(model.components_)
mixture = TopicMixture(K, topic_word_prior=0.01, tol=1e-4, random_state=0).fit(train)
bayes = LatentDirichletAllocation(K, max_iter=15, random_state=0).fit(train)
for name, fit in (("EM", mixture), ("variational Bayes", bayes)):
    print(
        f"{name:18s} completion perplexity: training {fit.completion_perplexity(train):6.0f}, "
        f"new {fit.completion_perplexity(test):6.0f}"
    )

# %%
# Non-negative matrix factorization of tf-idf finds topics too: rows of H are weights of words.
weighted = TfIdf(vocabulary=counts.vocabulary_)
nmf = NMF(K, init="nndsvda", max_iter=100, tol=1e-3).fit(weighted.fit_transform(texts))
for topic in top_words(nmf, weighted, 6):
    print(", ".join(topic))

axes = topic_words(mixture, counts, n=6, columns=5)
for ax in axes:
    for bar in ax.patches:
        bar.set_color(palette_color(1))
plt.show()
