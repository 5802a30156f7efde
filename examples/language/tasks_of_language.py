"""
Tasks of language
=================

Tags and names by a conditional random field, determiners, answers and summaries by retrieval, a
dialogue without understanding, and why 93 % can be too little. [X02, D40]
"""

# %%
# **Tagging and named entities.** A conditional random field labels all words of a sentence at once.
# Features of a word are its form, its ends and its neighbors, so it labels words that it never saw.
import matplotlib.pyplot as plt
import numpy as np

from tenfold import CRF, PassageRetriever
from tenfold.language import Eliza, find_spans, sequence_accuracy, summarize
from tenfold.plot.style import legend_outside, palette_color, style_axes

rng = np.random.default_rng(0)
people, places = ["Anna", "Bert", "Clara", "David"], ["Rome", "Paris", "Berlin", "Oslo"]
verbs, nouns = ["sees", "likes", "visits", "paints"], ["bridge", "house", "river", "garden"]
sentences, tags, names = [], [], []
for _ in range(150):
    person, place, verb, noun = (str(rng.choice(c)) for c in (people, places, verbs, nouns))
    if rng.random() < 0.5:
        sentences.append([person, verb, "the", noun, "in", place, "."])
        tags.append(["NNP", "VBZ", "DT", "NN", "IN", "NNP", "."])
        names.append(["PER", "O", "O", "O", "O", "LOC", "O"])
    else:
        sentences.append(["The", noun, "of", place, verb, person, "."])
        tags.append(["DT", "NN", "IN", "NNP", "VBZ", "NNP", "."])
        names.append(["O", "O", "O", "LOC", "O", "PER", "O"])
tagger, finder = CRF(alpha=0.1).fit(sentences, tags), CRF(alpha=0.1).fit(sentences, names)
new = ["Zara", "likes", "the", "tower", "in", "Vienna", "."]
print(list(zip(new, tagger.predict([new])[0], strict=True)))
print([(new[span.first], span.label) for span in find_spans(finder.predict([new])[0])])

fig, ax = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
limit = np.abs(tagger.transition_).max()
image = ax.imshow(tagger.transition_, cmap="RdBu", vmin=-limit, vmax=limit)
ax.set_xticks(range(len(tagger.classes_)), tagger.classes_)
ax.set_yticks(range(len(tagger.classes_)), tagger.classes_)
ax.set(xlabel="next tag", ylabel="tag", title="Learned scores of pairs of tags")
fig.colorbar(image)

# %%
# **Arcs and sentences.** The course reports parsers with 93.2 % of their arcs right and fewer than
# 30 % of their sentences. A sentence is right if all its arcs are: with independent mistakes, the
# second number is the first to the power of the length.
lengths = np.arange(1, 41)
fig, ax = plt.subplots(figsize=(5.0, 3.2), layout="constrained")
for number, share in enumerate((0.9, 0.932, 0.97, 0.99)):
    ax.plot(lengths, share**lengths, color=palette_color(number), label=f"{share:.1%} of arcs")
ax.axhline(0.3, color="gray", linewidth=0.8)
ax.set(xlabel="words of a sentence", ylabel="sentences all right", ylim=(0, 1))
legend_outside(ax)
style_axes(ax)
drawn = [list(rng.random(20) < 0.932) for _ in range(2000)]
found = sequence_accuracy([[True] * 20] * 2000, drawn)
print(f"20 words: {found.steps:.1%} of the arcs, {found.sequences:.1%} of the sentences right")

# %%
# **Determiners.** "a", "some" or "the" before a noun: singular or plural, first mention or not.


def story():
    """Features of nouns, and their determiners."""
    seen, steps, labels = set(), [], []
    for _ in range(6):
        noun, plural = str(rng.choice(nouns)), bool(rng.random() < 0.3)
        first = noun not in seen
        steps.append({"plural": float(plural), "first mention": float(first), "bias": 1.0})
        labels.append(("some" if plural else "a") if first else "the")
        seen.add(noun)
    return steps, labels


stories = [story() for _ in range(100)]
placer = CRF(alpha=0.1).fit([steps for steps, _ in stories], [labels for _, labels in stories])
for name, row in zip(placer.feature_names_, placer.coef_, strict=True):
    print(name, dict(zip(placer.classes_, row.round(1).tolist(), strict=True)))

# %%
# **Questions and summaries** by retrieval: an answer is the passage that shares the rarest words
# with the question, a summary the sentences that are most like the others. Nothing is generated.
passages = [
    "The bridge over the river was built in 1890.",
    "The tower stands on a hill and is 52 meters high.",
    "The garden is open from nine to five; on Mondays it is closed.",
]
retriever = PassageRetriever().fit(passages)
for question in ("How high is the tower?", "Is the garden open on Mondays?"):
    print(f"{question} {retriever.answer(question).text}")
report = (
    "The storm reached the coast on Friday. A ferry waited. The storm broke trees on the coast. "
    "Schools had ended early. Trees on the coast fell in the storm on Friday night."
)
print(summarize(report, 2))

# %%
# **Dialogue.** ELIZA looks for keywords and turns the sentence round; without a keyword it comes
# back to an earlier remark.
eliza = Eliza()
for remark in ("Hello", "I am worried about my exam", "Because it is hard.", "It just is."):
    print(f"> {remark}\n{eliza.reply(remark)}")
