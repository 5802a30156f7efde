"""A study as a page that explains it: `write(study, path)`, `page(study)`; a model alone too."""

from tenfold.report.explained import Told, explained_page, write_explained
from tenfold.report.page import page, write

__all__ = ["Told", "explained_page", "page", "write", "write_explained"]
