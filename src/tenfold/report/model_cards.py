"""Model cards: what each kind of model is, its objective, its strength."""

from __future__ import annotations

from typing import NamedTuple

from tenfold.automl.result import Attempt, Study
from tenfold.report.format import short_title
from tenfold.report.svg import Html, joined, render_formula, tag


class ModelCard(NamedTuple):
    """What the page tells about a kind of model."""

    words: str
    formula: str
    topics: tuple[str, ...]  # rows of docs/syllabus.md
    strength: str
    notes: str  # sections of the course notes, as the syllabus lists them


MODEL_CARDS: dict[str, ModelCard] = {
    "baseline": ModelCard(
        "Looks at the target alone and always says the same: its mean, or its most frequent class. "
        "A model that does not beat it has learned nothing from the columns.",
        r"\hat y = \mathrm{arg}\,\min_{c}\; \sum_{i=1}^{n}\, \ell\,(y_i,\, c)",
        ("L17",),
        "The floor under every other score.",
        "001 §1.3",
    ),
    "ridge": ModelCard(
        "A weighted sum of the columns, fitted by least squares, where large weights cost "
        "something. The penalty λ is chosen by cross-validation inside the training rows; it keeps "
        "weights of columns that say the same from running off in opposite directions.",
        r"\min_{w,\,b}\; \sum_{i=1}^{n}\, \left(y_i - w \cdot x_i - b\right)^2"
        r" + \lambda \Vert w \Vert_2^2",
        ("L02", "L01"),
        "Steady, fast, readable; straight lines only.",
        "000 §1.4.3, 001 §1.2, 002 §3.4.1, 003 lecture 5, 004 §2.7",
    ),
    "lasso": ModelCard(
        "Least squares where the sum of absolute weights is penalised. The corner of that penalty "
        "sets many weights to exactly zero, so the model also chooses columns.",
        r"\min_{w,\,b}\; \dfrac{1}{2n} \sum_{i=1}^{n}\, \left(y_i - w \cdot x_i - b\right)^2"
        r" + \alpha \Vert w \Vert_1",
        ("L03",),
        "Good when few columns matter.",
        "002 §3.4.3, 004 §2.7",
    ),
    "logistic": ModelCard(
        "A weighted sum of the columns becomes a probability through the logistic curve (softmax "
        "for several classes). The weights make the observed classes most likely, and large ones "
        "are penalised. Each weight is a change of the log-odds.",
        r"\min_{w,\,b}\; \sum_{i=1}^{n}\, \log\left(1 + e^{-y_i (w \cdot x_i + b)}\right)"
        r" + \dfrac{1}{2C} \Vert w \Vert_2^2",
        ("L11", "L12"),
        "Honest probabilities and readable weights; its boundary is a plane.",
        "000 §1.2, 001 §2.2, 002 §2.1, 004 §3.6.1",
    ),
    "linear_splines": ModelCard(
        "Each number is first replaced by smooth bumps along its range, then a linear model weighs "
        "the bumps. So every column may act by a curve of its own, and the curves add up.",
        r"\hat y = b + \sum_{j=1}^{p}\, f_j(x_j), \qquad f_j(x) = \sum_{m}\, w_{jm} B_m(x)",
        ("L05", "L02"),
        "Curves without interactions: still easy to draw, column by column.",
        "000 §1.7.1, 001 §1.2, 002 §1.3, 003 lecture 6, 004 §2.7",
    ),
    "interactions": ModelCard(
        "A linear model that also gets the products of all pairs of columns, so that the effect of "
        "one column may depend on another.",
        r"\hat y = b + \sum_{j}\, w_j x_j + \sum_{j \leq k}\, w_{jk}\, x_j x_k",
        ("L05", "L02"),
        "Finds columns that work together; the number of weights grows with the square.",
        "000 §1.7.1, 001 §1.2, 002 §1.3, 003 lecture 6, 004 §2.7",
    ),
    "radial": ModelCard(
        "Each row is described by its similarity to some rows drawn at random, which fades with "
        "distance like a bell. A linear model weighs these bumps, so its surface can bend "
        "anywhere. With many bumps this comes close to a kernel machine, at a cost that grows with "
        "the rows.",
        r"\hat y = b + \sum_{c=1}^{m}\, w_c\, e^{-\gamma \Vert x - x_c \Vert_2^2}",
        ("K10", "K08", "L05"),
        "Smooth surfaces of any shape; no weights to read.",
        "000 §1.7.2",
    ),
    "naive_bayes": ModelCard(
        "Learns for each class how each column is distributed, as if columns were independent "
        "within a class, and turns that round by Bayes' rule. One pass of counting is all it "
        "takes.",
        r"p(c \mid x) \;\propto\; p(c) \prod_{j=1}^{p}\, p(x_j \mid c)",
        ("G02",),
        "Fast, good with few rows and with words; over-confident when columns repeat each other.",
        "001 §2.7, 002 §5.2, 003 lecture 15, 004 §3.6.2",
    ),
    "lda": ModelCard(
        "Each class is a Gaussian cloud with its own centre, and all clouds have the same shape. "
        "Bayes' rule then draws flat boundaries between them.",
        r"\hat c = \mathrm{arg}\,\max_{c}\; \mu_c^{\top} \Sigma^{-1} x"
        r" - \dfrac{1}{2}\, \mu_c^{\top} \Sigma^{-1} \mu_c + \log \pi_c",
        ("G03",),
        "Steady with few rows; closed form.",
        "001 §2.9, 004 §3.6.2",
    ),
    "qda": ModelCard(
        "Each class is a Gaussian cloud with a centre and a shape of its own, which makes the "
        "boundaries curved. It needs many rows per class to know the shapes.",
        r"\hat c = \mathrm{arg}\,\max_{c}\; -\dfrac{1}{2} \log |\Sigma_c|"
        r" - \dfrac{1}{2} (x - \mu_c)^{\top} \Sigma_c^{-1} (x - \mu_c) + \log \pi_c",
        ("G03",),
        "Curved boundaries; hungry for rows.",
        "001 §2.9, 004 §3.6.2",
    ),
    "linear_svm": ModelCard(
        "Looks for the plane with the widest gap between two classes; rows inside the gap or on "
        "the wrong side cost in proportion. Only those rows, the support vectors, shape the plane.",
        r"\min_{w,\,b}\; \dfrac{1}{2} \Vert w \Vert_2^2 + C \sum_{i=1}^{n}\,"
        r" \max\left(0,\; 1 - y_i (w \cdot x_i + b)\right)",
        ("L14",),
        "Sharp decisions; no probabilities of its own.",
        "000 §1.3.2, 002 §6.3, 003 lecture 3, 004 §5.1",
    ),
    "mlp": ModelCard(
        "Layers of weighted sums, each bent by a simple non-linear function. Gradients are carried "
        "backwards through the layers, and the weights move a little against them, batch by batch.",
        r"\hat y = W_2\, \sigma(W_1 x + b_1) + b_2, \qquad"
        r" W \leftarrow W - \eta\, \nabla_W \sum_{i}\, \ell\,(y_i,\, \hat y_i)",
        ("N01", "N02"),
        "Learns features by itself; needs rows and care.",
        "000 §1.7.4, 001 §3.1, 003 lecture 8, 004 §4.1–4.3",
    ),
    "neighbours": ModelCard(
        "Keeps all training rows. A new row gets the mean, or the vote, of the k rows nearest to "
        "it.",
        r"\hat y(x) = \dfrac{1}{k} \sum_{i \,\in\, N_k(x)}\, y_i",
        ("K07",),
        "Any shape of boundary; slow and vague in many dimensions.",
        "000 §1.7.2, 002 §6.1, 004 §2.2",
    ),
    "kernel_svm": ModelCard(
        "A support vector machine that measures similarity by a kernel, which is a plane in a "
        "space of many more features, never written down. The boundary bends around the support "
        "vectors.",
        r"\max_{0 \leq \alpha \leq C}\; \sum_{i}\, \alpha_i - \dfrac{1}{2} \sum_{i,j}\,"
        r" \alpha_i \alpha_j y_i y_j\, k(x_i, x_j)",
        ("K04",),
        "Strong on middling numbers of rows; its cost grows with their square.",
        "000 §1.8, 002 §6.3, 004 §5.4",
    ),
    "boosting": ModelCard(
        "Hundreds of small decision trees, each correcting what those before it left over. It is "
        "scikit-learn's, stands here as a yardstick, and is never chosen: it shows what a strong "
        "general method reaches on the same folds.",
        r"F_m(x) = F_{m-1}(x) + \eta\, h_m(x), \qquad"
        r" h_m \approx -\,\dfrac{\partial \ell\,(y,\, F)}{\partial F}",
        ("X01",),
        "Finds steps and interactions by itself; hard to read.",
        "000 §1.8, 003 lecture 6",
    ),
    "kmeans": ModelCard(
        "Groups rows around k centres: each row goes to the nearest centre, each centre moves to "
        "the mean of its rows, until nothing changes. Columns are standardised first.",
        r"\min_{\mu_1 \ldots \mu_k}\; \sum_{i=1}^{n}\, \min_{c}\; \Vert x_i - \mu_c \Vert_2^2",
        ("C01", "C05"),
        "Round groups of similar size.",
        "000 §4.1, 002 §7.1, 003 lecture 13, 004 §6.2",
    ),
}


