"""Language models side by side: parameters, time, bits and a sample of each."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any, NamedTuple

from sklearn.base import clone

from tenfold.sequence.language_model import LanguageModel


class LanguageModelScore(NamedTuple):
    """What a model costs, and how well it predicts.

    Attributes
    ----------
    name : str
    parameters : int, number of weights or stored probabilities
    seconds, processor_seconds : float, of the fit
    bits_per_character, perplexity : float, on the test documents; the second of symbols
    sample : str, text of the model
    model : the fitted model
    """

    name: str
    parameters: int
    seconds: float
    processor_seconds: float
    bits_per_character: float
    perplexity: float
    sample: Any
    model: LanguageModel


class LanguageModelTable(list[LanguageModelScore]):
    """Scores of models, the best first; `print` shows them as a table."""

    def __str__(self) -> str:
        width = max([5, *(len(row.name) for row in self)])
        lines = [f"{'model':<{width}}  parameters  seconds  bits/character  perplexity"]
        lines += [
            f"{row.name:<{width}}  {row.parameters:>10,}  {row.seconds:>7.1f}  "
            f"{row.bits_per_character:>14.3f}  {row.perplexity:>10.2f}"
            for row in self
        ]
        return "\n".join(lines)


def compare_language_models(
    models: dict[str, Any],
    train: Any,
    test: Any,
    *,
    sample_length: int = 100,
    random_state: int = 0,
) -> LanguageModelTable:
    """Fit language models to the same documents and score them on others.

    Parameters
    ----------
    models : dict from names to models
        `NGramModel`, `SoftmaxLanguageModel`, `RecurrentLanguageModel`,
        `TransformerLanguageModel` or any other `LanguageModel`. Unfitted ones are cloned and
        fitted; fitted ones are scored as they are, and their times are zero.
    train, test : str, list of str, or path
        Documents.
    sample_length : int
        Symbols of the sample of each model.
    random_state : int
        Seed of the samples.

    Returns
    -------
    LanguageModelTable
        A list of scores, fewest bits per character first.

    Examples
    --------
    >>> from tenfold import NGramModel, SoftmaxLanguageModel, compare_language_models
    >>> models = {
    ...     "bigram": NGramModel(2, unit="character", boundaries=False),
    ...     "softmax": SoftmaxLanguageModel(2, boundaries=False),
    ... }
    >>> table = compare_language_models(models, "abracadabra" * 9, "abracadabra")
    >>> [row.name for row in table], table[0].bits_per_character < 1
    (['bigram', 'softmax'], True)
    """
    rows = []
    for name, given in models.items():
        if not isinstance(given, LanguageModel):
            raise TypeError(f"{name}: a {type(given).__name__} is no language model")
        model, seconds, processor = given, 0.0, 0.0
        if not hasattr(given, "symbols_"):
            begin, begin_processor = perf_counter(), process_time()
            learner: Any = clone(given)
            model = learner.fit(train)
            seconds, processor = perf_counter() - begin, process_time() - begin_processor
        rows.append(
            LanguageModelScore(
                name,
                model.n_parameters_,
                seconds,
                processor,
                model.bits_per_character(test),
                model.perplexity(test),
                model.sample(max_length=sample_length, random_state=random_state)[0],
                model,
            )
        )
    return LanguageModelTable(sorted(rows, key=lambda row: row.bits_per_character))
