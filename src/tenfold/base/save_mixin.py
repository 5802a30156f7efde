"""Models that can be saved, for those that are no `Estimator`."""

from __future__ import annotations

from pathlib import Path


class SaveMixin:
    """A model with the method `save`."""

    def save(self, path: str | Path) -> None:
        """Write the model to one file that `tenfold.load` reads; loading executes no code.

        Parameters
        ----------
        path : path
            File to write; it is replaced only when the new one is complete.
        """
        from tenfold.persist.model_file import save

        save(self, path)
