"""
Names, letter by letter
=======================

32,033 first names, one loss, from a table of letter pairs to a recurrent network: how many nats
does the next letter cost, and which names do the models invent? [N06]
"""

# %%
# Each name is a document: the models learn where names begin and end. The loss is the mean of
# -log p over letters and ends, of 1,000 names that no model has seen. Published for this list:
# 2.454 for the table of pairs on all names, 2.10 for a Kneser-Ney table of four letters, and 1.92
# for a transformer with far more training than the seconds here.
import os
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from tenfold import NGramModel, RecurrentLanguageModel, SoftmaxLanguageModel
from tenfold.datasets import fetch_names
from tenfold.plot.style import palette_color, style_axes

if "TENFOLD_DATA" in os.environ:
    names = fetch_names().data
else:
    print("Without TENFOLD_DATA: words of Python's manual instead of names.")
    words = " ".join(topics.values()).lower().split()
    names = sorted({word for word in words if word.isalpha()})
names = [names[number] for number in np.random.default_rng(0).permutation(len(names))]
test, train = names[: len(names) // 32], names[len(names) // 32 :]

letters = {"unit": "character"}
models = {
    "pairs of letters, table": NGramModel(2, **letters),
    "three letters, table": NGramModel(3, **letters),
    "five letters, table": NGramModel(5, **letters),
    "three letters, hidden layer": SoftmaxLanguageModel(
        4, hidden=32, max_iter=40, random_state=0, **letters
    ),
    "recurrent (GRU)": RecurrentLanguageModel(
        "gru", 48, epochs=2, window=32, learning_rate=0.02, boundaries=True, random_state=0
    ),
}
losses = {}
for name, model in models.items():
    losses[name] = -model.fit(train).score(test)
    invented = ", ".join(model.sample(6, max_length=20, random_state=1))
    print(f"{losses[name]:.3f} nats, {name}: {invented}")

fig, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
ax.barh(list(losses)[::-1], list(losses.values())[::-1], color=palette_color(0))
ax.set(xlabel="nats per letter of names that were not seen")
style_axes(ax, grid=False)

# %%
# The table of pairs is the oldest of them, and one can look at it whole: rows are letters, columns
# those that follow; the last column is the end of the name.
counted = NGramModel(2, smoothing="none", **letters).fit(names)
rows = sorted(symbol for symbol in counted.symbols_ if len(symbol) == 1)
columns = [*rows, "<end>"]
table = np.array(
    [[dict(counted.next_symbol_table(a, n=99)).get(b, 0) for b in columns] for a in rows]
)
fig, ax = plt.subplots(figsize=(6, 5.6), layout="constrained")
ax.imshow(table, cmap="Blues")
ax.set_xticks(range(len(columns)), [*rows, "end"], fontsize=7)
ax.set_yticks(range(len(rows)), rows, fontsize=7)
style_axes(ax, grid=False)
print(f"all names by the table of pairs: {-counted.score(names):.4f} nats")
plt.show()
