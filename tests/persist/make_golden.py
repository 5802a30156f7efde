"""Write the golden files: a small saved object of each kind, and what it predicted on that day.

Run when a kind of object is added: `python tests/persist/make_golden.py`. A golden file that is
there is never written again: it stands for the files that users have.
"""

from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tenfold
from tenfold import distributions, kernel, neural, rl
from tenfold.math.losses import HuberLoss
from tenfold.math.penalties import ElasticNetPenalty
from tenfold.optim import optimizers, schedules

GOLDEN = Path(__file__).with_name("golden")
RNG = np.random.default_rng(5)
X = RNG.normal(size=(120, 4)) + np.repeat(np.eye(4)[:3] * 3, 40, axis=0)
Y = np.repeat(["ash", "elm", "oak"], 40)
T = X @ np.array([1.0, -2.0, 0.5, 0.0]) + 3
COUNTS = RNG.poisson(2.0, size=(120, 4)).astype(float)
CODES = RNG.integers(0, 3, size=(120, 4)).astype(float)
WORDS = ["the ash is tall", "an elm by the road", "oak and ash", "the oak is old"] * 5
HOLES = np.where(np.random.default_rng(6).random(X.shape) < 0.2, np.nan, X)
COUNT_HOLES = np.where(np.isnan(HOLES), np.nan, COUNTS)
TABLE = {"size": X[:, 0], "town": np.tile(["Bonn", "Rom", "Ulm"], 40), "tree": Y}
GRID = rl.grid_world(slip=0.2)
NETWORK = dict(epochs=2, random_state=0)
DENSE = [neural.Dense(4, "tanh"), neural.Dropout(0.1), neural.LayerNorm(), neural.Dense()]
IMAGES = [neural.Reshape((2, 2, 1)), neural.Conv2d(2, 2), neural.Flatten(), neural.Dense()]
STEPS = dict(optimizer=optimizers.Adam(), learning_rate=schedules.CosineDecay(0.01))

