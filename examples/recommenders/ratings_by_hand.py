"""
Ratings by hand: naive, neighbors, rank one
===========================================

A matrix of ratings has gaps. Three ways to fill them, from one that cannot work to one that takes
a few lines of algebra.
"""

# %%
# **Entry by entry.** If every entry has its own number X, pulled towards 0 by a penalty, known
# entries shrink by 1 + lambda and unknown ones become 0: nothing ties an unknown entry to a known
# one. The costs differ only in what is known.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import ALS, KNNRecommender
from tenfold.plot.style import palette_color, style_axes
from tenfold.recommend import Ratings, alternating_steps, naive_completion

NAN = np.nan
Y = np.array([[5, NAN, 7], [1, 2, NAN]])
print("naive, lambda = 1:", naive_completion(Y, 1.0).tolist())

# %%
# **Neighbors.** K users who are most like a *and have rated i* are averaged: all alike, or by their
# similarity; of the ratings themselves, or of the deviations from each user's own mean. Four
# readers; two of them like books about machine learning, two like books about plants, and one of
# each rates everything a point lower.
books = ["Bishop", "Murphy", "Mitchell", "Orchids", "Ferns"]
B = np.array([[5, 4, NAN, 1, 2], [4, 3, 4, 0.5, NAN], [1, NAN, 2, 5, 4], [NAN, 1, 0.5, 4, 3]])
ratings = Ratings.from_matrix(B)
for metric in ("cosine", "euclidean", "pearson"):
    for weights, center in (("uniform", "none"), ("similarity", "none"), ("similarity", "mean")):
        model = KNNRecommender(2, metric=metric, weights=weights, center=center).fit(ratings)
        name = f"{metric}, {'weighted' if weights == 'similarity' else 'plain'}"
        name += ", centered" if center == "mean" else ""
        print(f"first reader, Mitchell | {name:28s} {model.predict([[0, 2]])[0]:5.2f}")

# %%
# Cosine of positive numbers is always near 1, so that readers of plant books count almost as much;
# the correlation is -1 for them, and with deviations from the mean their dislike speaks for the
# book.
#
# **Rank one.** Now Y is approximated by products u v' with a penalty on both. With v held, each u
# is a fraction: the notes start from v = (2, 7, 8) with lambda = 1.
steps = list(alternating_steps(Y, [2, 7, 8], 1.0))
print("u after the first step, in the notes 22/23 and 8/27:", steps[1].U[:, 0])
print(f"cost: {steps[1].cost:.4f}, {steps[2].cost:.4f}, ..., {steps[-1].cost:.4f}")
print("completed:", steps[-1].completed.round(4).tolist())

figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
costs = np.array([step.cost for step in steps[1:41]])
axes[0].semilogy(costs - steps[-1].cost + 1e-12, "o-", ms=3, color=palette_color(0))
axes[0].set(xlabel="half step", ylabel="cost above the limit")
for entry, color in (((0, 1), 1), ((1, 2), 2)):
    values = [step.completed[entry] for step in steps[1:41]]
    axes[1].plot(
        values, color=palette_color(color), label=f"user {entry[0] + 1}, film {entry[1] + 1}"
    )
axes[1].set(xlabel="half step", ylabel="filled in")
axes[1].legend(frameon=False)
for ax in axes:
    style_axes(ax)
plt.show()

# %%
# **The same by the model.** `ALS` with one factor, without biases and mean, ends at the same cost
# (the notes halve every term of it). Its defaults add biases of users and items, and a penalty that
# grows with the number of ratings.
model = ALS(
    1, regularization=1.0, count_power=0, biases=False, center=False, tol=1e-12, max_iter=5000,
    random_state=0,
).fit(Ratings.from_matrix(Y))  # fmt: skip
print(f"cost of ALS / 2: {model.objective_ / 2:.4f}")
