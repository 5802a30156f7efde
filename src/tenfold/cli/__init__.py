"""The command `tenfold`: learn from a table, predict, explain, serve.

Read in order: `app` (the commands), `options` (what several have in common), `speaking` (who is
told what), `errors` (one sentence and an exit code), then one file per command. Heavy libraries are
imported inside the commands, so that `tenfold --help` answers at once.
"""

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 2 refused, 130 interrupted, 1 our fault.

    Parameters
    ----------
    arguments : list of str, optional
        Those of the process if None.

    Examples
    --------
    >>> main(["--version"])
    tenfold ...
    0
    """
    from tenfold.cli.app import run
    from tenfold.cli.errors import exit_code

    return exit_code(lambda: run(arguments))
