"""`python -m tests.dropin.hmmlearn_files`: run hmmlearn's own tests with tenfold's models.

hmmlearn must be installed. Tests of its private functions are expected to fail; the guide lists
the others (docs/guide/sequences.md).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = ("categorical_hmm", "gaussian_hmm", "gmm_hmm", "gmm_hmm_multisequence", "gmm_hmm_new")
FILES += ("multinomial_hmm", "poisson_hmm")
MODELS = "CategoricalHMM, GMMHMM, GaussianHMM, MultinomialHMM, PoissonHMM"


def copy_tests(folder: Path) -> None:
    """Write a package whose `hmm` module holds our models, and the tests that import it."""
    spec = find_spec("hmmlearn")
    if spec is None or spec.origin is None:
        raise SystemExit("hmmlearn is not installed: pip install hmmlearn")
    source = Path(spec.origin).parent / "tests"
    (folder / "swapped" / "tests").mkdir(parents=True)
    (folder / "swapped" / "__init__.py").write_text("")
    (folder / "swapped" / "hmm.py").write_text(f"from tenfold import {MODELS}\n")
    for name in ("__init__", "conftest", *(f"test_{file}" for file in FILES)):
        text = (source / f"{name}.py").read_text()
        for theirs in ("from hmmlearn import hmm", "from .. import hmm"):
            text = text.replace(theirs, "from swapped import hmm")
        text = text.replace("from ..hmm import", "from swapped.hmm import")
        (folder / "swapped" / "tests" / f"{name}.py").write_text(text)


def main() -> None:
    """Run all files; arguments are pytest's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_tests(folder)
        path = os.pathsep.join([str(folder), str(ROOT / "src")])
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", name]
        command += ["-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
        command += ["--tb=line", "-W", "ignore", *sys.argv[1:], "swapped/tests"]
        environment = os.environ | {"PYTHONPATH": path}
        sys.exit(subprocess.run(command, cwd=folder, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
