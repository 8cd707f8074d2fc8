"""The Sphinx extension that turns chapters, which are plain notebooks, into pages of the book."""

from __future__ import annotations

import zlib
from pathlib import Path

from sphinx.application import Sphinx

from . import actions, assets, cells, contents, numbers


def setup(app: Sphinx) -> dict[str, object]:
    """Register what each module contributes."""
    for module in (assets, cells, numbers, contents, actions):
        module.setup(app)
    # Pages that Sphinx has kept from an earlier state of this package are not to be used.
    code = b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
    return {
        "env_version": zlib.crc32(code),
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }
