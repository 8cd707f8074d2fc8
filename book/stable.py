"""The same notebook as the same bytes, on every run and every machine."""

from __future__ import annotations

import hashlib
import json
import re

import nbformat
from nbformat import NotebookNode

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
REFERENCE = re.compile(r"IPY_MODEL_(\w+)")


def dumps(notebook: NotebookNode, slug: str) -> str:
    """The text of an executed notebook, free of everything that differs between two runs."""
    models = _models(notebook)
    state = notebook.metadata.get("widgets", {}).get(STATE)
    if state:
        # What no output reaches is left over from widgets that were never shown.
        state["state"] = {model: _sparse(state["state"][model]) for model in models}
    text = nbformat.writes(notebook)
    if models:
        new = {m: hashlib.md5(f"{slug}{i}".encode()).hexdigest() for i, m in enumerate(models)}
        text = re.sub("|".join(models), lambda match: new[match[0]], text)
    # Sorted only now: the random ids would have decided the order of the states.
    return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _sparse(model: dict) -> dict:
    """A layout without its forty unset properties."""
    if model["model_name"] == "LayoutModel":
        model["state"] = {key: value for key, value in model["state"].items() if value is not None}
    return model


def _models(notebook: NotebookNode) -> list[str]:
    """Ids of the widget models in order of first use: views first, then what these refer to."""
    widgets = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    order = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            order.append(output.get("data", {}).get(VIEW, {}).get("model_id"))
    order = [model for model in dict.fromkeys(order) if model in widgets]
    for model in order:  # grows while it is walked
        referred = REFERENCE.findall(json.dumps(widgets[model], sort_keys=True))
        order += [m for m in dict.fromkeys(referred) if m in widgets and m not in order]
    return order
