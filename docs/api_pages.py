"""Pages of the public names, written from the package's own lists so that they cannot drift."""

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import tenfold

PUBLIC = tenfold._WHERE  # noqa: SLF001  the one list of names
FAMILIES = {
    "automl": "From a table to a model",
    "preprocessing": "Preprocessing and text",
    "linear": "Linear models",
    "naive_bayes": "Naive Bayes",
    "discriminant": "Discriminant analysis",
    "mixture": "Mixtures",
    "cluster": "Clustering",
    "decomposition": "Decomposition",
    "manifold": "Maps",
    "embeddings": "Word vectors",
    "sequence": "Sequences and language models",
    "language": "Language models of networks",
    "topics": "Topics",
    "graphical": "Graphical models",
    "recommend": "Recommenders",
    "neighbors": "Neighbors",
    "kernel": "Kernels",
    "svm": "Support vector machines",
    "gaussian_process": "Gaussian processes",
    "rl": "Reinforcement learning",
    "tree": "Trees and forests",
    "ensemble": "Ensembles",
    "semi_supervised": "Few labels",
    "neural": "Networks",
    "inference": "Bayesian inference",
    "model_selection": "Model selection",
    "inspection": "Inspection",
    "teaching": "Teaching",
}
FOR_AUTHORS = ("tenfold.base", "tenfold.engine", "tenfold.io")
LISTED = {"tenfold.plot": "Plots", "tenfold.optim": "Optimization"}
LISTED |= {"tenfold.inference": "Expectation-maximization and sampling"}
LISTED |= {"tenfold.metrics": "Metrics", "tenfold.model_selection": "Model selection"}
LISTED |= {"tenfold.inspection": "Inspection", "tenfold.preprocessing": "Preprocessing"}
LISTED |= {
    "tenfold.neural": "Layers and tools of networks",
    "tenfold.teaching": "Teaching",
    "tenfold.teaching.autodiff": "Automatic differentiation",
}
LISTED |= {"tenfold.kernel": "Kernels", "tenfold.recommend": "Ratings, splits, steps"}
LISTED |= {"tenfold.kernel": "Kernels"}
LISTED |= {"tenfold.embeddings": "Word vectors: counts, files, scores"}
LISTED |= {"tenfold.report": "Pages: studies, explanations, dendrograms"}
LISTED |= {"tenfold.distributions": "Distributions", "tenfold.teaching.probability": "Probability"}
LISTED |= {"tenfold.cluster": "Clustering tools", "tenfold.mixture": "Mixture parameters"}
LISTED |= {"tenfold.rl": "Acting: worlds, exploration, policies"}
LISTED |= {"tenfold.language": "Decoding"}
LISTED |= {"tenfold.topics": "Topics: words, coherence, number"}
LISTED |= {"tenfold.graphical": "Factors, graphs, belief propagation"}
LISTED |= {"tenfold.semi_supervised": "Few labels: results of active learning"}
LISTED |= {"tenfold.teaching.learning_theory": "Learning theory"}
WHOLE = [f"tenfold.math.{name}" for name in import_module("tenfold.math").__all__]
WHOLE += ["tenfold.linear.svm.margins", "tenfold.plot.style", "tenfold.svm.primal_svc"]
WHOLE += [f"tenfold.optim.{name}" for name in ("schedules", "optimizers", "projections")]
CLASSROOM = ("bayes_estimators", "convex_calculus", "em_steps", "geometry", "linear_algebra")
WHOLE += [f"tenfold.teaching.{name}" for name in CLASSROOM]


def write_api_pages(folder: Path) -> None:
    """Write the index, one page per list of names, and one page per name."""
    folder.mkdir(parents=True, exist_ok=True)
    data = [name for name in import_module("tenfold.datasets").__all__ if _is_ours(_data(name))]
    pages = {
        "index": _index(),
        "datasets": _datasets_page(data),
        "authors": _authors_page(),
        "toolbox": _toolbox_page(),
        "laws": _laws_page(),
    }
    names = [f"tenfold.{name}" for name in PUBLIC]
    names += [f"tenfold.datasets.{name}" for name in data]
    names += [name for module in (*FOR_AUTHORS, *LISTED) for name in _public(module)]
    pages |= {module: _module_page(module) for module in WHOLE}
    pages |= {name: _name_page(name) for name in names}
    for stale in {path.stem for path in folder.glob("*.rst")} - set(pages):
        (folder / f"{stale}.rst").unlink()
    for name, text in pages.items():
        _write(folder / f"{name}.rst", text)


