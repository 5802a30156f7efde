"""The page of a graph: its script agrees with Python about every question."""

import json
import shutil
import subprocess
from itertools import combinations, product
from pathlib import Path

import pytest

import tenfold.report
from tenfold.graphical import DirectedGraph
from tenfold.report import render_separation, write_separation

GRAPH = DirectedGraph.from_arcs("rain -> wet; sprinkler -> wet; wet -> slip")
SCRIPT = Path(tenfold.report.__file__).parent / "templates" / "separation.js"


def test_the_page_answers_without_a_script(tmp_path):
    path = write_separation(GRAPH, tmp_path / "g.html", separate=("rain", "sprinkler"))
    page = path.read_text()
    assert "rain and sprinkler are independent" in page
    assert page.count("data-node=") == 4
    assert page.count("data-tail=") == 3
    assert "<td>rain, sprinkler</td><td>nothing</td>" in page
    opened = render_separation(GRAPH, separate=("rain", "sprinkler"), known=["slip"])
    assert "depend on each other given slip" in opened


def test_names_cannot_end_the_script():
    page = render_separation(DirectedGraph.of({"</script>": [], "b": ["</script>"]}))
    assert '</script>"' not in page
    with pytest.raises(ValueError, match="nothing to separate"):
        render_separation(DirectedGraph.of({"a": []}))


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_script_agrees_about_all_triples_of_all_graphs_of_four_nodes():
    questions, answers = [], []
    pairs = list(combinations("abcd", 2))
    for present in product((0, 1), repeat=6):
        arcs = [pair for pair, there in zip(pairs, present, strict=True) if there]
        graph = DirectedGraph.from_arcs(arcs, "abcd")
        parents = {v: list(p) for v, p in graph.parents.items()}
        for a, b in pairs:
            rest = [n for n in "abcd" if n not in (a, b)]
            for size in range(3):
                for given in combinations(rest, size):
                    questions.append([parents, a, b, given])
                    answers.append(graph.is_separated(a, b, given))
    program = f"""
    const {{ separation }} = require({json.dumps(str(SCRIPT))});
    const ask = ([parents, a, b, given]) =>
      separation(parents).activePath(a, b, new Set(given)) === null;
    const questions = JSON.parse(require("fs").readFileSync(0));
    console.log(JSON.stringify(questions.map(ask)));
    """
    done = subprocess.run(
        ["node", "-e", program],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == answers
