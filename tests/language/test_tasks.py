"""Tasks of language: ELIZA, determiners, accuracy of arcs and sentences, extraction, summaries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tenfold
from tenfold import CRF, PassageRetriever
from tenfold.language import Eliza, Span, find_spans, sequence_accuracy, split_sentences, summarize


def test_eliza_transforms_by_keyword_repeats_a_remark_or_says_what_always_suits():
    eliza = Eliza()
    assert eliza.reply("Hm") == "Please go on."
    assert eliza.reply("I am afraid of my brother") == (
        "How long have you been afraid of your brother?"
    )
    assert eliza.reply("I am lost!") == "Why do you say that you are lost?"  # answers take turns
    assert eliza.reply("Hm") == "Earlier you spoke of your brother. Has that to do with it?"
    assert eliza.reply("Hm") == "I see."
    assert eliza.reply("you are kind to me") == "What makes you think that I am kind to you?"
    assert eliza.reply("") == "Can you say more about that?"
    own = Eliza([(r"(.*) is (.*)", ["Why is {0} so?"])], ["Oh."])
    assert own.reply("Rain is wet") == "Why is Rain so?"
    assert own.reply("Yes") == "Oh."


def test_right_arcs_and_right_sentences_are_two_numbers():
    rng = np.random.default_rng(0)
    truth = [["right"] * 20 for _ in range(5000)]
    arcs = [list(np.where(rng.random(20) < 0.932, "right", "wrong")) for _ in range(5000)]
    found = sequence_accuracy(truth, arcs)
    assert_allclose(found.steps, 0.932, atol=0.005)
    assert_allclose(found.sequences, 0.932**20, atol=0.02)
    assert found.sequences < 0.30  # the notes report less than 30 %
    with pytest.raises(ValueError, match="sequence 0 has 2 and 1 labels"):
        sequence_accuracy([["a", "b"]], [["a"]])
    with pytest.raises(ValueError, match="0 true sequences"):
        sequence_accuracy([], [])


def test_determiners_are_placed_by_number_and_first_mention():
    rng = np.random.default_rng(0)
    nouns = ["dog", "river", "tower", "garden", "letter"]

    def story():
        """Nouns as features, and the determiner before each."""
        seen, steps, labels = set(), [], []
        for _ in range(6):
            noun, plural = str(rng.choice(nouns)), bool(rng.random() < 0.3)
            first = noun not in seen
            steps.append({"plural": float(plural), "first": float(first), "noun": noun, "one": 1.0})
            labels.append(("some" if plural else "a") if first else "the")
            seen.add(noun)
        return steps, labels

    pairs = [story() for _ in range(120)]
    X, y = [steps for steps, _ in pairs], [labels for _, labels in pairs]
    model = CRF(alpha=0.1).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) == 1
    assert model.predict([[{"plural": 0.0, "first": 1.0, "noun": "owl", "one": 1.0}]]) == [["a"]]


def test_calendar_events_are_extracted_from_mails():
    rng = np.random.default_rng(0)
    days, rooms = ["Monday", "Tuesday", "Friday", "Sunday"], ["12", "7", "204", "31"]

    def mail():
        day, room, hour = rng.choice(days), rng.choice(rooms), f"{rng.integers(8, 19)}:00"
        forms = [
            (f"we meet on {day} at {hour} in room {room} .", "O O O DAY O TIME O O ROOM O"),
            (f"room {room} is free on {day} , come at {hour} .", "O ROOM O O O DAY O O O TIME O"),
        ]
        words, labels = forms[rng.integers(2)]
        return words.split(), labels.split()

    pairs = [mail() for _ in range(60)]
    model = CRF(alpha=0.1).fit([words for words, _ in pairs], [labels for _, labels in pairs])
    words = ["we", "meet", "on", "Thursday", "at", "9:00", "in", "room", "88", "."]
    spans = find_spans(model.predict([words])[0])
    assert {span.label: words[span.first] for span in spans} == {
        "DAY": "Thursday",
        "TIME": "9:00",
        "ROOM": "88",
    }


def test_spans_of_plain_and_of_begin_and_inside_labels():
    assert find_spans(["PER", "PER", "O", "LOC"]) == [Span(0, 2, "PER"), Span(3, 4, "LOC")]
    assert find_spans(["B-PER", "B-PER", "I-PER"]) == [Span(0, 1, "PER"), Span(1, 3, "PER")]
    assert find_spans(["I-PER", "I-LOC"]) == [Span(0, 1, "PER"), Span(1, 2, "LOC")]
    assert find_spans([]) == []
    assert find_spans([0, 1, 1], outside=0) == [Span(1, 3, 1)]


def test_questions_are_answered_by_the_passage_with_their_rare_words(tmp_path):
    passages = ["The river is long.", "The tower is high and old.", "The river has an old bridge."]
    model = PassageRetriever().fit(passages)
    assert model.answer("How high is the tower?").number == 1
    assert model.answer("Which bridge crosses the river?").number == 2
    assert model.answer("xylophone") is None
    ranks = model.rank("river bridge")
    assert [each.number for each in ranks] == [2, 0]
    assert_allclose(model.answer(passages[1]).similarity, 1)
    path = tmp_path / "passages.txt"
    path.write_text("\n".join(passages))
    assert PassageRetriever().fit(path).passages_ == passages
    with pytest.raises(ValueError, match="no passages"):
        PassageRetriever().fit([""])
    with pytest.raises(TypeError, match="passage 1 is a text"):
        PassageRetriever().fit(["a", None])
    with pytest.raises(TypeError, match="a question is a text"):
        model.answer(["How high?"])
    tenfold.save(model, tmp_path / "model.tenfold")
    loaded = tenfold.load(tmp_path / "model.tenfold")
    assert loaded.rank("old tower") == model.rank("old tower")


def test_a_summary_takes_sentences_that_are_like_the_others_in_their_order():
    text = ("The storm reached the coast. My cat sleeps. The storm broke trees on the coast. "
            "Soup is hot. Trees on the coast fell in the storm.")  # fmt: skip
    assert summarize(text, 2) == (
        "The storm broke trees on the coast. Trees on the coast fell in the storm."
    )
    assert summarize(text, 9) == text
    assert summarize("", 2) == ""
    assert split_sentences("One.\n\nTwo") == ["One.", "Two"]
    with pytest.raises(ValueError, match="at least 1"):
        summarize(text, 0)
    with pytest.raises(TypeError, match="not NoneType"):
        summarize(None, 1)
