"""Coherence of topics by gensim, for tests/topics/test_coherence.py: run once, with gensim.

python tests/reference/make_gensim_coherence.py > tests/reference/gensim_coherence.json
"""

import json
import sys

import numpy as np
from gensim.corpora import Dictionary
from gensim.models.coherencemodel import CoherenceModel

TOPICS = [["w0", "w1", "w2", "w3"], ["w4", "w1", "w7", "w9"], ["w11", "w5", "w0", "w2"]]


def make_texts():
    """Texts of words that come in two groups, each shorter than all windows.

    In longer texts gensim 4.4 forgets a word when one of its occurrences leaves the window.
    """
    rng = np.random.default_rng(5)
    texts = []
    for i in range(200):
        shares = np.where(np.arange(14) % 2 == i % 2, 3.0, 1.0)
        words = rng.choice(14, rng.integers(1, 10), p=shares / shares.sum())
        texts.append([f"w{word}" for word in words])
    return texts


def main():
    texts = make_texts()
    dictionary = Dictionary(texts)
    found = {}
    for measure in ("u_mass", "c_uci", "c_npmi", "c_v"):
        model = CoherenceModel(
            topics=TOPICS,
            texts=texts,
            corpus=[dictionary.doc2bow(text) for text in texts],
            dictionary=dictionary,
            coherence=measure,
            processes=1,
        )
        found[measure] = [float(value) for value in model.get_coherence_per_topic()]
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
