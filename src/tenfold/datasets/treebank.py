"""Bracketed syntax trees, as the Penn Treebank writes them in its .mrg files.

``( (S (NP (NNP Mary)) (VP (VBZ sings))) )`` becomes
``("S", ("NP", ("NNP", "Mary")), ("VP", ("VBZ", "sings")))``: a tree is its label and its parts,
and a part is a tree or a word.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from sklearn.utils import Bunch

from tenfold.datasets._base import decode_text
from tenfold.datasets.cache import DataFileError, find_folder

Tree = tuple["str | Tree", ...]


def load_treebank(path: str | Path) -> Bunch:
    """Read all .mrg files below a folder.

    Parameters
    ----------
    path : str or Path
        The folder, or one file.

    Returns
    -------
    Bunch
        ``data`` list of trees, a sentence each; ``filenames`` the file of each.

    Examples
    --------
    >>> import tempfile
    >>> top = Path(tempfile.mkdtemp())
    >>> sentence = "( (S (NP (NNP Mary)) (VP (VBZ sings))) )"
    >>> _ = (top / "one.mrg").write_text(sentence)
    >>> load_treebank(top).data
    [('S', ('NP', ('NNP', 'Mary')), ('VP', ('VBZ', 'sings')))]
    """
    path = Path(path)
    files = [path] if path.is_file() else sorted(path.rglob("*.mrg"))
    if not files:
        raise DataFileError(f"{path} has no .mrg file in it")
    data, filenames = [], []
    for file in files:
        trees = _parse_trees(decode_text(file, file.read_bytes()), file)
        data += trees
        filenames += [str(file)] * len(trees)
    return Bunch(data=data, filenames=filenames, DESCR=f"{len(data)} trees of {len(files)} files.")


def fetch_penn_treebank() -> Bunch:
    """Penn Treebank: syntax trees of the Wall Street Journal, if you have them.

    They are not free. Put the .mrg files below TENFOLD_DATA in the folder ``penn-treebank``, in
    any sub-folders. Part of them will do: their number is not checked, their brackets are.

    Returns
    -------
    Bunch
        As of `load_treebank`.

    Examples
    --------
    >>> list(tagged_words(fetch_penn_treebank().data[0]))[:2]  # doctest: +SKIP
    [('Pierre', 'NNP'), ('Vinken', 'NNP')]
    """
    return load_treebank(find_folder("penn-treebank"))


def tagged_words(tree: Tree) -> Iterator[tuple[str, str]]:
    """Yield the words of a tree with their tags, without traces (-NONE-).

    Parameters
    ----------
    tree : tuple
        As of `load_treebank`.

    Yields
    ------
    (word, tag)
        From left to right.

    Examples
    --------
    >>> list(tagged_words(("S", ("NP", ("NNP", "Mary")), ("VP", ("VBZ", "sings")))))
    [('Mary', 'NNP'), ('sings', 'VBZ')]
    """
    label, *parts = tree
    for part in parts:
        if isinstance(part, tuple):
            yield from tagged_words(part)
        elif isinstance(label, str) and label != "-NONE-":
            yield part, label


def _parse_trees(text: str, path: Path) -> list[Tree]:
    """Return the trees of a text; `path` names it in errors."""
    open_brackets: list[list[str | Tree]] = [[]]
    for piece in re.findall(r"[()]|[^\s()]+", text):
        if piece == "(":
            open_brackets.append([])
        elif piece != ")":
            open_brackets[-1].append(piece)
        elif len(open_brackets) > 1:
            tree = tuple(open_brackets.pop())
            open_brackets[-1].append(_strip_wrapper(tree))
        else:
            raise DataFileError(f"{path}, tree {len(open_brackets[0]) + 1}: a bracket too many")
    trees = [tree for tree in open_brackets[0] if isinstance(tree, tuple)]
    if len(open_brackets) > 1:
        raise DataFileError(f"{path} ends inside tree {len(trees) + 1}: it is truncated")
    if not trees or len(trees) < len(open_brackets[0]):
        raise DataFileError(f"{path} holds words outside all brackets, or no tree")
    return trees


def _strip_wrapper(tree: Tree) -> Tree:
    """Drop the nameless bracket around a sentence."""
    return tree[0] if len(tree) == 1 and isinstance(tree[0], tuple) else tree
