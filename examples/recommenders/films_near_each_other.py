"""
Films near each other
=====================

Each film gets a vector from nothing but who rated it and how. Films that the same people like end
up near each other, and a recommendation can say why.
"""

# %%
# MovieLens 100k, if the folder that TENFOLD_DATA names has it; else ratings of made-up films by
# viewers who like some genres and dislike others.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import ALS, PCA, ImplicitALS
from tenfold.datasets import fetch_movielens_100k
from tenfold.metrics import ranking_totals
from tenfold.plot.style import palette_color, style_axes
from tenfold.recommend import LastRatings, evaluate_ranking, most_popular


def invented_ratings():
    rng = np.random.default_rng(0)
    genres = ["war", "comedy", "horror", "romance", "science fiction"]
    titles = np.array([f"{genres[i % 5].title()} {i // 5 + 1}" for i in range(150)])
    taste, appeal = rng.normal(size=(300, 5)), rng.gamma(1.0, size=150)
    pairs = np.argwhere(rng.random((300, 150)) < 0.25 * appeal / appeal.mean())
    stars = 3.5 + taste[pairs[:, 0], pairs[:, 1] % 5] + 0.5 * rng.normal(size=len(pairs))
    return titles, pairs, np.clip(stars.round(), 1, 5), rng.permutation(len(pairs))


if "TENFOLD_DATA" in os.environ:
    data = fetch_movielens_100k()
    titles = np.array(data.films["title"])
    pairs, stars, time = data.data, data.target, data.timestamps
else:
    titles, pairs, stars, time = invented_ratings()
table = {"user": pairs[:, 0], "film": titles[pairs[:, 1]], "stars": stars}

# %%
# **Nearest films.** The cosine between vectors of films with many ratings.
model = ALS(20, random_state=0).fit(table)
popular = model.popular_items(40).items
for film in popular[:4]:
    near = model.similar_items(film, 40)
    known = [other for other in near.items if other in set(model.popular_items(300).items)]
    print(f"{film}: {', '.join(known[:3])}")

# %%
# **A map.** The first two principal components of the vectors of the films with most ratings.
places = np.searchsorted(model.item_ids_, model.popular_items(150).items)
vectors = PCA(2).fit_transform(model.item_factors_[places])
figure, ax = plt.subplots(figsize=(8.4, 6.4), layout="constrained")
ax.scatter(*vectors.T, s=8, color=palette_color(0))
for name, (x, y) in list(zip(model.item_ids_[places], vectors, strict=True))[:36]:
    ax.annotate(
        name.split(" (")[0][:24], (x, y), fontsize=7, xytext=(2, 2), textcoords="offset points"
    )
ax.set(xlabel="first component", ylabel="second component")
style_axes(ax)
plt.show()

# %%
# **Reasons.** A user's vector is a sum over the films the user has rated, and so is each score.
user = int(np.argmax(np.bincount(pairs[:, 0]) == np.sort(np.bincount(pairs[:, 0]))[-60]))
best = model.recommend(user, 3, among=model.popular_items(400).items)
for film, score in zip(*best, strict=True):
    found = model.explain(user, film, n=3)
    because = ", ".join(
        f"{r.item} ({r.rating:.0f} stars: {r.contribution:+.2f})" for r in found.reasons
    )
    print(f"{film}: {score:.2f} = {found.base:.2f} + ... because of {because}")

# %%
# **Top lists.** What a user rates next is held out, and every list is compared with the one that
# shows everybody the films with most ratings. For lists it matters more *what* people rate than
# how: `ImplicitALS` takes each rating as a sign of interest.
train, test = next(LastRatings(time, n_held=5).split(pairs))
lists = {
    "ALS": ALS(20, random_state=0),
    "ImplicitALS": ImplicitALS(16, confidence=0.2, random_state=0),
}
for name, other in lists.items():
    other.fit(pairs[train], stars[train])
    values = evaluate_ranking(other, pairs[test]).values()
    print(name, {metric: round(value, 3) for metric, value in values.items()})

top, users = most_popular(pairs[train], n=200), np.unique(pairs[test, 0])
seen = {u: set(pairs[train][pairs[train, 0] == u, 1].tolist()) for u in users}
shown = [[film for film in top if film not in seen[u]][:10] for u in users]
wanted = [pairs[test][pairs[test, 0] == u, 1].tolist() for u in users]
values = ranking_totals(shown, wanted, 10).values()
print("most popular", {metric: round(value, 3) for metric, value in values.items()})
