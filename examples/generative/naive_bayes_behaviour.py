"""
Naive Bayes: what it does, and where it is fooled
=================================================

Naive Bayes counts, and multiplies what it counted. This page walks through what follows from that:
zeros, underflow, blindness to order, missing values and new classes; mixed columns; and how it
stands beside logistic regression.
"""

# %%
# **Spam.** The counts of the notes: 70 normal mails and 30 of spam over five words. The new mail
# says "Dear Sir, Money Money Money. Thanks."
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LogisticRegression,
    MixedNB,
    MultinomialNB,
    WordCounts,
    datasets,
)
from tenfold.plot.style import palette_color, style_axes

words = np.array([[70.0, 20, 15, 40, 90], [73, 65, 98, 20, 120]])
spam = MultinomialNB(alpha=0, class_prior=[0.7, 0.3]).fit(words, ["normal", "spam"])
mail = [[1.0, 1, 3, 0, 1]]
joint, posterior = np.exp(spam.predict_joint_log_proba(mail))[0], spam.predict_proba(mail)[0]
print("                 in the notes            | here")
print(f"unnormalised     1.7674e-06  5.6897e-05  | {joint[0]:.4e}  {joint[1]:.4e}")
print(f"posterior        0.0301      0.9698      | {posterior[0]:.4f}      {posterior[1]:.4f}")

# %%
# **Zeros, and their cure.** Three reviews: "good fun good" and "fun film" liked, "bad film" not. By
# counting alone "good bad" is impossible in both classes, and nothing can be said. Smoothing adds a
# little to every count; with more and more of it all words become equal.
reviews = np.array([[0.0, 0, 1, 2], [0, 1, 1, 0], [1, 1, 0, 0]])  # bad, film, fun, good
liked = ["yes", "yes", "no"]
good_bad = [[1.0, 0, 0, 1]]
print("smoothing   p(yes | good bad)   p(good | yes)")
for alpha in (0, 0.01, 0.1, 1, 10, 1e6):
    model = MultinomialNB(alpha=alpha).fit(reviews, liked)
    note = "   impossible in both: no answer" if alpha == 0 else ""
    share = np.exp(model.feature_log_prob_[1, 3])
    print(f"{alpha:>9g}   {model.predict_proba(good_bad)[0, 1]:>17.3f}   {share:>13.3f}{note}")

# %%
# **Long documents.** The product of 400 probabilities of 1/1000 is zero for a computer. The sum of
# their logarithms is not. The order of words plays no part: "not bad, good" is "not good, bad".
rare = np.full(400, 1e-3)
print(f"product: {rare.prod()}, sum of logarithms: {np.log(rare).sum():.1f}")
model = MultinomialNB().fit(reviews, liked)
log_p = model.predict_log_proba([[11e3, 10e3, 10e3, 9e3]])[0, 1]
print(f"a document of 40,000 words: log p(yes) = {log_p:.4g}")

# %%
# **Order.** Words are counted, so that a document and its words in any order are the same row.
counter = WordCounts().fit(["good fun good", "fun film", "bad film"])
judge = MultinomialNB().fit(counter.transform(["good fun good", "fun film", "bad film"]), liked)
for text in ("bad film good fun", "fun good film bad", "good film"):
    print(f"{text:18s} p(yes) = {judge.predict_proba(counter.transform([text]))[0, 1]:.4f}")

# %%
# **Missing values.** What is not known is left out of the product, and that is exactly the
# posterior given the rest. Here more and more entries of the test half are hidden, and then also
# of the training half.
if os.environ.get("TENFOLD_DATA"):  # 28 x 28 pixels, else 8 x 8
    digits = datasets.fetch_mnist()
    rows, labels, SIDE = digits.data[:4000] / 255.0, digits.target[:4000], 28
else:
    digits = datasets.load_digits()
    rows, labels, SIDE = digits.data / 16, digits.target, 8
rng = np.random.default_rng(0)
train = rng.random(len(rows)) < 0.5
shares = np.linspace(0, 0.95, 9)
scores = {"hidden at prediction": [], "hidden in the fit too": []}
for share in shares:
    holes = np.where(rng.random(rows.shape) < share, np.nan, rows)
    whole = GaussianNB(var_smoothing=0.05).fit(rows[train], labels[train])
    partly = GaussianNB(var_smoothing=0.05).fit(holes[train], labels[train])
    scores["hidden at prediction"].append(whole.score(holes[~train], labels[~train]))
    scores["hidden in the fit too"].append(partly.score(holes[~train], labels[~train]))
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for number, (name, line) in enumerate(scores.items()):
    ax.plot(shares, line, "o-", color=palette_color(number), lw=2, label=name)