# name -> method whose output is kept, its rows, and how the object is made
OBJECTS = {
    "ridge": ("predict", X, lambda: tenfold.Ridge().fit(X, T)),
    "least_squares_classifier": (
        "predict",
        X,
        lambda: tenfold.LeastSquaresClassifier().fit(X, Y),
    ),
    "logistic": ("predict_proba", X, lambda: tenfold.LogisticRegression().fit(X, Y)),
    "penalized": (
        "predict",
        X,
        lambda: tenfold.PenalizedRegressor(
            loss=HuberLoss(1.5), penalty=ElasticNetPenalty(0.1, 0.5)
        ).fit(X, T),
    ),
    "sgd": ("decision_function", X, lambda: tenfold.SGDClassifier(random_state=0).fit(X, Y)),
    "gaussian_nb": ("predict_proba", X, lambda: tenfold.GaussianNB().fit(X, Y)),
    "multinomial_nb": ("predict_proba", COUNTS, lambda: tenfold.MultinomialNB().fit(COUNTS, Y)),
    "categorical_nb": ("predict_proba", CODES, lambda: tenfold.CategoricalNB().fit(CODES, Y)),
    "mixed_nb": ("predict_proba", X, lambda: tenfold.MixedNB().fit(X, Y)),
    "lda": ("predict_proba", X, lambda: tenfold.LinearDiscriminantAnalysis().fit(X, Y)),
    "lda_with_holes": (
        "predict_proba",
        HOLES,
        lambda: tenfold.LinearDiscriminantAnalysis().fit(HOLES, Y),
    ),
    "multinomial_nb_with_holes": (
        "predict_proba",
        COUNT_HOLES,
        lambda: tenfold.MultinomialNB().fit(COUNT_HOLES, Y),
    ),
    "generative": (
        "predict_proba",
        X,
        lambda: tenfold.GenerativeClassifier(distributions.Gaussian()).fit(X, Y),
    ),
    "k_neighbors": (
        "predict_proba",
        X,
        lambda: tenfold.KNeighborsClassifier(3).fit(X, Y, sample_weight=np.arange(120) % 3 + 1),
    ),
    "random_forest": (
        "predict_proba",
        HOLES,
        lambda: tenfold.RandomForestClassifier(3, random_state=0).fit(HOLES, Y),
    ),
    "quantile_forest": (
        "predict_interval",
        X,
        lambda: tenfold.RandomForestRegressor(3, random_state=0, keep_targets=True).fit(X, T),
    ),
    "gaussian_mixture": (
        "predict_proba",
        X,
        lambda: tenfold.GaussianMixture(2, random_state=0).fit(X),
    ),
    "bayesian_mixture": (
        "predict_proba",
        X,
        lambda: tenfold.BayesianGaussianMixture(n_components=3, random_state=0, tol=0.1).fit(X),
    ),
    "mixture_model": (
        "predict_proba",
        X,
        lambda: tenfold.MixtureModel(distributions.Gaussian(), 2, random_state=0).fit(X),
    ),
    "kmeans": ("transform", X, lambda: tenfold.KMeans(3, random_state=0, n_init=1).fit(X)),
    "incremental_pca": ("transform", X, lambda: tenfold.IncrementalPCA(2).fit(X)),
    "pca": ("transform", X, lambda: tenfold.PCA(2).fit(X)),
    "sequential": (
        "predict_proba",
        X,
        lambda: tenfold.SequentialClassifier(DENSE, **STEPS, **NETWORK).fit(X, Y),
    ),
    "convolution": (
        "predict_proba",
        X,
        lambda: tenfold.SequentialClassifier(IMAGES, **NETWORK).fit(X, Y),
    ),
    "indicator_features": ("transform", CODES, lambda: tenfold.IndicatorFeatures().fit(CODES)),
    "boosted_trees": (
        "predict_proba",
        CODES,
        lambda: tenfold.HistGradientBoostingClassifier(
            max_iter=3, min_samples_leaf=5, categorical_features=[0], random_state=0
        ).fit(CODES, Y),
    ),
    "value_iteration": ("predict", list(range(8)), lambda: tenfold.ValueIteration(0.9).fit(GRID)),
    "q_learning": (
        "predict",
        list(range(8)),
        lambda: tenfold.QLearning(n_episodes=20, max_steps=50, random_state=0).fit(GRID),
    ),
    "deep_q": (
        "action_values",
        list(range(8)),
        lambda: tenfold.DeepQ(
            layers=(neural.Dense(3, "tanh"),),
            n_episodes=5,
            max_steps=20,
            replay_size=64,
            warmup=16,
            batch_size=8,
            random_state=0,
        ).fit(GRID),
    ),
    "policy_gradient": (
        "predict_proba",
        list(range(8)),
        lambda: tenfold.PolicyGradient(
            layers=(), n_episodes=8, batch_episodes=4, max_steps=20, random_state=0
        ).fit(GRID),
    ),
    "kernel_ridge": (
        "predict",
        X,
        lambda: tenfold.KernelRidge(
            kernel=2.0 * kernel.RBF([1.0, 2.0, 3.0, 4.0]) + kernel.PolynomialKernel(2)
        ).fit(X, T),
    ),
    "nystroem_ridge": (
        "predict",
        X,
        lambda: tenfold.NystroemRidge(gamma=0.1, n_components=10, random_state=0).fit(X, T),
    ),
    "tfidf": ("transform", WORDS, lambda: tenfold.TfIdf().fit(WORDS)),
    "pipeline": (
        "predict_proba",
        X,
        lambda: make_pipeline(StandardScaler(), tenfold.LogisticRegression()).fit(X, Y),
    ),
    "table_model": (
        "predict_proba",
        {name: TABLE[name] for name in ("size", "town")},
        lambda: tenfold.learn(TABLE, target="tree", models=["logistic"], seed=0).model,
    ),
}


def to_array(output):
    """An output as one dense array."""
    return output.toarray() if hasattr(output, "toarray") else np.asarray(output)


def main():
    GOLDEN.mkdir(exist_ok=True)
    for name, (method, rows, make) in OBJECTS.items():
        path = GOLDEN / f"{name}.tenfold"
        if not path.exists():
            model = make()
            tenfold.save(model, path)
            np.savez_compressed(GOLDEN / f"{name}.npz", to_array(getattr(model, method)(rows)))


if __name__ == "__main__":
    main()
