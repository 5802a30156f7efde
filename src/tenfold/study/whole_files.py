"""Files that appear at once or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a text file that appears at once or not at all."""
    unfinished = path.with_name(f".tenfold-{secrets.token_hex(8)}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