ax.axhline(0.1, color="#888888", lw=1, ls=":")
ax.text(0.01, 0.12, "guessing", color="#666666")
ax.set(xlabel="share of entries hidden", ylabel="share of digits right", ylim=(0, 1))
ax.legend(frameon=False)
style_axes(ax)
plt.show()

# %%
# **A new class.** Nines are left out at first, and added later from their own rows. What is known
# of the other digits stays as it was, to the last bit.
known = train & (labels < 9)
model = BernoulliNB(binarize=0.5).fit(rows[known], labels[known])
before = model.feature_log_prob_.copy()
print(f"without nines: {model.score(rows[~train], labels[~train]):.3f}", end=", ")
nines = train & (labels == 9)
model.add_classes(rows[nines], labels[nines])
print(f"with nines: {model.score(rows[~train], labels[~train]):.3f}", end=", ")
print(f"others unchanged: {np.array_equal(before, model.feature_log_prob_[:9])}")

# %%
# **Black and white images.** Each pixel is a coin with a bias of its own in each class; these are
# the coins, and below them images that the model makes up, pixel by pixel. Made-up digits are
# noisy: the model does not know that neighbours go together.
made, which = model.sample(400, random_state=0)
figure, panels = plt.subplots(2, 10, figsize=(9.6, 2.3), layout="constrained")
for digit in range(10):
    coins = np.exp(model.feature_log_prob_[digit])
    for ax, picture in zip(panels[:, digit], (coins, made[which == digit][0]), strict=True):
        ax.imshow(picture.reshape(SIDE, SIDE), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
panels[0, 0].set_ylabel("coins", rotation=0, ha="right")
panels[1, 0].set_ylabel("made up", rotation=0, ha="right")
plt.show()

# %%
# **Categories, and mixed columns.** Will I like this song? Its genre is a category, its length a
# number, with lyrics or without is yes or no, and its plays this week are a count. Each column has
# its own kind of distribution; the log-odds add up.
n = 600
like = rng.random(n) < 0.5
genre = np.where(like, rng.choice(3, n, p=[0.6, 0.3, 0.1]), rng.choice(3, n, p=[0.3, 0.3, 0.4]))
minutes = rng.normal(np.where(like, 3.4, 4.2), 0.9)
lyrics = rng.random(n) < np.where(like, 0.8, 0.5)
plays = rng.poisson(np.where(like, 3.0, 1.5))
songs = np.column_stack([genre, minutes, lyrics, plays]).astype(float)
kinds = ["categorical", "gaussian", "bernoulli", "poisson"]
first, rest = slice(0, 300), slice(300, None)
print("columns used                   share right")
only = CategoricalNB().fit(songs[first, :1], like[first])
print(f"genre alone                    {only.score(songs[rest, :1], like[rest]):.3f}")
for upto in (2, 3, 4):
    mixed = MixedNB(kinds[:upto]).fit(songs[first, :upto], like[first])
    names = ", ".join(["genre", "minutes", "lyrics", "plays"][:upto])
    print(f"{names:<30} {mixed.score(songs[rest, :upto], like[rest]):.3f}")

# %%
# **Beside logistic regression.** Where columns are independent within classes, the story is true,
# and naive Bayes needs fewer rows. Where one column comes six times, slightly changed, naive Bayes
# counts the same evidence six times; logistic regression shares it out, and overtakes as rows come
# in.


def truth(size, copies, seed):
    """Two classes; twenty columns, in which class one lies higher, the first of them repeated."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, 2, size)
    columns = draw.normal(size=(size, 20)) * np.linspace(0.4, 2, 20) + 0.3 * y[:, None]
    again = columns[:, :1] + 0.05 * draw.normal(size=(size, copies - 1))
    return np.hstack([columns, again]), y


sizes = [20, 40, 80, 160, 320, 640, 1280]
figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained", sharey=True)
for ax, copies in zip(panels, (1, 6), strict=True):
    lines = {"naive Bayes": [], "logistic regression": []}
    new_rows, new_labels = truth(5_000, copies, 999)
    for size in sizes:
        fits = {"naive Bayes": [], "logistic regression": []}
        for seed in range(15):
            X, y = truth(size, copies, seed)
            fits["naive Bayes"].append(GaussianNB().fit(X, y).score(new_rows, new_labels))
            logistic = LogisticRegression(C=100.0).fit(X, y)
            fits["logistic regression"].append(logistic.score(new_rows, new_labels))
        for name, found in fits.items():
            lines[name].append(1 - np.mean(found))
    for number, (name, line) in enumerate(lines.items()):
        ax.semilogx(sizes, line, "o-", color=palette_color(number), lw=2, label=name)
    ax.set(xlabel="rows", title="independent columns" if copies == 1 else "one column six times")
    style_axes(ax)
panels[0].set_ylabel("share wrong on new rows")
panels[1].legend(frameon=False)
plt.show()
