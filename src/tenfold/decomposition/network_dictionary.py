"""Network dictionary learning: small patterns of links of which a network is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from tenfold.decomposition.nmf import non_negative_factorization


class PathSampler:
    """A Markov chain whose states are paths of a network, each path equally often in the long run.

    A path is a sequence of nodes in which neighbors are linked; nodes may occur again. The first
    node makes a step of a random walk, accepted by Metropolis and Hastings' rule; the others follow
    with the probabilities that they have among all paths from there.

    Parameters
    ----------
    A : (n, n) array or sparse matrix
        Links of an undirected network; an entry other than zero is a link.
    length : int
        Nodes of a path.
    random_state : int, optional
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    >>> path = next(PathSampler(ring, 3, random_state=0).sample(1))
    >>> [int(ring[a, b]) for a, b in zip(path[:-1], path[1:])]
    [1, 1]
    """

    def __init__(self, A: Any, length: int, random_state: Any = None) -> None:
        self.A: Any = csr_array(np.asarray(A) if isinstance(A, np.ndarray | list) else A)
        if self.A.shape[0] != self.A.shape[1] or (self.A != self.A.T).nnz:
            raise ValueError("the links of an undirected network are a symmetric matrix")
        self.links: Any = csr_array((self.A != 0).astype(np.float64))
        self.degree = np.diff(self.links.indptr)
        if not self.degree.any():
            raise ValueError("the network has no links: there is no path to sample")
        counts = [np.ones(self.A.shape[0])]
        for _ in range(length - 1):
            counts.append(self.links @ (counts[-1] / counts[-1].max()))
        self.counts = counts  # of paths that begin at each node, up to a factor, by their length
        self.rng = check_random_state(random_state)
        self.node = int(np.argmax(self.degree))

    def sample(self, n: int) -> Iterator[np.ndarray]:
        """The next n paths, one step of the chain each."""
        for _ in range(n):
            self._move()
            path = [self.node]
            for count in self.counts[-2::-1]:
                near = self._neighbors(path[-1])
                weight = count[near]
                path.append(int(near[self._draw(weight)]))
            yield np.array(path)

    def _neighbors(self, node: int) -> np.ndarray:
        return self.links.indices[self.links.indptr[node] : self.links.indptr[node + 1]]

    def _draw(self, weight: np.ndarray) -> int:
        sums = np.cumsum(weight)
        return min(int(np.searchsorted(sums, self.rng.random_sample() * sums[-1])), len(sums) - 1)

    def _move(self) -> None:
        """A step of the first node."""
        near = self._neighbors(self.node)
        proposal = int(near[self.rng.randint(len(near))])
        count = self.counts[-1]
        ratio = count[proposal] * self.degree[self.node]
        if self.rng.random_sample() * count[self.node] * self.degree[proposal] < ratio:
            self.node = proposal


class NetworkDictionary(BaseEstimator):
    """Patterns of links among the nodes of paths, of which a network is made.

    Paths are sampled by a Markov chain; each gives a patch, the links among its k nodes. Online
    non-negative factorization of these patches gives atoms, themselves small networks. A network is
    reconstructed by approximating patches of new paths, and averaging what they say of each pair.

    Parameters
    ----------
    n_components : int
        Number of atoms.
    path_length : int
        Nodes of a path; patches are of this height and width.
    n_samples : int
        Paths to learn from.
    batch_size : int
        Paths of a step of online learning.
    random_state : int, optional
        Seed of the chain and of the start.

    Attributes
    ----------
    components_ : (n_components, path_length, path_length) atoms, between 0 and 1
    importance_ : (n_components,) share of each atom in all codes
    n_steps_ : batches

    See Also
    --------
    NMF : The factorization itself.
    MiniBatchDictionaryLearning : Online learning of rows.

    References
    ----------
    H. Lyu, D. Needell and L. Balzano (2020), Online matrix factorization for Markovian data and
    applications to network dictionary learning.
    H. Lyu, Y. Kureh, J. Vendrow and M. Porter (2021), Learning low-rank latent mesoscale structures
    in networks.

    Examples
    --------
    >>> import numpy as np
    >>> from tenfold import NetworkDictionary
    >>> ring = np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1)
    >>> model = NetworkDictionary(2, path_length=4, n_samples=200, random_state=0).fit(ring)
    >>> model.components_.shape
    (2, 4, 4)
    """

    def __init__(
        self,
        n_components: int = 9,
        *,
        path_length: int = 10,
        n_samples: int = 2000,
        batch_size: int = 100,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.path_length = path_length
        self.n_samples = n_samples
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, A: Any, y: Any = None) -> Self:
        """Learn the atoms.

        Parameters
        ----------
        A : (n, n) array or sparse matrix
            Links of an undirected network.
        y : None
            Not used.

        Returns
        -------
        self
        """
        rng = check_random_state(self.random_state)
        k, size = self.n_components, self.path_length
        if k < 1 or size < 2:
            raise ValueError("n_components must be at least 1 and path_length at least 2")
        sampler = PathSampler(A, size, rng)
        H = rng.random_sample((k, size * size))
        gram, cross, usage = np.zeros((k, k)), np.zeros((k, size * size)), np.zeros(k)
        steps = -(-self.n_samples // self.batch_size)
        for t in range(1, steps + 1):
            X = patches_of_paths(sampler.A, list(sampler.sample(self.batch_size)))
            Z = non_negative_factorization(X, H=H, n_components=k, update_H=False)[0]
            share = 1.0 / t
            gram = (1 - share) * gram + share * (Z.T @ Z) / len(Z)
            cross = (1 - share) * cross + share * (Z.T @ X) / len(Z)
            usage += Z.sum(axis=0)
            H = _best_atoms(H, gram, cross)
        self.components_ = H.reshape(k, size, size)
        self.importance_ = usage / max(float(usage.sum()), np.finfo(float).tiny)
        self.n_features_in_, self.n_steps_ = sampler.A.shape[0], steps
        return self

    def reconstruct(self, A: Any, n_samples: int = 2000, random_state: Any = None) -> csr_array:
        """Weights of links, as the atoms make them: the mean over patches of sampled paths.

        Parameters
        ----------
        A : (n, n) array or sparse matrix
            Links of a network, the one of the fit or another.
        n_samples : int
            Paths to sample.
        random_state : int, optional
            Seed of the chain.
        """
        check_is_fitted(self)
        k, size = self.components_.shape[:2]
        H = np.ascontiguousarray(self.components_.reshape(k, -1))
        sampler = PathSampler(A, size, random_state)
        paths = list(sampler.sample(n_samples))
        X = patches_of_paths(sampler.A, paths)
        Z = non_negative_factorization(X, H=H, n_components=k, update_H=False)[0]
        rows = np.repeat(np.array(paths), size, axis=1).ravel()
        columns = np.tile(np.array(paths), (1, size)).ravel()
        shape = sampler.A.shape
        total: Any = csr_array(((Z @ H).ravel(), (rows, columns)), shape=shape)
        count: Any = csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        count.data = 1.0 / count.data
        return total.multiply(count).tocsr()


def patches_of_paths(A: Any, paths: list[np.ndarray]) -> np.ndarray:
    """Links among the nodes of each path, (n_paths, length^2)."""
    return np.array([A[path][:, path].toarray().ravel() for path in paths], np.float64)


def _best_atoms(H: np.ndarray, gram: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Atoms with entries between 0 and 1, each in turn the best for the others."""
    H = H.copy()
    for k in range(len(H)):
        if gram[k, k] > 0:
            H[k] = np.clip(H[k] + (cross[k] - gram[k] @ H) / gram[k, k], 0.0, 1.0)
    return H
