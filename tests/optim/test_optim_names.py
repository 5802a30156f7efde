"""The public names of the package."""

from pathlib import Path

import pytest

from tenfold.optim import until_converged


def test_names_are_lazy_and_complete():
    import tenfold.optim

    for name in tenfold.optim.__all__:
        assert getattr(tenfold.optim, name) is not None
    assert set(tenfold.optim.__all__) <= set(dir(tenfold.optim))
    modules = {path.stem for path in Path(tenfold.optim.__file__).parent.glob("*.py")}
    assert not modules & set(tenfold.optim._WHERE)  # importing one would hide the name
    assert callable(until_converged)
    with pytest.raises(AttributeError, match="no attribute 'descend'"):
        _ = tenfold.optim.descend
