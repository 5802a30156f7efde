"""
A topic model on a small corpus
===============================

Every document is a mixture of topics, and every topic a distribution over words. Which word of
which document belongs to which topic is hidden. [G11, D37]
"""

# %%
# First words that can be seen. There are 25 words, the pixels of a square, and ten topics: the rows
# and the columns of the square. A document draws its shares of the topics, and each of its 100
# words from one of them.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    LatentDirichletAllocation,
    TopicMixture,
    WordCounts,
    choose_topics,
    seed_topics,
    top_words,
    topic_coherence,
)
from tenfold.plot import word_cloud
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
bars = np.array([np.eye(5)[k][:, None] @ np.ones((1, 5)) for k in range(5)])
topics = np.concatenate([bars, bars.transpose(0, 2, 1)]).reshape(10, 25) / 5
shares = rng.dirichlet(np.full(10, 0.15), 600)
X = np.array([rng.multinomial(100, p / p.sum()) for p in shares @ topics])

fig, axes = plt.subplots(2, 10, figsize=(9, 2.1), layout="constrained")
model = LatentDirichletAllocation(10, random_state=0, max_iter=40).fit(X)
found = model.components_ / model.components_.sum(axis=1, keepdims=True)
for ax, x in zip(axes[0], X, strict=False):
    ax.imshow(x.reshape(5, 5), cmap="Greys")
for ax, topic in zip(axes[1], found, strict=True):
    ax.imshow(topic.reshape(5, 5), cmap="Blues")
for ax in axes.ravel():
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("documents")
axes[1, 0].set_ylabel("topics")

# %%
# The bound of the log-probability never falls. Gibbs sampling, online learning and EM without
# priors (an admixture by maximum likelihood, which is non-negative matrix factorization in the
# Kullback-Leibler divergence) find the same topics. Models are compared by how well half of the
# words of a new document predict the other half.
test = np.array(
    [rng.multinomial(100, p / p.sum()) for p in rng.dirichlet([0.15] * 10, 300) @ topics]
)
fits = {
    "variational, batch": model,
    "variational, online": LatentDirichletAllocation(
        10, learning_method="online", random_state=1, max_iter=20
    ).fit(X),
    "Gibbs sampling": LatentDirichletAllocation(
        10, learning_method="gibbs", random_state=0, max_iter=200
    ).fit(X),
    "EM": TopicMixture(10, random_state=0, tol=1e-4, topic_word_prior=0.01).fit(X),
}
for name, fit in fits.items():
    print(f"{name:20s} completion perplexity {fit.completion_perplexity(test):.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.plot(np.arange(1, 41), -model.history_["objective"] / 1e3, color=palette_color(0))
left.set(xlabel="pass", ylabel="bound (thousands)", title="The bound rises")
choice = choose_topics(
    LatentDirichletAllocation(max_iter=25, random_state=0), X, [2, 4, 6, 8, 10, 12, 16], test=test
)
right.plot(choice.candidates, choice.perplexities, "o-", color=palette_color(1))
right.set(xlabel="topics", ylabel="completion perplexity", title=f"{choice.n_components} topics")
for ax in (left, right):
    style_axes(ax)

# %%
# Now words of a language: sentences about animals, money and the sea.
sentences = """
the dog chased the cat and the cat climbed a tree
a cat and a dog are pets and pets need food
the vet looked after the dog the cat and the rabbit
my rabbit eats grass and the dog eats meat
pets such as a cat or a rabbit sleep all day
the bank raised its interest rate and the stock market fell
stock prices rose when the bank cut the rate
investors sold stock and bought a bond with more interest
the market for the bond fell and the price of money rose
a loan from the bank has an interest rate
the ship left the harbor and sailed out to sea
waves of the sea hit the ship in a storm
a sailor saw the harbor when the storm was over
the captain of the ship trusts the wind and the waves
wind and waves make the sea rough for every sailor
the sailor has a cat on the ship
the bank gave a loan for a new ship in the harbor
""".strip().splitlines()
counts = WordCounts(stop_words="english")
X = counts.fit_transform(sentences)
model = LatentDirichletAllocation(3, random_state=0, max_iter=50, n_init=20).fit(X)
words = top_words(model, counts, 6)
coherence = topic_coherence(words, sentences, measure="npmi")
for k in range(3):
    print(f"topic {k} ({coherence[k]:+.2f}): {', '.join(words[k])}")
print("the last two sentences:", model.transform(X[-2:]).round(2).tolist())

# %%
# A topic may be told what to be about: words with a larger prior.
prior = seed_topics([["money"], ["wind", "storm"]], counts, 3, weight=5)
seeded = LatentDirichletAllocation(3, topic_word_prior=prior, random_state=0, max_iter=50).fit(X)
for k, topic in enumerate(top_words(seeded, counts, 5)):
    print(f"topic {k}: {', '.join(topic)}")

fig, axes = plt.subplots(1, 3, figsize=(9, 2.8), layout="constrained")
for k, ax in enumerate(axes):
    word_cloud(model, counts, k, n=12, ax=ax)
plt.show()
