"""The command `tenfold`: learn from a table, predict, evaluate, explain, serve.

`app` lists the commands, `options` holds what they share, `console` prints, `errors` turns errors
into a message and an exit code, and each command has a module. Heavy libraries are imported inside
the commands, so that `tenfold --help` is fast.
"""

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 success, 2 user error, 130 interrupted, 141 the reader of a pipe left, 1 bug.

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