def find_model_card(rung: str) -> ModelCard | None:
    """What is told about a rung; keys such as "kmeans_4" belong to "kmeans"."""
    best = max((key for key in MODEL_CARDS if rung.startswith(key)), key=len, default=None)
    return None if best is None else MODEL_CARDS[best]


def model_cards_section(study: Study) -> Html:
    """The chosen model first, then the others in the order of the ladder."""
    attempts = [study.chosen, *(each for each in study.attempts if each is not study.chosen)]
    told: dict[str, tuple[ModelCard, Attempt]] = {}
    for attempt in attempts:
        found = find_model_card(attempt.key)
        if found is not None and found.words not in told:
            told[found.words] = (found, attempt)
    parts = [_model(found, attempt, study) for found, attempt in told.values()]
    said = (
        "What each model looks for, the chosen one first. Numbers such as L02 are topics of "
        "tenfold's syllabus, 004 §2.7 a section of the course notes that it covers."
    )
    return joined(tag("p", said, class_="say"), parts)


def _model(found: ModelCard, attempt: Attempt, study: Study) -> Html:
    badge = tag("span", "chosen", class_="badge chosen") if attempt is study.chosen else None
    topics = ", ".join(found.topics)
    return tag(
        "article",
        tag(
            "div",
            tag("h3", short_title(attempt.title), badge),
            tag("p", found.words, " ", found.strength),
            tag("p", f"Syllabus: {topics} · Notes: {found.notes}", class_="source"),
        ),
        tag("div", render_formula(found.formula), class_="formula"),
        class_="model",
    )
