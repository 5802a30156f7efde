"""How the manual is built, by `make docs`. Nothing is fetched, now or by a reader's browser."""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("TENFOLD_PROGRESS", "0")

from api_pages import write_api_pages  # noqa: E402  it stands beside this file

import tenfold  # noqa: E402

project = "tenfold"
author = "tenfold contributors"
copyright = author
version = release = tenfold.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax and its fonts, from a wheel
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.zip", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "code"  # in docstrings, `x` is code
smartquotes = False  # and "auto" is a string
toc_object_entries_show_parents = "hide"

# ------------------------------------------------------------------------------------- markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "smartquotes"]
myst_heading_anchors = 3

# ------------------------------------------------------------------------------------- API pages
autosummary_generate = False  # `api_pages.py` writes a page per public name
autodoc_typehints = "none"  # the parameter lists say it better
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

# -------------------------------------------------------------------------------------- pictures
plot_formats = [("png", 120)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False

# --------------------------------------------------------------------------------------- gallery
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",  # every example runs, and one that fails breaks the build
    "ignore_pattern": r"__init__\.py",
    "abort_on_example_error": True,
    "doc_module": ("tenfold",),
    "backreferences_dir": None,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # a page of its own that needs a network
    "parallel": 2,  # most examples compute in one thread
    "plot_gallery": True,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
}

# ------------------------------------------------------------------------------------------ HTML
html_theme = "pydata_sphinx_theme"
html_title = "tenfold"
html_static_path = ["_static"]
html_css_files = ["tenfold.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "tenfold"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "syllabus": [], "changelog": []}


def keep_abbreviations_whole(_app, _what, _name, _thing, _options, lines):
    """Tie "ch. 1" together: a summary would end at the full stop."""
    lines[:] = [
        re.sub(r"\b(ch|Fig|sec)\. (?=\d)", "\\1.\N{WORD JOINER}\N{NO-BREAK SPACE}", line)
        for line in lines
    ]


def setup(app):
    """Write the API pages before Sphinx looks which pages there are."""
    folder = HERE / "api" / "generated"
    app.connect("builder-inited", lambda _: write_api_pages(folder), priority=1)
    app.connect("autodoc-process-docstring", keep_abbreviations_whole, priority=1)
