"""`python -m tests.dropin [FILE...]`: run test files of scikit-learn with tenfold's models."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.dropin.runner import (
    KINDS,
    count_kinds,
    public_share,
    run_files,
    shared_files,
    unexpected_failures,
)
from tests.dropin.swap import PACKAGE


def full_path(name: str) -> str:
    """The file below scikit-learn's package: "linear_model/ridge" and the path itself will do."""
    if (PACKAGE / name).is_file():
        return name
    folder, _, stem = name.rpartition("/")
    return f"{folder}/tests/test_{stem}.py".lstrip("/")


def main() -> None:
    """Print a table of files, with the tests that passed and failed; on request each failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "files", nargs="*", help='such as "linear_model/ridge" or "calibration"; none: all'
    )
    parser.add_argument("--minutes", type=float, default=20, help="time limit of a file")
    parser.add_argument("-k", dest="select", default="", help="pytest's selection of tests")
    parser.add_argument("--output", type=Path, help="file of JSON lines, one for each test")
    parser.add_argument("-v", action="store_true", help="show the message of each failure")
    parser.add_argument("--new", action="store_true", help="show failures without an exception")
    options = parser.parse_args()
    kinds = ("passed", *KINDS, "other", "left out")
    sys.stdout.write(f"| file | {' | '.join(kinds)} |\n|{'---|' * 7}\n")
    sums: dict[str, int] = dict.fromkeys(kinds, 0)
    for name in options.files or shared_files():
        (results,) = run_files([full_path(name)], options.minutes, options.select)
        counts = count_kinds(results)
        sums = {kind: sums[kind] + count for kind, count in counts.items()}
        cells = " | ".join(str(count or "") for count in counts.values())
        lines = [f"| {name} | {cells} |", *filter(None, [results.error])]
        if options.v or options.new:
            failures = unexpected_failures(results) if options.new else results.failed
            lines += [f"    {test}: {text[:300]}" for test, text in failures.items()]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        if options.output:
            with options.output.open("a") as file:
                lines = [json.dumps({**test, "file": results.file}) for test in results.tests]
                file.write("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"| sum | {' | '.join(map(str, sums.values()))} |\n")
    sys.stdout.write(f"{public_share(sums):.1%} of the tests that are not private pass\n")


if __name__ == "__main__":
    main()
