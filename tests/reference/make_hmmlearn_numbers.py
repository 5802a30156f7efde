"""Makes hmmlearn_numbers.npz: five iterations of hmmlearn 0.3.3 from given parameters.

Run once, with hmmlearn and numpy: `python make_hmmlearn_numbers.py`. The tests read the file.
"""

from pathlib import Path

import numpy as np
from hmmlearn import hmm

rng = np.random.default_rng(0)
out = {}
lengths = [30, 1, 25, 14]
X = rng.normal(size=(70, 2))
X[::3] += 3
K = 3
start = np.array([0.5, 0.3, 0.2])
A = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.3, 0.3, 0.4]])
means = np.array([[0.0, 0], [2, 2], [4, 1]])


def dump(name, d):
    for k, v in d.items():
        out[f"{name}.{k}"] = np.asarray(v)


out["X"] = X
for t, c in (
    ("diag", np.ones((3, 2))),
    ("full", np.tile(np.eye(2), (3, 1, 1))),
    ("tied", np.eye(2)),
    ("spherical", np.ones(3)),
):
    m = hmm.GaussianHMM(
        3,
        t,
        init_params="",
        n_iter=5,
        tol=-np.inf,
        covars_prior=0.0 if t in ("full", "tied") else 1e-2,
        implementation="scaling",
        means_prior=0.5,
        means_weight=0.3,
    )
    m.startprob_, m.transmat_, m.means_, m.covars_ = start, A, means, c
    out[f"{t}.score0"] = m.score(X, lengths)
    m.fit(X, lengths)
    dump(
        t,
        dict(
            start=m.startprob_,
            trans=m.transmat_,
            means=m.means_,
            covars=m.covars_,
            score=m.score(X, lengths),
            path=m.predict(X, lengths),
            post=m.predict_proba(X, lengths)[:5],
            aic=m.aic(X, lengths),
            bic=m.bic(X, lengths),
        ),
    )
x = rng.integers(0, 4, (70, 1))
out["x"] = x
E = rng.dirichlet(np.ones(4), 3)
out["E"] = E
m = hmm.CategoricalHMM(
    3,
    init_params="",
    n_iter=5,
    tol=-np.inf,
    startprob_prior=1.5,
    transmat_prior=2.0,
    emissionprob_prior=1.2,
)
m.startprob_, m.transmat_, m.emissionprob_ = start, A, E
m.fit(x, lengths)
dump(
    "cat",
    dict(start=m.startprob_, trans=m.transmat_, em=m.emissionprob_, score=m.score(x, lengths)),
)
c = rng.poisson(3, (70, 2))
c[::4] += 6
out["c"] = c
m = hmm.PoissonHMM(3, init_params="", n_iter=5, tol=-np.inf)
m.startprob_, m.transmat_, m.lambdas_ = start, A, np.array([[2.0, 2], [5, 5], [9, 8]])
m.fit(c, lengths)
dump("poi", dict(trans=m.transmat_, lam=m.lambdas_, score=m.score(c, lengths)))
mu = rng.multinomial(5, [0.2, 0.5, 0.3], 70)
mu[::4] = rng.multinomial(5, [0.7, 0.1, 0.2], 18)
out["mu"] = mu
m = hmm.MultinomialHMM(3, n_trials=5, init_params="", n_iter=5, tol=-np.inf)
m.startprob_, m.transmat_, m.emissionprob_ = start, A, E[:, :3] / E[:, :3].sum(1, keepdims=True)
m.fit(mu, lengths)
dump("mul", dict(trans=m.transmat_, em=m.emissionprob_, score=m.score(mu, lengths)))
np.savez(Path(__file__).parent / "hmmlearn_numbers.npz", **out)
