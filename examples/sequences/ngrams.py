"""
Text from tables: Markov chains and n-grams
===========================================

A table of what follows what is a language model: it gives every text a probability, and it writes
text. The longer the context, the better the text, and the fewer of its contexts were ever seen.
[G08, D40]
"""

# %%
# The table of the course. Rows are the word before, columns the next word; a sentence begins with
# ``<beg>`` and ends with ``<end>``, and words outside the vocabulary are ``<unk>``. The probability
# of a sentence is the product of the entries on its way.
import os
from pydoc_data.topics import topics

import matplotlib.pyplot as plt
import numpy as np

from tenfold import MarkovChain, NGramModel, measure_ngram_coverage
from tenfold.datasets import fetch_tiny_shakespeare
from tenfold.plot.style import palette_color, style_axes

rows = ["<beg>", "ML", "course", "is", "<unk>"]
columns = ["ML", "course", "is", "<unk>", "<end>"]
table = np.array(
    [
        [0.7, 0.1, 0.1, 0.1, 0.0],
        [0.1, 0.5, 0.2, 0.1, 0.1],
        [0.0, 0.0, 0.7, 0.1, 0.2],
        [0.1, 0.3, 0.0, 0.6, 0.0],
        [0.1, 0.2, 0.2, 0.3, 0.2],
    ]
)
model = NGramModel.from_table(rows, columns, table)
print(f"P(course is great) = {np.exp(model.log_prob(['course is great'])[0]):.4f}")
for text in model.sample(4, random_state=0):
    print(" ", text)

fig, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
ax.imshow(table, cmap="Blues", vmin=0, vmax=1)
for i, row in enumerate(table):
    for j, p in enumerate(row):
        ax.text(j, i, f"{p:.1f}", ha="center", va="center", color="white" if p > 0.5 else "black")
ax.set_xticks(range(5), columns)
ax.set_yticks(range(5), rows)
ax.set(xlabel="next word", ylabel="word before", title="Probability of the next word")

# %%
# Letters of Shakespeare, order 1 to 6. An order-1 table knows frequencies alone; six letters are
# enough for words and even for the form of a play.
if "TENFOLD_DATA" in os.environ:
    text = fetch_tiny_shakespeare().data
else:
    print("Without TENFOLD_DATA: the manual of Python instead of Shakespeare.")
    text = "\n".join(topics.values())
cut = int(0.9 * len(text))
train, test = text[:cut], text[cut:]
orders, bits = range(1, 7), {}
for smoothing in ("modified_kneser_ney", "witten_bell", "add_k"):
    models = [
        NGramModel(n, unit="character", smoothing=smoothing, k=0.01, boundaries=False).fit([train])
        for n in orders
    ]
    bits[smoothing] = [m.bits_per_symbol([test]) for m in models]
    if smoothing == "modified_kneser_ney":
        for m in models:
            sample = m.sample(prompt="The ", max_length=60, random_state=1)[0].replace("\n", " / ")
            print(f"order {m.order}: {sample}")

fig, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
for number, (name, values) in enumerate(bits.items()):
    ax.plot(orders, values, "o-", color=palette_color(number), label=name.replace("_", " "))
ax.set(xlabel="order n", ylabel="bits per character, last tenth", title="Which context helps")
ax.legend(frameon=False)
style_axes(ax)

# %%
# Longer contexts are rarer. Of the pairs and triples of words in the last tenth of the text, many
# never occur in the first nine tenths, and more text helps slowly: this is why counts need
# smoothing, and why other models of language exist.
coverage = measure_ngram_coverage([train], [test], max_order=3, n_sizes=10)
fig, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
for number, name in enumerate(("words", "pairs", "triples")):
    ax.plot(
        coverage.tokens,
        100 * coverage.unseen[number],
        "o-",
        color=palette_color(number),
        label=name,
    )
ax.set(
    xscale="log",
    xlabel="words of training text",
    ylabel="never seen before (%)",
    title="Unseen n-grams of new text",
    ylim=(0, 100),
)
ax.legend(frameon=False)
style_axes(ax)

# %%
# A chain of three kinds of weather: where it spends its time, and how long until the sun returns.
chain = MarkovChain.from_matrix(
    [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.2, 0.4, 0.4]], states=["sun", "cloud", "rain"]
)
share, days = chain.stationary_distribution(), chain.hitting_times(["sun"])
for state, s, d in zip(chain.states_, share, days, strict=True):
    print(f"{state:5}  {s:.1%} of all days; sun after {d:.2f} days")
print(" ".join(chain.sample(12, start="sun", random_state=0)[0]))
