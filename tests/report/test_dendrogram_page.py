"""The page on which a dendrogram is cut by hand: what it holds, and that it needs nothing else."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tenfold import AgglomerativeClustering
from tenfold.cluster.dendrogram import cut_tree, linkage_matrix, subtree_heights
from tenfold.report import render_dendrogram, write_dendrogram
from tenfold.report.dendrogram_page import _TopOfTree

X = np.random.default_rng(0).normal(size=(60, 3))


def tree_data(page):
    return json.loads(re.search(r'id="tree-data">(.*?)</script>', page, re.DOTALL).group(1))


def sizes_of_cut(data, height):
    """The rows of each cluster, as the script of the page finds them."""
    n = len(data["labels"])
    root = list(range(2 * n - 1))
    for t in range(n - 2, -1, -1):
        if data["heights"][t] < height:
            for child in data["children"][t]:
                root[child] = root[n + t]
    totals = {}
    for leaf in data["order"]:
        totals[root[leaf]] = totals.get(root[leaf], 0) + data["sizes"][leaf]
    return sorted(totals.values())


@pytest.mark.parametrize("linkage", ["single", "average", "ward", "centroid"])
@pytest.mark.parametrize("n", [2, 60, 700])
def test_every_cut_of_the_page_is_a_cut_of_the_tree(linkage, n):
    rows = np.random.default_rng(1).normal(size=(n, 2))
    Z = linkage_matrix(rows, linkage)
    data = tree_data(render_dendrogram(Z))
    assert len(data["labels"]) == min(n, 400)
    assert sum(data["sizes"]) == n
    heights = np.sort(subtree_heights(Z[:, :2].astype(int), Z[:, 2]))[-min(n - 1, 399) :]
    for height in [*(heights[1:] + heights[:-1])[-40:] / 2, heights[-1] * 1.01]:
        assert sizes_of_cut(data, height) == sorted(np.bincount(cut_tree(Z, height=height)))


def test_the_first_cut_is_drawn_without_a_script():
    model = AgglomerativeClustering(linkage="average").fit(X)
    page = render_dendrogram(model, n_clusters=4)
    svg = re.search(r"<svg[^>]*chart dendrogram.*?</svg>", page, re.DOTALL).group(0)
    colors = set(re.findall(r'class="branch (c\d|above)"', svg))
    sizes = np.bincount(model.cut(n_clusters=4))
    assert colors - {"above"} <= {"c0", "c1", "c2", "c3"}
    assert len(colors - {"above"}) == (sizes > 1).sum()
    assert svg.count('class="branch above"') == 3
    assert 'role="img"' in svg
    shown = ", ".join(str(s) for s in np.sort(sizes)[::-1])
    assert "<td>4</td>" in page
    assert f"<td>{shown}</td>" in page


def test_the_page_is_one_file_and_text_stays_text(tmp_path):
    model = AgglomerativeClustering().fit(X[:5])
    names = ["</script><b>", "a & b", "ü", '"quoted"', "plain"]
    path = write_dendrogram(
        model, tmp_path / "new" / "tree.html", names=names, title="<i>Trees</i>"
    )
    page = path.read_text()
    addresses = set(re.findall(r"https?://[^\"' )]*", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:link|img|iframe)\b|<script[^>]*\bsrc=", page)
    assert "</script><b>" not in page
    assert "<i>Trees</i>" not in page
    assert tree_data(page)["labels"] == names


def test_subtrees_are_leaves_of_a_large_tree():
    Z = linkage_matrix(np.random.default_rng(0).normal(size=(900, 2)), "average")
    top = _TopOfTree(Z, [f"row {i}" for i in range(900)])
    assert len(top.Z) == 399
    assert top.sizes.sum() == 900
    single = [label for label, size in zip(top.labels, top.sizes, strict=True) if size == 1]
    assert all(label.startswith("row ") for label in single)
    assert_array_equal(top.heights, Z[-399:, 2])


def test_wrong_names_and_numbers_say_so():
    Z = linkage_matrix(X[:4], "single")
    with pytest.raises(ValueError, match="4 rows, but there are 2 names"):
        render_dendrogram(Z, names=["a", "b"])
    with pytest.raises(ValueError, match="between 1 and 4"):
        render_dendrogram(Z, n_clusters=9)
