"""
Translation and captions
========================

An encoder reads a source and hands its state to a decoder, which writes the target symbol by
symbol.
Small translations with exact answers show what attention is for. [N08]
"""

# %%
# **Dates.** From "7 March 2025" to "2025-03-07". Every answer is right or wrong.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import EncoderDecoder
from tenfold.neural import Conv2d, MaxPool
from tenfold.plot.style import palette_color, style_axes

months = "January February March April May June July August September October November December"
months = months.split()
rng = np.random.default_rng(0)
dates = [(rng.integers(1, 29), rng.integers(0, 12), rng.integers(10, 30)) for _ in range(500)]
sources = [f"{day} {months[month]} 20{year}" for day, month, year in dates]
targets = [f"20{year}-{month + 1:02}-{day:02}" for day, month, year in dates]
dated = EncoderDecoder("gru", 48, embedding=16, bidirectional=True, epochs=20, random_state=0).fit(
    sources[:400], targets[:400]
)
print(f"dates that were not seen: {dated.score(sources[400:], targets[400:]):.0%} exactly right")
print(dated.predict(["7 March 2025", "21 December 2012"]))

# %%
# Where the decoder looks: the year is at the end of the source and comes first in the target.
source = "7 March 2025"
symbols, weights = dated.attention_weights(source)
fig, ax = plt.subplots(figsize=(4.8, 4.0), layout="constrained")
ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
ax.set_xticks(range(len(source)), ["·" if letter == " " else letter for letter in source])
ax.set_yticks(range(len(symbols)), symbols)
ax.set(xlabel="source", ylabel="target", title="Attention of a translated date")

# %%
# **Reversed words.** Without attention the whole word must pass through one vector; long words
# suffer first.
words = ["".join(rng.choice(list("abcdef"), rng.integers(1, 9))) for _ in range(700)]
backwards = [word[::-1] for word in words]
fig, ax = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
lengths = np.array([len(word) for word in words[500:]])
for number, attention in enumerate((False, True)):
    model = EncoderDecoder("gru", 48, attention=attention, epochs=25, random_state=0)
    model.fit(words[:500], backwards[:500])
    found = model.predict(words[500:])
    right = np.array([a == b for a, b in zip(found, backwards[500:], strict=True)])
    share = [right[lengths == n].mean() for n in range(1, 9)]
    label = "with attention" if attention else "last state alone"
    ax.plot(range(1, 9), share, "o-", color=palette_color(number), label=label)
ax.set(xlabel="length of the word", ylabel="share exactly right", title="Words reversed")
ax.legend(frameon=False)
style_axes(ax)

# %%
# **Greedy, beam, sample.** The beam keeps several sequences and finds more probable ones.
for method in ("greedy", "beam", "sample"):
    print(f"{method}: {model.predict(['fabcdeab'], method=method, random_state=0)[0]}")
for text, log_prob in model.decode(["fabcdeab"], beam_width=3)[0]:
    print(f"  {text}: {np.exp(log_prob):.3f}")


# %%
# **Captions.** The encoder may be any layers: convolutions look at a picture, and the decoder
# attends to places of their output.
def draw(rng):
    """A picture of a shape, and its caption."""
    size, row, column = rng.integers(3, 6), rng.integers(0, 7), rng.integers(0, 7)
    kind, shade = rng.choice(["square", "cross", "corner"]), rng.choice(["light", "dark"])
    picture = np.zeros((12, 12, 1), np.float32)
    value = 0.5 if shade == "light" else 1.0
    part = picture[row : row + size, column : column + size, 0]
    if kind == "square":
        part[[0, -1]], part[:, [0, -1]] = value, value
    elif kind == "cross":
        part[size // 2], part[:, size // 2] = value, value
    else:
        part[0], part[:, 0] = value, value
    side = "left" if column + size / 2 < 6 else "right"
    picture += rng.normal(scale=0.05, size=picture.shape)
    return picture, f"a {shade} {kind} on the {side}"


pairs = [draw(rng) for _ in range(900)]
X, y = np.stack([picture for picture, _ in pairs]), [caption for _, caption in pairs]
layers = [Conv2d(16, 3, padding="same", activation="relu"), MaxPool(2)]
layers += [Conv2d(24, 3, padding="same", activation="relu")]
captions = EncoderDecoder("gru", 48, encoder=layers, unit="word", epochs=15, random_state=0).fit(
    X[:800], y[:800]
)
print(f"captions exactly right: {captions.score(X[800:], y[800:]):.0%}")
fig, axes = plt.subplots(1, 4, figsize=(9.6, 2.8), layout="constrained")
for ax, picture, caption in zip(axes, X[800:], captions.predict(X[800:804]), strict=False):
    ax.imshow(picture[:, :, 0], cmap="Greys", vmin=0, vmax=1)
    ax.set_title(caption, fontsize=9)
    ax.set_axis_off()
