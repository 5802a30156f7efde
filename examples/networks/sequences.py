"""
Sequences: what a state remembers
=================================

A recurrent network reads a sequence step by step and keeps a state. Plain states forget; gates
decide what is kept.
"""

# %%
# The next value of a series that jumps about by a simple rule, x -> 3.8 x (1 - x). A row is its
# last eight values, the oldest first. No line knows the rule; a network that reads them learns it.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import LinearRegression, RecurrentClassifier, RecurrentRegressor
from tenfold.datasets import make_windows
from tenfold.optim.schedules import CosineDecay
from tenfold.plot.style import style_axes

rng = np.random.default_rng(0)
series = np.full(1200, 0.3)
for now in range(1, len(series)):
    series[now] = 3.8 * series[now - 1] * (1 - series[now - 1])
X, y = make_windows(series + 0.01 * rng.normal(size=len(series)), window=8)
X = X[:, ::-1]
cut = 900
line = LinearRegression().fit(X[:cut], y[:cut])
gates = RecurrentRegressor("gru", 24, epochs=60, learning_rate=0.01, batch_size=32, random_state=0)
gates.fit(X[:cut], y[:cut])
for name, model in (("a line in eight values", line), ("a GRU of 24 units", gates)):
    print(f"{name}: mean squared error {np.mean((model.predict(X[cut:]) - y[cut:]) ** 2):.5f}")

fig, ax = plt.subplots(figsize=(9, 3), layout="constrained")
shown = slice(cut, cut + 80)
ax.plot(y[shown], color="0.8", lw=4, label="series")
ax.plot(gates.predict(X[shown]), lw=1.2, label="GRU, one step ahead")
ax.plot(line.predict(X[shown]), lw=1.2, ls=":", label="line, one step ahead")
ax.set(xlabel="time", ylabel="value", title="The next value from the last eight")
ax.legend(frameon=False, ncols=3, loc="lower center")
style_axes(ax)

# %%
# What came first? The class is the first symbol; all others are noise. The longer the sequence, the
# farther the first symbol lies back, and the smaller its slope when it arrives there.
cells = {"rnn": "plain state", "gated": "one gate", "gru": "GRU", "lstm": "LSTM"}
lengths = (4, 8, 16)
share = {cell: [] for cell in cells}
for length in lengths:
    symbols = rng.integers(0, 4, size=(1500, length))
    first = symbols[:, 0] >= 2
    for cell in cells:
        model = RecurrentClassifier(
            cell, 24, embedding=8, epochs=30, learning_rate=0.01, batch_size=64, random_state=0
        )
        model.fit(list(symbols[:1000]), first[:1000])
        share[cell].append(model.score(list(symbols[1000:]), first[1000:]))

fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for cell, name in cells.items():
    ax.plot(lengths, share[cell], "o-", label=name)
    print(
        f"{name}: "
        + ", ".join(f"{s:.0%} at {n}" for n, s in zip(lengths, share[cell], strict=True))
    )
ax.axhline(0.5, color="0.7", lw=1, ls="--")
ax.set(xlabel="length of the sequences", ylabel="share right", title="Which symbol came first?")
ax.legend(frameon=False)
style_axes(ax)

# %%
# Sequences of different lengths need no padding by hand: a list of arrays is enough. Whether there
# are more ones than zeros is a matter of counting, and the last state is the count.
words = [rng.integers(0, 2, size=rng.integers(3, 20)) for _ in range(1500)]
more = [int(2 * word.sum() > len(word)) for word in words]
counter = RecurrentClassifier("gru", 16, embedding=4, epochs=15, learning_rate=0.01, random_state=0)
counter.fit(words[:1000], more[:1000])
print(f"more ones than zeros: {counter.score(words[1000:], more[1000:]):.0%} right")
plt.show()

# %%
# A label for each step. Sentences of the words of the notes, drawn from their table of which word
# follows which; at every step the network says the next word. Each sentence starts from nothing,
# and what was true, not what was said, is read at the next step. The true words depend on the last
# one alone, and the rows of probabilities that it says come close to those of the table.
names = ["<beg>", "ML", "course", "is", "UNK", "<end>"]
table = np.array(
    [
        [0.7, 0.1, 0.1, 0.1, 0.0],
        [0.1, 0.5, 0.2, 0.1, 0.1],
        [0.0, 0.0, 0.7, 0.1, 0.2],
        [0.1, 0.3, 0.0, 0.6, 0.0],
        [0.1, 0.2, 0.2, 0.3, 0.2],
    ]
)
sentences = []
for _ in range(2000):
    sentence = [0]
    while sentence[-1] != 5:
        sentence.append(1 + rng.choice(5, p=table[sentence[-1]]))
    sentences.append(np.array(sentence))
before, after = [s[:-1] for s in sentences], [s[1:] for s in sentences]
speaker = RecurrentClassifier("rnn", 16, embedding=8, epochs=15, batch_size=64, random_state=0)
speaker.set_params(learning_rate=CosineDecay(0.02, 15 * 32)).fit(before, after)
said, word = np.vstack(speaker.predict_proba(before)), np.concatenate(before)
print(f"{'mean of what is said (table)':30s}" + "".join(f"{name:>14s}" for name in names[1:]))
for number, row in enumerate(table):
    pairs = zip(said[word == number].mean(axis=0), row, strict=True)
    print(f"after {names[number]:24s}" + "".join(f"{a:8.2f} ({b:.1f})" for a, b in pairs))

# %%
# The notes' sentence "course is great", whose last word is unknown, has the probability
# 0.1 x 0.7 x 0.6 x 0.2, which is 0.0084.
sentence = np.array([0, 2, 3, 4, 5])
chances = speaker.predict_proba([sentence[:-1]])[0]
likely = np.prod(chances[np.arange(4), sentence[1:] - 1])
print(f"the network: {likely:.4f}, the table: {0.1 * 0.7 * 0.6 * 0.2:.4f}")
