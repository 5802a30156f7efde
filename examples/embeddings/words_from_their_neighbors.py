"""
Words from their neighbors: distances and a map
===============================================

One-hot words have no distances: bulldog is as far from beagle as from lipstick. Vectors learned
from which words stand near which have them. Three ways on one corpus, their scores against
judgements of people, cosines of related words, and a map by principal components.
"""

# %%
# Related words as the notes describe it: vectors whose cosines are large for pairs that belong
# together.
import os

import matplotlib.pyplot as plt
import numpy as np

from tenfold import GloVe, PPMIEmbedding, Word2Vec, datasets
from tenfold.embeddings import embed_related_words, evaluate_similarity
from tenfold.plot.style import palette_color, style_axes

dogs = embed_related_words(
    [("bulldog", "beagle"), ("beagle", "poodle"), ("lipstick", "powder"), ("powder", "rouge")]
)
print(f"cos(bulldog, beagle)   {dogs.similarity('bulldog', 'beagle'):5.2f}")
print(f"cos(bulldog, lipstick) {dogs.similarity('bulldog', 'lipstick'):5.2f}")

# %%
# A corpus: some of the 20 newsgroups if TENFOLD_DATA names their folder, else made-up sentences.
if os.environ.get("TENFOLD_DATA"):
    groups = ["rec.autos", "rec.sport.hockey", "sci.space", "sci.med", "soc.religion.christian"]
    removed = ("headers", "footers", "quotes")
    texts = datasets.fetch_20newsgroups(subset="all", categories=groups, remove=removed).data
    KINDS = {
        "driving": ["car", "cars", "engine", "tires", "dealer", "brake", "ford", "toyota"],
        "hockey": ["team", "game", "players", "season", "goal", "playoffs", "puck", "hockey"],
        "space": ["orbit", "shuttle", "nasa", "lunar", "launch", "satellite", "moon", "mission"],
        "medicine": ["disease", "patients", "doctor", "treatment", "drug", "pain", "medical"],
        "belief": ["god", "jesus", "faith", "church", "christ", "sin", "bible", "heaven"],
    }
    SETTINGS = {"min_count": 10, "random_state": 0}
else:
    print("No newsgroups here (TENFOLD_DATA is not set): made-up sentences instead")
    KINDS = {
        "animals": ["cat", "dog", "horse", "mouse"],
        "cars": ["car", "bus", "truck", "taxi"],
    }
    frames = {"animals": "the {} sleeps in its warm hay", "cars": "a {} drives on that wide road"}
    rng = np.random.default_rng(0)
    kinds = rng.choice(list(KINDS), 3000)
    texts = [frames[kind].format(rng.choice(KINDS[kind])) for kind in kinds]
    SETTINGS = {"min_count": 1, "random_state": 0}

# %%
# Mutual information and its singular vectors; a weighted factorization of logarithms of counts;
# and skip-gram with negative samples. The first two learn from one table of counts.
models = {
    "PPMI + SVD": PPMIEmbedding(50, **SETTINGS).fit(texts),
    "GloVe": GloVe(50, x_max=10, epochs=30, **SETTINGS).fit(texts),
    "skip-gram": Word2Vec(50, epochs=5, **SETTINGS).fit(texts),
}
words = [word for kind in KINDS.values() for word in kind if word in models["GloVe"]]
for name, model in models.items():
    near = ", ".join(word for word, _ in model.most_similar(words[0], n=5))
    print(f"{name:11s} near {words[0]!r}: {near}")
    if os.environ.get("TENFOLD_DATA"):
        pairs = datasets.fetch_word_similarity("wordsim353")
        score = evaluate_similarity(model, pairs.data, pairs.target)
        print(f"{'':11s} WordSim-353: {score.correlation:.2f} on {score.n_pairs} pairs")

# %%
# Cosines of words of five kinds: blocks on the diagonal are words that belong together.
figure, axes = plt.subplots(1, 3, figsize=(13, 4.6))
for axis, (name, model) in zip(axes, models.items(), strict=True):
    axis.imshow(model.similarity_matrix(words), cmap="viridis", vmin=-0.2, vmax=1)
    axis.set_title(f"{name}: cosines")
    axis.set_xticks([])
    axis.set_yticks(range(len(words)), words, fontsize=5)
figure.tight_layout()

# %%
# The map. "Related terms will be clustered together, even if the machine doesn't know anything
# about them", say the notes.
figure, axis = plt.subplots(figsize=(8, 6))
model = models["skip-gram"]
places = model.map_words(words)
for color, (kind, members) in enumerate(KINDS.items()):
    chosen = [i for i, word in enumerate(words) if word in members]
    axis.scatter(*places[chosen].T, s=18, color=palette_color(color), label=kind)
    for i in chosen:
        axis.annotate(words[i], places[i], fontsize=8, xytext=(3, 2), textcoords="offset points")
style_axes(axis)
axis.legend()
axis.set_title("Words on the first two principal components of their vectors")
plt.show()
