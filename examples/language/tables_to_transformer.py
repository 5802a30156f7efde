"""
From tables to a transformer
============================

One text, one loss, six models: each gives the probability of the next letter, so they stand in one
table of bits per character. What they write shows what a bit is worth. [N06, D40]
"""

# %%
# Some pages of Shakespeare are enough for a few seconds of training; the guide has the numbers of
# longer fits to all of it.
import os
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from tenfold import (
    NGramModel,
    RecurrentLanguageModel,
    SoftmaxLanguageModel,
    TransformerLanguageModel,
    compare_language_models,
)
from tenfold.datasets import fetch_tiny_shakespeare
from tenfold.plot.style import palette_color, style_axes

if "TENFOLD_DATA" in os.environ:
    text = fetch_tiny_shakespeare().data[:66_000]
else:
    print("Without TENFOLD_DATA: the manual of Python instead of Shakespeare.")
    text = "\n".join(topics.values())[:66_000]
train, test = text[:60_000], text[60_000:]
stream = {"unit": "character", "boundaries": False}
small = {"window": 32, "batch_size": 32, "random_state": 0}
models = {
    "single letters": NGramModel(1, **stream),
    "bigram table": NGramModel(2, **stream),
    "bigram softmax": SoftmaxLanguageModel(2, alpha=0.1, **stream),
    "trigram softmax": SoftmaxLanguageModel(3, alpha=0.1, **stream),
    "trigram softmax, hidden layer": SoftmaxLanguageModel(3, hidden=64, random_state=0, **stream),
    "5-gram table": NGramModel(5, **stream),
    "LSTM": RecurrentLanguageModel("lstm", 96, epochs=6, learning_rate=0.01, **small),
    "transformer": TransformerLanguageModel(
        48, layers=2, heads=3, epochs=6, learning_rate=0.005, **small
    ),
}
table = compare_language_models(models, train, test, sample_length=60)
print(table)
print()
for row in reversed(table):
    print(f"{row.bits_per_character:.2f} bits, {row.name}: {row.sample!r}")

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
places = np.arange(len(table))[::-1]
bits = [row.bits_per_character for row in table]
ax.barh(places, bits, color=palette_color(0))
for place, row in zip(places, table, strict=True):
    ax.text(row.bits_per_character + 0.05, place, f"{row.parameters:,} numbers", va="center")
ax.set_yticks(places, [row.name for row in table])
ax.set(xlabel="bits per character of held-out text", xlim=(0, max(bits) + 1.6))
style_axes(ax, grid=False)

# %%
# **Parameters.** A trigram table has a row for each pair of letters, K^3 numbers; the softmax adds
# a row for each of the two letters, 2 K^2. The bigram softmax without penalty *is* the bigram
# table: its weights are the logarithms of the probabilities.
k = len(models["bigram softmax"].fit(train).symbols_)
two = SoftmaxLanguageModel(2, alpha=0, **stream).fit(train)
counted = NGramModel(2, smoothing="none", **stream).fit(train)
print(f"K = {k}: 2 K^2 = {2 * k**2:,}, K^3 = {k**3:,}")
difference = np.abs(two.predict_proba("th") - counted.predict_proba("th")).max()
print(f"largest difference of softmax and table after 'th': {difference:.1e}")

# %%
# **The next letter.** A table of the most probable letters after a context, for the LSTM: the state
# of the network is all it knows of the context.
lstm = next(row.model for row in table if row.name == "LSTM")
for context in ("th", "th" if "q" not in lstm.vocabulary_ else "q", "KING HENR", "the "):
    likely = ", ".join(f"{s!r} {p:.2f}" for s, p in lstm.next_symbol_table(context, n=4))
    print(f"{context!r}: {likely}")

# %%
# **Attention.** Where the transformer looks when it predicts the letter after each letter: rows are
# letters, columns the letters up to it; each row sums to one.
transformer = next(row.model for row in table if row.name == "transformer")
symbols, weights = transformer.attention("the king and the queen")
names = ["·" if s == " " else s.replace("<beg>", "^") for s in symbols]
fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.6), layout="constrained")
for ax, head in zip(axes, weights[0], strict=True):
    ax.imshow(head, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(len(names)), names, fontsize=6)
    ax.set_yticks(range(len(names)), names, fontsize=6)
fig.suptitle("First block, three heads: attention to earlier letters")


# %%
# **Vectors of letters.** The LSTM has learned a vector for each letter. After so little text the
# mean distance of two vowels is only a little less than that of a vowel and a consonant, but marks
# that end a sentence are neighbors already.
def distances(some, others):
    """Lengths of the differences between the vectors of letters."""
    a, b = (lstm.embedding_[[lstm.symbols_.index(s) for s in chosen]] for chosen in (some, others))
    return np.linalg.norm(a[:, None] - b, axis=2)


vowels, consonants = "aeiou", "bcdfghklmnprstvwy"
print(f"two vowels: {distances(vowels, vowels).sum() / 20:.1f}", end=", ")
print(f"a vowel and a consonant: {distances(vowels, consonants).mean():.1f}")
known = lstm.symbols_[1:]
nearest = [known[n] for n in distances(".", known)[0].argsort()[1:4]]
print(f"nearest to the full stop: {nearest}")

# %%
# The map shows their first two principal axes (vowels orange, capitals green); most of the
# distances lie in the others.
vectors = lstm.embedding_ - lstm.embedding_.mean(axis=0)
letters = [n for n, s in enumerate(lstm.symbols_) if len(s) == 1 and (s.isalpha() or s in " .,")]
axes_of_vectors = np.linalg.svd(vectors[letters], full_matrices=False)[2][:2]
flat = vectors @ axes_of_vectors.T
fig, ax = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
for number in letters:
    symbol = lstm.symbols_[number]
    kind = 1 if symbol.lower() in "aeiou" else 2 if symbol.isupper() else 0
    ax.text(*flat[number], "␣" if symbol == " " else symbol, color=palette_color(kind))
ax.set(xlim=(flat[letters, 0].min() - 0.3, flat[letters, 0].max() + 0.3))
ax.set(ylim=(flat[letters, 1].min() - 0.3, flat[letters, 1].max() + 0.3))
ax.set(xlabel="first axis", ylabel="second axis", title="Learned vectors of letters")
style_axes(ax)
