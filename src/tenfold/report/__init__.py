"""A study as a page that explains it: `write(study, path)`, `page(study)`."""

from tenfold.report.page import page, write

__all__ = ["page", "write"]
