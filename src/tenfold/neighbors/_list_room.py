"""How many neighbors within a radius memory holds; a search that finds more is refused."""

from __future__ import annotations

from tenfold.neighbors._brute_force import NeighborLists

_NEIGHBOR_BYTES = 16  # a distance and a row number


class ListRoom:
    """Memory for lists of neighbors, which all chunks share.

    Parameters
    ----------
    free : float
        Bytes that the lists may take.
    copies : int
        How many times they are held.
    """

    def __init__(self, free: float, copies: int) -> None:
        self.free, self.copies = free, copies
        self.sizes: list[int] = []

    def add(self, lists: NeighborLists, radius: float) -> None:
        """Count the neighbors of a block; a `MemoryError` if there is no room for all so far."""
        self.sizes.append(len(lists.rows))  # one step, whatever other threads do
        self.require(sum(self.sizes), radius)

    def holds(self, found: int) -> bool:
        """Whether there is room for so many neighbors."""
        return float(found * self.copies * _NEIGHBOR_BYTES) <= self.free

    def require(self, found: int, radius: float) -> None:
        """Raise a `MemoryError` if there is no room for so many neighbors."""
        needed = float(found * self.copies * _NEIGHBOR_BYTES)
        if not self.holds(found):
            raise MemoryError(
                f"at least {found:,} neighbors lie within the radius {radius:g} of the queries: "
                f"their lists need at least {needed / 2**30:.2f} GiB, and "
                f"{self.free / 2**30:.2f} GiB may be filled. Take a smaller radius, give the "
                "queries in batches, or ask for a number of neighbors (kneighbors)"
            )
