"""Model cards: description, objective and strength of each candidate of `tenfold.learn`.

Keys are those of `tenfold.automl.candidates`; formulas are in matplotlib's subset of TeX.
"""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from tenfold.automl.result import Attempt, Study
from tenfold.report.format import short_title
from tenfold.report.svg import render_formula


class ModelCard(NamedTuple):
    """A kind of model: description, objective in TeX, strength and weakness."""

    description: str
    formula: str
    strength: str


MODEL_CARDS: dict[str, ModelCard] = {
    "baseline": ModelCard(
        "Predicts a constant: the mean of the target, or the class frequencies. A model that does "
        "not beat it has learned nothing from the columns.",
        r"\hat y = \mathrm{arg}\,\min_{c}\; \sum_{i=1}^{n}\, \ell\,(y_i,\, c)",
        "The lower bound of every other score.",
    ),
    "ridge": ModelCard(
        "A linear function of the columns, fitted by least squares with an L2 penalty on the "
        "weights. The penalty λ is chosen by cross-validation within the training rows; it "
        "stabilizes the weights of correlated columns.",
        r"\min_{w,\,b}\; \sum_{i=1}^{n}\, \left(y_i - w \cdot x_i - b\right)^2"
        r" + \lambda \Vert w \Vert_2^2",
        "Fast, stable and interpretable; linear effects only.",
    ),
    "lasso": ModelCard(
        "Least squares with an L1 penalty on the weights. The penalty sets many weights to "
        "exactly zero, so the model also selects columns.",
        r"\min_{w,\,b}\; \dfrac{1}{2n} \sum_{i=1}^{n}\, \left(y_i - w \cdot x_i - b\right)^2"
        r" + \alpha \Vert w \Vert_1",
        "Good if few columns matter.",
    ),
    "logistic": ModelCard(
        "The logistic function (softmax for several classes) turns a linear function of the "
        "columns into a probability. Weights maximize the likelihood with an L2 penalty; each "
        "weight is a change of the log-odds.",
        r"\min_{w,\,b}\; \sum_{i=1}^{n}\, \log\left(1 + e^{-y_i (w \cdot x_i + b)}\right)"
        r" + \dfrac{1}{2C} \Vert w \Vert_2^2",
        "Well calibrated probabilities and interpretable weights; linear decision boundary.",
    ),
    "linear_splines": ModelCard(
        "Each number is expanded into B-splines, and a linear model weighs them: every column has "
        "a smooth effect of its own, and the effects add up.",
        r"\hat y = b + \sum_{j=1}^{p}\, f_j(x_j), \qquad f_j(x) = \sum_{m}\, w_{jm} B_m(x)",
        "Non-linear effects without interactions, easy to plot column by column.",
    ),
    "interactions": ModelCard(
        "A linear model of the columns and of the products of all pairs of them, so that the "
        "effect of one column may depend on another.",
        r"\hat y = b + \sum_{j}\, w_j x_j + \sum_{j \leq k}\, w_{jk}\, x_j x_k",
        "Finds pairwise interactions; the number of weights grows quadratically.",
    ),
    "radial": ModelCard(
        "Each row is described by Gaussian kernels centered at randomly drawn rows (the Nystroem "
        "approximation of a kernel machine), and a linear model weighs them.",
        r"\hat y = b + \sum_{c=1}^{m}\, w_c\, e^{-\gamma \Vert x - x_c \Vert_2^2}",
        "Smooth functions of any shape; no interpretable weights.",
    ),
    "naive_bayes": ModelCard(
        "Models the distribution of each column within each class as if columns were independent, "
        "and applies Bayes' rule. One pass over the rows is enough.",
        r"p(c \mid x) \;\propto\; p(c) \prod_{j=1}^{p}\, p(x_j \mid c)",
        "Fast, good with few rows and with text; overconfident if columns are correlated.",
    ),
    "lda": ModelCard(
        "Each class is a Gaussian with its own mean, and all classes share one covariance. Bayes' "
        "rule then gives linear boundaries.",
        r"\hat c = \mathrm{arg}\,\max_{c}\; \mu_c^{\top} \Sigma^{-1} x"
        r" - \dfrac{1}{2}\, \mu_c^{\top} \Sigma^{-1} \mu_c + \log \pi_c",
        "Stable with few rows; closed form.",
    ),
    "qda": ModelCard(
        "Each class is a Gaussian with its own mean and covariance, which gives quadratic "
        "boundaries.",
        r"\hat c = \mathrm{arg}\,\max_{c}\; -\dfrac{1}{2} \log |\Sigma_c|"
        r" - \dfrac{1}{2} (x - \mu_c)^{\top} \Sigma_c^{-1} (x - \mu_c) + \log \pi_c",
        "Curved boundaries; needs many rows per class.",
    ),
    "linear_svm": ModelCard(
        "Finds the hyperplane with the largest margin between two classes; rows inside the margin "
        "or on the wrong side are penalized linearly. Only these rows, the support vectors, "
        "determine the hyperplane.",
        r"\min_{w,\,b}\; \dfrac{1}{2} \Vert w \Vert_2^2 + C \sum_{i=1}^{n}\,"
        r" \max\left(0,\; 1 - y_i (w \cdot x_i + b)\right)",
        "Robust decisions; probabilities need calibration.",
    ),
    "mlp": ModelCard(
        "Layers of linear functions with a nonlinear activation between them. The weights are "
        "fitted by gradient descent on mini-batches, with gradients from backpropagation.",
        r"\hat y = W_2\, \sigma(W_1 x + b_1) + b_2, \qquad"
        r" W \leftarrow W - \eta\, \nabla_W \sum_{i}\, \ell\,(y_i,\, \hat y_i)",
        "Learns its own features; needs many rows.",
    ),
    "neighbors": ModelCard(
        "Stores all training rows. A new row gets the mean target, or the shares of the classes, "
        "of the k nearest rows, which may count more the nearer they are.",
        r"\hat y(x) = \dfrac{1}{k} \sum_{i \,\in\, N_k(x)}\, y_i",
        "Boundaries of any shape; slow, and poor in many dimensions.",
    ),
    "kernel_svm": ModelCard(
        "A support vector machine in the feature space of a kernel, which is never computed "
        "explicitly. The boundary is a combination of kernels at the support vectors.",
        r"\max_{0 \leq \alpha \leq C}\; \sum_{i}\, \alpha_i - \dfrac{1}{2} \sum_{i,j}\,"
        r" \alpha_i \alpha_j y_i y_j\, k(x_i, x_j)",
        "Strong with some thousands of rows; the cost grows quadratically.",
    ),
    "gaussian_process": ModelCard(
        "A distribution over functions, whose values at near rows are alike. Given the training "
        "rows, the mean function predicts; how near is near, and how much noise there is, is what "
        "makes the rows most probable.",
        r"\hat y(x) = k(x, X)\, (K + \sigma^2 I)^{-1} y, \qquad"
        r" \max_{\theta,\,\sigma}\; \log p(y \mid X)",
        "Strong with few rows, and tunes itself; the cost grows with the cube of the rows.",
    ),
    "boosting": ModelCard(
        "Hundreds of small decision trees, each fitted to the errors of the previous ones. Rows "
        "that are held out decide how many.",
        r"F_m(x) = F_{m-1}(x) + \eta\, h_m(x), \qquad"
        r" h_m \approx -\,\dfrac{\partial \ell\,(y,\, F)}{\partial F}",
        "Finds steps and interactions by itself; hard to interpret.",
    ),
    "yardstick": ModelCard(
        "Boosted trees in scikit-learn's implementation. They are never chosen: they show what a "
        "strong general method reaches on the same folds.",
        r"F_m(x) = F_{m-1}(x) + \eta\, h_m(x), \qquad"
        r" h_m \approx -\,\dfrac{\partial \ell\,(y,\, F)}{\partial F}",
        "Finds steps and interactions by itself; hard to interpret.",
    ),
    "tree": ModelCard(
        "Questions about single columns, one after the other, lead to a leaf with a prediction. "
        "Each question is the one that makes the leaves most uniform.",
        r"\hat y = \sum_{l}\, v_l\, [x \in R_l], \qquad"
        r" \min_{j,\,t}\; n_L I(x_j \leq t) + n_R I(x_j > t)",
        "Can be read and drawn; small changes of the data change it.",
    ),
    "forest": ModelCard(
        "The mean of many decision trees, each grown on rows drawn with replacement and on random "
        "columns at each question, so that their errors differ.",
        r"\hat y = \dfrac{1}{B} \sum_{b=1}^{B}\, T_b(x)",
        "Robust without tuning; large, and hard to interpret.",
    ),
    "ensemble": ModelCard(
        "A weighted mean of the predictions of other models. Weights are chosen on predictions of "
        "rows that the models have not seen.",
        r"\hat y = \sum_{m}\, w_m\, \hat y_m, \qquad w_m \geq 0,\; \sum_m w_m = 1",
        "Often the best score; as slow as all its members, and hard to interpret.",
    ),
    "kmeans": ModelCard(
        "Assigns each row to the nearest of k centers and moves each center to the mean of its "
        "rows, until nothing changes. Columns are standardized first.",
        r"\min_{\mu_1 \ldots \mu_k}\; \sum_{i=1}^{n}\, \min_{c}\; \Vert x_i - \mu_c \Vert_2^2",
        "Round clusters of similar size.",
    ),
}


def find_model_card(key: str) -> ModelCard | None:
    """The card of a candidate; keys such as "kmeans_4" belong to "kmeans"."""
    best = max((name for name in MODEL_CARDS if key.startswith(name)), key=len, default=None)
    return None if best is None else MODEL_CARDS[best]


class ShownCard(NamedTuple):
    """A model card as the page shows it."""

    title: str
    is_chosen: bool
    card: ModelCard
    formula: Markup


def shown_cards(study: Study) -> list[ShownCard]:
    """Cards of all attempts, the chosen one first; models of one card are shown once."""
    attempts = [study.chosen, *(each for each in study.attempts if each is not study.chosen)]
    cards: dict[str, tuple[ModelCard, Attempt]] = {}
    for attempt in attempts:
        card = find_model_card(attempt.key)
        if card is not None:
            cards.setdefault(card.description, (card, attempt))
    return [
        ShownCard(
            short_title(attempt.title),
            attempt is study.chosen,
            card,
            render_formula(card.formula),
        )
        for card, attempt in cards.values()
    ]
