"""
Boosting from a file
====================

Rows in a file are read in passes, never all at once. A histogram of whole numbers does not depend
on the order in which its rows come, so the trees are those of the same rows in memory, to the last
bit. [X01]
"""

# %%
# A Parquet file of 400,000 rows (make it as many as the disk holds: the memory stays the same).
# Three columns matter, the others are noise.
import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tenfold import HistGradientBoostingClassifier
from tenfold.plot.style import palette_color, style_axes

rng = np.random.default_rng(0)
X = rng.normal(size=(400_000, 10)).astype(np.float32)
score = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
y = (score + 0.5 * rng.normal(size=len(X)) > 0).astype(np.int64)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.parquet"
columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=50_000)
print(f"{path.stat().st_size / 1e6:.0f} MB")

# %%
# The same call for both. The file is cut into bins of one byte a cell in its first passes; from
# then on the bins are read, a tree takes as many passes as it is deep.
options = {"max_iter": 8, "max_leaf_nodes": 31, "early_stopping": False, "random_state": 0}
start = perf_counter()
from_file = HistGradientBoostingClassifier(**options).fit(path, "y")
middle = perf_counter()
in_memory = HistGradientBoostingClassifier(**options).fit(X, y)
print(f"from the file {middle - start:.1f} s, in memory {perf_counter() - middle:.1f} s")
print("the same trees:", bool((from_file.trees_.words == in_memory.trees_.words).all()))

# %%
# Where the cuts lie. The columns that matter are cut all over their range, most where the score
# bends; the others are hardly touched.
trees = [from_file.trees_.tree(t) for t in range(len(from_file.trees_))]
column = np.concatenate([tree.columns for tree in trees])  # -1 for leaves
cuts = np.concatenate([tree.nodes["threshold"] for tree in trees])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.bar(range(10), from_file.feature_importances_, color=palette_color(0))
left.set(xlabel="column", title="share of the gain", xticks=range(10))
for j in range(3):
    right.hist(cuts[column == j], 20, histtype="step", color=palette_color(j), label=f"x{j}")
right.legend(frameon=False)
right.set(xlabel="threshold", title="cuts of the three columns that matter")
for ax in (left, right):
    style_axes(ax)
plt.show()
folder.cleanup()
