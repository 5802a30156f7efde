"""Converters of skl2onnx for models that scikit-learn has too."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.preprocessing import LabelBinarizer

from tenfold import _WHERE
from tenfold.persist.registry import find_registered, model_names

# Trees are objects of compiled code; kernel machines and neighbors are converted by way of private
# attributes, and of kernels that are scikit-learn's.
_OTHER_FORMS = tuple(
    f"tenfold.{package}."
    for package in ("ensemble", "gaussian_process", "kernel", "neighbors", "svm", "tree")
)


def register_onnx_converters() -> list[str]:
    """Let skl2onnx convert our models, alone and inside of scikit-learn's pipelines.

    skl2onnx looks converters up by class. A model with the name of one of scikit-learn's has its
    parameters and learned attributes, so that scikit-learn's converter serves for it; here our
    class is registered beside scikit-learn's. Call this once before `skl2onnx.to_onnx`. It needs
    ``pip install 'tenfold[export]'``. Networks of any layers have an export of their own,
    `tenfold.neural.to_onnx`.

    Returns
    -------
    list of str
        Names of the models that can be converted from now on.

    See Also
    --------
    tenfold.neural.to_onnx : export of networks.
    tenfold.save : files that `tenfold.load` reads, of all models.

    References
    ----------
    ONNX: Open Neural Network Exchange, https://onnx.ai; sklearn-onnx, https://onnx.ai/sklearn-onnx.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skl2onnx import to_onnx
    >>> from tenfold import LogisticRegression, register_onnx_converters
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    >>> "LogisticRegression" in register_onnx_converters()
    True
    >>> graph = to_onnx(model, X[:1].astype(np.float32)).graph
    >>> [node.op_type for node in graph.node][:2]
    ['Scaler', 'LinearClassifier']
    """
    operators = _import_operators()
    from skl2onnx import update_registered_converter
    from skl2onnx.common._registration import get_converter, get_shape_calculator

    theirs = {cls.__name__: cls for cls in operators if cls.__module__.startswith("sklearn.")}
    known = [name for name in sorted(_WHERE.keys() & theirs.keys()) if _holds_arrays(name)]
    for name in known:
        alias = operators[theirs[name]]
        converter: Any = get_converter(alias)
        update_registered_converter(
            find_registered(f"tenfold.{name}", model_names()),
            alias,
            get_shape_calculator(alias),
            _convert_counterpart(converter._fct, theirs),  # noqa: SLF001 - without its checks
            options=converter.get_allowed_options(),
            parser=_parse_counterpart(theirs),
        )
    return known


def _holds_arrays(name: str) -> bool:
    """Whether a model is its public arrays, which is what scikit-learn's converter gets."""
    return not _WHERE[name].startswith(_OTHER_FORMS)


def _import_operators() -> dict[type, str]:
    """Class -> name of the operator, of skl2onnx; an error that names the extra if it is absent."""
    try:
        from skl2onnx._supported_operators import sklearn_operator_name_map
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "register_onnx_converters needs the package skl2onnx: pip install 'tenfold[export]'"
        ) from error
    return sklearn_operator_name_map


def _convert_counterpart(convert: Callable[..., Any], theirs: dict[str, type]) -> Any:
    """A converter of scikit-learn's models that takes ours too."""
    if hasattr(convert, "takes_ours"):
        return convert

    def convert_either(scope: Any, operator: Any, container: Any) -> None:
        model = operator.raw_operator
        if type(model).__module__.startswith("tenfold."):
            operator.raw_operator = _counterpart(model, theirs)
            _share_options(container.options, model, operator.raw_operator)
        convert(scope, operator, container)

    convert_either.takes_ours = True  # pyright: ignore[reportFunctionMemberAccess]
    return convert_either


def _parse_counterpart(theirs: dict[str, type]) -> Any:
    """A parser, which declares the outputs of a model: skl2onnx knows them by its type."""

    def parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
        from skl2onnx._parse import parse_sklearn

        twin = _counterpart(model, theirs)
        _share_options(scope.options, model, twin)
        return parse_sklearn(scope, twin, inputs, custom_parsers=custom_parsers)

    return parse


def _share_options(options: dict[Any, Any] | None, model: Any, twin: Any) -> None:
    """Options of a conversion, given for a model or its class, hold for its counterpart too."""
    for ours, their in ((type(model), type(twin)), (id(model), id(twin))):
        if options and ours in options:
            options[their] = options[ours]


def _counterpart(model: Any, theirs: dict[str, type]) -> Any:
    """scikit-learn's model of the same name, with the parameters and learned attributes of ours."""
    cls = theirs[type(model).__name__]
    named = signature(cls.__init__).parameters
    params = model.get_params(deep=False)
    twin: Any = cls(**{name: value for name, value in params.items() if name in named})
    for name in dir(model):
        if name.endswith("_") and name[0] != "_" and hasattr(model, name):
            fixed = isinstance(getattr(cls, name, None), property)
            if not fixed:
                setattr(twin, name, getattr(model, name))
    _set_private_parts(twin)
    return twin


def _set_private_parts(twin: Any) -> None:
    """What scikit-learn's converters read beside parameters and learned attributes."""
    if is_classifier(twin) and hasattr(twin, "out_activation_"):  # a network
        binarizer = LabelBinarizer().fit(twin.classes_)
        if twin.out_activation_ == "logistic" and len(twin.classes_) > 2:
            binarizer.y_type_ = "multilabel-indicator"
        twin._label_binarizer = binarizer  # noqa: SLF001
    if type(twin).__name__ == "PolynomialFeatures":  # learns nothing but the number of columns
        twin.fit(np.zeros((1, twin.n_features_in_)))
