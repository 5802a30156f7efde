"""ELIZA: a dialogue by keywords and rules of transformation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tenfold.sequence._symbols import check_text

# Keyword pattern, and answers; {0} is what the pattern caught, seen from the other side.
RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"i need (.*)", ("Why do you need {0}?", "Would {0} really help you?")),
    (r"i am (.*)", ("How long have you been {0}?", "Why do you say that you are {0}?")),
    (r"i feel (.*)", ("Do you often feel {0}?", "When do you feel {0}?")),
    (r"because (.*)", ("Is that the only reason?", "What else could explain it?")),
    (r"(?:.*)\bmy (mother|father|sister|brother)\b(?:.*)", ("Tell me more about your {0}.",)),
    (r"you are (.*)", ("What makes you think that I am {0}?",)),
    (r"(?:.*)\b(?:always|never)\b(?:.*)", ("Can you think of an exception?",)),
    (r"(?:hello|hi)\b(.*)", ("Hello. What is on your mind?",)),
    (r"(.*)\?", ("Why do you ask?", "What do you think?")),
)
RIPOSTES = ("Please go on.", "I see.", "Can you say more about that?")
_REFLECTIONS = {
    "i": "you", "me": "you", "my": "your", "mine": "yours", "am": "are", "myself": "yourself",
    "you": "I", "your": "my", "yours": "mine", "yourself": "myself",
}  # fmt: skip


class Eliza:
    """A dialogue partner that understands nothing: the program of Weizenbaum.

    The first rule whose keywords are in the text transforms it into an answer; answers of a rule
    take turns. Without a rule, it comes back to an earlier remark about "my ..." or says something
    that always suits.

    Parameters
    ----------
    rules : sequence of (pattern, answers)
        Patterns of regular expressions, and answers; ``{0}`` stands for the first group with "I"
        and "you" exchanged.
    ripostes : sequence of str
        Answers that always suit.

    References
    ----------
    J. Weizenbaum (1966), "ELIZA: a computer program for the study of natural language communication
    between man and machine".

    Examples
    --------
    >>> eliza = Eliza()
    >>> eliza.reply("I am unhappy with my exam.")
    'How long have you been unhappy with your exam?'
    >>> eliza.reply("Well.")
    'Earlier you spoke of your exam. Has that to do with it?'
    """

    def __init__(
        self,
        rules: Sequence[tuple[str, Sequence[str]]] = RULES,
        ripostes: Sequence[str] = RIPOSTES,
    ) -> None:
        self.rules = [(re.compile(pattern, re.IGNORECASE), answers) for pattern, answers in rules]
        self.ripostes = list(ripostes)
        self.turns: dict[int, int] = {}
        self.remarks: list[str] = []

    def reply(self, text: str) -> str:
        """The answer to a remark.

        Parameters
        ----------
        text : str
            What was said.
        """
        text = check_text(text, "a remark").strip().rstrip(".!")
        answer = self._transform(text)
        if answer is None:
            answer = self._recall()
        remark = re.search(r"\bmy ([\w ]+)", text, re.IGNORECASE)
        if remark:
            self.remarks.append(reflect(remark[1].strip()))
        return answer

    def _transform(self, text: str) -> str | None:
        for number, (pattern, answers) in enumerate(self.rules):
            match = pattern.fullmatch(text)
            if match:
                caught = reflect(match[1].strip()) if match.groups() else ""
                return self._next(number, answers).format(caught)
        return None

    def _recall(self) -> str:
        """An earlier remark, or something that always suits."""
        if self.remarks:
            return f"Earlier you spoke of your {self.remarks.pop(0)}. Has that to do with it?"
        return self._next(-1, self.ripostes)

    def _next(self, number: int, answers: Sequence[str]) -> str:
        turn = self.turns.get(number, 0)
        self.turns[number] = turn + 1
        return answers[turn % len(answers)]


def reflect(text: str) -> str:
    """A text seen from the other side: "I" and "you" exchanged.

    Examples
    --------
    >>> reflect("I lost my keys")
    'you lost your keys'
    """
    return " ".join(_REFLECTIONS.get(word.lower(), word) for word in text.split())
