"""Runs inside a chapter's kernel after its last cell: the values that the text links to.

The text of this file is sent to the kernel, which knows nothing of the book; standard library only.
"""

import json
import math
import sys
from pathlib import Path


def report(namespace: dict, targets: list[str]) -> str:
    """JSON: what each target is, and which files of the library this chapter has used."""
    return json.dumps(
        {"numbers": {t: describe(namespace, t) for t in targets}, "library": library()}
    )


def describe(namespace: dict, target: str) -> dict:
    """Value, unit, meaning and source of a name or attribute path, or why there is none."""
    name, *path = target.split(".")
    if name not in namespace:
        return {"error": f"nothing in the notebook is called {name!r}"}
    found = namespace[name]
    for attribute in path:
        if not hasattr(found, attribute):
            return {"error": f"{name!r} has no attribute {attribute!r}"}
        found, name = getattr(found, attribute), f"{name}.{attribute}"
    try:
        value = float(found)
    except (TypeError, ValueError):
        return {"error": f"{target!r} is no number but {type(found).__name__}"}
    if isinstance(found, (str, bytes, bool)) or not math.isfinite(value):
        return {"error": f"{target!r} is no number but {found!r}"}
    about = {"value": value, "source": reference(str(getattr(found, "source", "") or ""))}
    for key in ("unit", "meaning", "note"):
        about[key] = str(getattr(found, key, "") or "")
    return about


def reference(key: str) -> str:
    """A source key as a reader knows it, where the library has an entry for it."""
    try:
        from clustermath import sources

        return sources[key].reference
    except (ImportError, KeyError):
        return key


def library() -> list[str]:
    """The library's files that decide this chapter's outputs: loaded modules, and all its data."""
    package = sys.modules.get("clustermath")
    if package is None:
        return []
    names = [n for n in sys.modules if n == "clustermath" or n.startswith("clustermath.")]
    modules = {getattr(sys.modules[n], "__file__", None) for n in names} - {None}
    folder = Path(package.__file__).parent
    data = {str(f) for f in folder.rglob("*") if f.suffix in {".toml", ".js", ".css"}}
    return sorted(modules | data)