def _write(path: Path, text: str) -> None:
    """Write a page only if it has changed: Sphinx then need not read it again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


INTRODUCTION = """\
Models have scikit-learn's names, parameters, defaults and attributes where scikit-learn has the
model; swapping the import is enough. ``fit`` also takes tables, files and Dask collections: see
:doc:`/guide/data`.
"""


def _index() -> str:
    parts = [_title("API", "="), INTRODUCTION]
    for heading, names in _grouped():
        parts += [_title(heading, "-"), _table(f"tenfold.{name}" for name in names)]
    parts += [_title("More", "-"), _toctree("toolbox", "datasets", "authors", "laws", shown=True)]
    return "\n".join(parts)


def _grouped() -> Iterator[tuple[str, list[str]]]:
    """The public names by family, in the order above; the others come last."""
    home = {name: module.split(".")[1] for name, module in PUBLIC.items()}
    for family, heading in FAMILIES.items():
        if names := [name for name in home if home[name] == family]:
            yield heading, names
    yield "Data, threads, clusters, files", [n for n in home if home[n] not in FAMILIES]


def _datasets_page(ours: list[str]) -> str:
    theirs = sorted(set(import_module("tenfold.datasets").__all__) - set(ours))
    kinds = {"fetch_": "Loaders", "load_": "Readers of your own files", "make_": "Generators"}
    parts = [_title("tenfold.datasets", "="), inspect.getdoc(import_module("tenfold.datasets")), ""]
    left = list(ours)
    for prefix, heading in kinds.items():
        names = [name for name in ours if name.startswith(prefix)]
        left = [name for name in left if name not in names]
        parts += [_title(heading, "-"), _table(f"tenfold.datasets.{name}" for name in names)]
    left = [f"tenfold.datasets.{name}" for name in left]
    parts += [_title("Corruption, lists, errors", "-"), _table(left)]
    listed = ", ".join(f"``{name}``" for name in theirs)
    parts += [_title("From scikit-learn", "-"), f"Offered unchanged: {listed}.\n"]
    return "\n".join(parts)


def _authors_page() -> str:
    parts = [_title("For those who write models", "="), "See :doc:`/guide/new-model`.\n"]
    for module in FOR_AUTHORS:
        parts += [_title(f"``{module}``", "-"), _summary(module), _table(_public(module))]
    return "\n".join(parts)


def _toolbox_page() -> str:
    parts = [_title("Mathematics, optimization, plots", "=")]
    parts += ["The parts that models are made of.\n", _title("Mathematics", "-")]
    parts += [_toctree(*WHOLE, shown=True)]
    for module, heading in LISTED.items():
        parts += [_title(heading, "-"), _summary(module), _table(_public(module))]
    return "\n".join(parts)


def _module_page(module: str) -> str:
    own = ", ".join(
        name for name, home in PUBLIC.items() if home == module
    )  # with pages of their own
    text = f"{_title(module, '=')}\n.. automodule:: {module}\n   :members:\n"
    return text + (f"   :exclude-members: {own}\n" if own else "")


def _laws_page() -> str:
    laws = "".join(f".. autofunction:: {law.__name__}\n\n" for law in tenfold.testing.LAWS)
    return "\n".join(
        [
            _title("tenfold.testing", "="),
            ".. currentmodule:: tenfold.testing\n",
            inspect.getdoc(tenfold.testing),
            "\n.. autofunction:: check\n\n.. autofunction:: all_models\n",
            _title("The laws", "-"),
            laws,
        ]
    )


def _public(module: str) -> list[str]:
    """Names of a module that are not flat names of the package too."""
    home = import_module(module)
    flat = [getattr(tenfold, name) for name in PUBLIC]
    names = [n for n in home.__all__ if not inspect.ismodule(getattr(home, n))]
    return [f"{module}.{name}" for name in names if getattr(home, name) not in flat]


def _summary(module: str) -> str:
    return (inspect.getdoc(import_module(module)) or "").partition("\n\n")[0] + "\n"


def _data(name: str) -> object:
    return getattr(tenfold.datasets, name)


def _is_ours(thing: object) -> bool:
    """scikit-learn's own functions are documented by scikit-learn."""
    return not getattr(thing, "__module__", "").startswith("sklearn")


def _found(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(import_module(module), last)


def _name_page(name: str) -> str:
    module, _, last = name.rpartition(".")
    thing = _found(name)
    kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
    parts = [_title(last, "="), f".. currentmodule:: {module}\n", f".. auto{kind}:: {last}\n"]
    if kind == "class":
        methods = _methods(thing)
        parts += [f"   .. automethod:: {method}\n" for method in methods]
    return "\n".join(parts)


def _methods(cls: type) -> list[str]:
    """Public methods that this package wrote; get_params and its kind are scikit-learn's."""
    written = {
        name: f
        for name, f in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_")
    }
    return [name for name, f in written.items() if f.__module__.startswith("tenfold")]


def _title(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def _table(names: Iterable[str]) -> str:
    names = list(names)
    rows = "".join(f"   {'~' * (name.count('.') > 1)}{name}\n" for name in names)  # ~: last part
    return f".. autosummary::\n   :nosignatures:\n\n{rows}\n{_toctree(*names)}"


def _toctree(*pages: str, shown: bool = False) -> str:
    options = "   :maxdepth: 1\n" if shown else "   :hidden:\n"
    return ".. toctree::\n" + options + "\n" + "".join(f"   {page}\n" for page in pages)
