"""
Clusters of texts
=================

Messages of ten newsgroups, grouped without their labels. What counts is the angle between bags of
words, not their length; which words count is ours to say, for no algorithm can know it. The labels
are used to judge alone.
"""

# %%
# **The messages** as rows of tf-idf, of which all but a few entries are zero.
import os
import re

import matplotlib.pyplot as plt
import numpy as np

from tenfold import KMeans, KMedoids, SphericalKMeans, TfIdf, WordCounts, datasets
from tenfold.cluster import compare_clusterings
from tenfold.plot.style import TEXT_COLOR

if "TENFOLD_DATA" in os.environ:
    cut = ("headers", "footers", "quotes")
    news = datasets.fetch_20newsgroups(categories=datasets.TEN_GROUPS, remove=cut)
    messages, y, groups = news.data, news.target, news.target_names
    messages = [re.sub(r"\d+", "", text) for text in messages]
else:
    print("Without TENFOLD_DATA: 2,000 made-up messages of ten groups, 3,000 words.")
    rng = np.random.default_rng(0)
    groups = [f"group {j}" for j in range(10)]
    common, y = rng.dirichlet(np.full(3000, 0.1)), rng.integers(10, size=2000)
    own = [0.85 * common + 0.15 * rng.dirichlet(np.full(3000, 0.02)) for _ in groups]
    messages = [" ".join(f"word{j}" for j in rng.choice(3000, 60, p=own[k])) for k in y]
long_enough = np.array([len(text.split()) >= 30 for text in messages])  # the others say too little
messages, y = (
    [text for text, kept in zip(messages, long_enough, strict=True) if kept],
    y[long_enough],
)
tfidf = TfIdf(stop_words="english", min_df=5, max_df=0.1)
X = tfidf.fit_transform(messages)
words = tfidf.get_feature_names_out()
entries = X.nnz / X.shape[0]
print(f"{X.shape[0]} messages, {X.shape[1]} words, {entries:.0f} of them in a message on average")

# %%
# **Long and short.** By Euclidean distance of plain counts long messages are far from everything,
# themselves included, and all short ones end in one cluster. On rows of length one, squared
# distance is twice one minus the cosine, and the two orders are the same.
counts = WordCounts(stop_words="english", min_df=5, max_df=0.1).fit_transform(messages)
found = {
    "k-means of counts": KMeans(10, random_state=0, tol=1e-3).fit(counts).labels_,
    "k-means of tf-idf": KMeans(10, random_state=0, tol=1e-3).fit(X).labels_,
    "spherical, of counts": SphericalKMeans(10, random_state=0, tol=1e-3).fit(counts).labels_,
    "spherical, of tf-idf": SphericalKMeans(10, random_state=0, tol=1e-3).fit(X).labels_,
}


def told(labels):
    """Agreement with the groups, and the size of the largest cluster."""
    largest = np.bincount(labels).max() / len(labels)
    agreement = compare_clusterings(y, labels).adjusted_rand
    return f"{agreement:.2f}, largest cluster {largest:.0%} of the messages"


for name, labels in found.items():
    print(f"{name:>22}: agreement with the groups {told(labels)}")

# %%
# **What the clusters are about.** The heaviest words of a centre name it.
topics = SphericalKMeans(10, n_init=3, random_state=0, tol=1e-3).fit(X)
print(f"{'messages':>8}  {'most frequent group':<27} heaviest words")
for j, centre in enumerate(topics.cluster_centers_):
    inside = y[topics.labels_ == j]
    most = np.bincount(inside, minlength=10).argmax()
    share = (inside == most).mean()
    top = " ".join(words[np.argsort(-centre)[:7]])
    print(f"{len(inside):>8}  {groups[most]:<22}{share:>4.0%}  {top}")

# %%
# Who is where: groups of the news against clusters, in percent of the group.
table = np.zeros((10, 10))
np.add.at(table, (y, topics.labels_), 1)
table *= 100 / table.sum(axis=1, keepdims=True)
order = np.argsort(table.argmax(axis=0) - table.max(axis=0) / 1000)
figure, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
ax.imshow(table[:, order], cmap="Blues", vmin=0, vmax=100)
for (i, j), share in np.ndenumerate(table[:, order]):
    if share >= 3:
        ink = "white" if share > 55 else TEXT_COLOR
        ax.text(j, i, f"{share:.0f}", ha="center", va="center", color=ink, size=8)
heads = [" ".join(words[np.argsort(-topics.cluster_centers_[j])[:2]]) for j in order]
ax.set_xticks(range(10), heads, rotation=40, ha="right", rotation_mode="anchor")
ax.set_yticks(range(10), groups)
ax.set_xlabel("cluster, by its two heaviest words")
ax.tick_params(length=0)
ax.spines[:].set_visible(False)
plt.show()

# %%
# **Which words matter is ours to say.** One cluster is about manners, not about a matter, and a
# signature that one author puts under everything binds messages together. We take these words for
# unimportant and let them weigh nothing. The cluster of manners is gone, and things for sale stand
# apart from machines. The agreement with the groups moves little: they are one way to divide the
# messages, not the only one.
manners = re.findall(r"\w+", "mail email send info information thanks advance hi looking list post")
signature = re.findall(
    r"\w+",
    "geb pitt banks dsl gordon skepticism chastity intellect shameful surrender cadre njxp soon",
)
silent = dict.fromkeys(manners + signature, 0.0)
weighed = TfIdf(vocabulary=words, word_weights=silent).fit_transform(messages)
again = SphericalKMeans(10, n_init=3, random_state=0, tol=1e-3).fit(weighed)
print(f"agreement before {told(topics.labels_)}")
print(f"agreement after  {told(again.labels_)}")
for centre in again.cluster_centers_:
    print("   ", " ".join(words[np.argsort(-centre)[:8]]))

# %%
# **Messages as representatives.** k-medoids takes any distance, here one minus the cosine, and
# names a message for each cluster. It looks at all pairs, so it gets a part of four groups.
rng = np.random.default_rng(1)
some = rng.permutation(np.flatnonzero(np.isin(y, [3, 4, 6, 8])))[:800]
part, truth = X[some], y[some]
medoids = KMedoids(4, metric="precomputed", random_state=0).fit(1 - (part @ part.T).toarray())
spherical = SphericalKMeans(4, n_init=5, random_state=0).fit(part)
for name, model in (("k-medoids", medoids), ("spherical", spherical)):
    print(f"{name}: agreement {compare_clusterings(truth, model.labels_).adjusted_rand:.2f}")
for row in medoids.medoid_indices_:
    text = " ".join(messages[some[row]].split())
    print(f"a representative of {groups[truth[row]]:>22}: {text[:60]} ...")
