"""Pictures of models and of what they learned; matplotlib is imported when the first is drawn.

Every function returns the Axes (an array of them where there are panels) and takes `ax` to draw
into. Colours can be told apart by the colour-blind, and in print.
"""

from tenfold.lazy import lazily

# A module must not be called like a name: importing it would put it in the name's place.
_WHERE: dict[str, str] = {
    "BiasVarianceDisplay": "tenfold.plot.comparing",
    "BoundaryDisplay": "tenfold.plot.deciding",
    "CalibrationDisplay": "tenfold.plot.judging",
    "ConfusionDisplay": "tenfold.plot.judging",
    "CurveDisplay": "tenfold.plot.validating",
    "EarlyStoppingDisplay": "tenfold.plot.training",
    "HistoryDisplay": "tenfold.plot.training",
    "ModelComparisonDisplay": "tenfold.plot.comparing",
    "PrecisionRecallDisplay": "tenfold.plot.thresholds",
    "ResidualsDisplay": "tenfold.plot.residuals",
    "RocDisplay": "tenfold.plot.thresholds",
    "SearchDisplay": "tenfold.plot.validating",
    "activations": "tenfold.plot.networks",
    "ambiguous_regions": "tenfold.plot.regions",
    "balls": "tenfold.plot.norm_balls",
    "boundary": "tenfold.plot.deciding",
    "dendrogram": "tenfold.plot.clusters",
    "elbow": "tenfold.plot.clusters",
    "em_steps": "tenfold.plot.mixing",
    "feature_maps": "tenfold.plot.networks",
    "filters": "tenfold.plot.networks",
    "hidden_units": "tenfold.plot.networks",
    "layer_slopes": "tenfold.plot.network_training",
    "loss_surface": "tenfold.plot.network_training",
    "losses": "tenfold.plot.curves",
    "mixture": "tenfold.plot.mixing",
    "partition": "tenfold.plot.clusters",
    "path": "tenfold.plot.curves",
    "projection": "tenfold.plot.projecting",
    "rate_search": "tenfold.plot.network_training",
    "reasons": "tenfold.plot.weighing",
    "saliency": "tenfold.plot.networks",
    "silhouettes": "tenfold.plot.clusters",
    "spread_of_fits": "tenfold.plot.comparing",
    "weights": "tenfold.plot.weighing",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605 - the names are written once, above

__getattr__, __dir__ = lazily(__name__, _WHERE)
