"""Run all benchmarks, or those whose names are given."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any

from benchmarks import (
    agreement,
    approximate_neighbors,
    boosting_file,
    clusters,
    decomposition,
    embeddings,
    encoding,
    ensembles,
    factors,
    forests,
    gaussian_process,
    glm,
    graphical,
    kernels,
    language,
    lasso,
    maps,
    memory,
    memory_text,
    mixtures,
    neighbors,
    networks,
    recommend,
    report,
    rl,
    selection,
    sequences,
    small,
    speed,
    startup,
    svc,
    svm,
    topics,
    trees,
)
from benchmarks.machine import QUIET, busy, machine

GROUPS = {"speed": speed, "lasso": lasso, "glm": glm, "svc": svc, "agreement": agreement}
GROUPS |= {"encoding": encoding, "selection": selection, "clusters": clusters, "mixtures": mixtures}
GROUPS |= {"forests": forests, "ensembles": ensembles, "boosting-file": boosting_file}
GROUPS |= {"gaussian-process": gaussian_process, "decomposition": decomposition}
GROUPS |= {"networks": networks, "small": small, "startup": startup, "memory": memory}
GROUPS |= {"kernels": kernels, "svm": svm, "trees": trees, "neighbors": neighbors}
GROUPS |= {"approximate-neighbors": approximate_neighbors, "rl": rl, "sequences": sequences}
GROUPS |= {"recommend": recommend, "maps": maps, "embeddings": embeddings, "factors": factors}
GROUPS |= {"graphical": graphical, "topics": topics, "language": language}
GROUPS |= {"memory-text": memory_text}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))  # so that files are removed
    asked = arguments()
    chosen = choose(asked.names)
    if asked.list:
        print("\n".join(f"{group}/{name}" for group, names in chosen.items() for name in names))
        return
    load = busy()
    if load > QUIET:
        print(
            f"The load is {load:.1f}: others slow down whoever uses more threads. Wait for quiet."
        )
    for group, names in chosen.items():
        run(group, names, load, quick=asked.quick)


def run(group: str, names: list[str], load: float, *, quick: bool) -> None:
    """Run a group, show its table, and keep it if it is all of the group."""
    module = GROUPS[group]
    table = module.run(names, quick=quick)
    report.show(table)
    if quick or names != usual_names(module):
        print("RESULTS.md is left as it is: it takes whole groups, and no quick runs.\n")
    else:
        order = [other.TITLE for other in GROUPS.values()]
        report.write(table.title, report.markdown(table, machine(load)), order)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="groups, cases, or parts of their names")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, few rounds")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    return parser.parse_args()


def choose(wanted: list[str]) -> dict[str, list[str]]:
    """Cases of each group whose full name, group/case, contains one of the wanted words."""
    chosen = {}
    for group, module in GROUPS.items():
        usual = usual_names(module)
        names = [
            n
            for n in module.names()
            if _named(n if n not in usual else f"{group}/{n}", wanted)
            or (not wanted and n in usual)
        ]
        if names:
            chosen[group] = names
    if not chosen:
        raise SystemExit(f"no benchmark is called {' or '.join(wanted)}: see --list")
    return chosen


def usual_names(module: Any) -> list[str]:
    """Cases of a group, without those that take so long that they are run by their name alone."""
    return [name for name in module.names() if name not in getattr(module, "LONG", ())]


def _named(name: str, wanted: list[str]) -> bool:
    return any(word.lower() in name.lower() for word in wanted)


if __name__ == "__main__":
    main()
