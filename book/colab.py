"""The committed notebooks as Colab runs them: ``python -m book.colab``.

A fresh environment with the packages that Colab's image brings, an empty folder, and the notebook
alone; its own first cell installs the library, which git fetches from this repository's commit
in place of the published address.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from .chapter import INSTALL, label, tags
from .execute import NEEDS
from .stable import VIEW

# As in Colab's image; the last ones are left to pip where they do not fit the Python at hand.
IMAGE = ["ipywidgets==7.7.1", "numpy==2.1.*", "matplotlib>=3.10,<3.11", "jedi"]
OLD_IPYTHON = ["ipython==7.34.0", "ipykernel==6.17.1"]
WIDGETS = {"ask", "explorer"}


def main() -> int:
    """Run every notebook of the last commit; 1 when one does not run."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        try:
            repository = yaml.safe_load(_git("show", "HEAD:_config.yml"))["repository"]
        except subprocess.CalledProcessError:
            print("nothing is committed yet: commit, then check", file=sys.stderr)
            return 1
        mirror = work / "mirror"
        _git("clone", "--quiet", "--bare", ".", str(mirror))
        _git(
            "-C",
            str(mirror),
            "branch",
            "--force",
            repository["branch"],
            _git("rev-parse", "HEAD").strip(),
        )
        notebooks = _committed(work)
        _make_environment(work)
        problems = _check(work, notebooks, repository["url"], mirror)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(notebooks)} notebooks, {len(problems)} problems")
    return bool(problems)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def _committed(work: Path) -> dict[str, NotebookNode]:
    names = _git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
    pages = [
        n
        for n in names
        if n.endswith(".ipynb") and n.startswith(("intro", "chapters/", "exercises/"))
    ]
    return {name: nbformat.reads(_git("show", f"HEAD:{name}"), as_version=4) for name in pages}


def _make_environment(work: Path) -> None:
    """A fresh environment as Colab's, and a kernel of it."""
    print("making an environment like Colab's", flush=True)
    venv.create(work / "venv", with_pip=True)
    python = str(work / "venv" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*install, *IMAGE, *OLD_IPYTHON]).returncode:
        print(f"without {' and '.join(OLD_IPYTHON)}, which do not fit this Python", flush=True)
        subprocess.run([*install, *IMAGE, "ipykernel"], check=True)
    kernel = work / "jupyter" / "kernels" / "colab"
    kernel.mkdir(parents=True)
    argv = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Colab", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    (work / "empty").mkdir()
    os.environ["JUPYTER_PATH"] = str(work / "jupyter")
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # else the old kernel warns on every start
    os.environ["PATH"] = f"{work / 'venv' / 'bin'}:{os.environ['PATH']}"


@contextmanager
def _address_leads_to(url: str, place: str, **environment: str) -> Iterator[None]:
    """Let git fetch from ``place`` what it is asked to fetch from ``url``."""
    rule = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{place}.insteadOf",
        "GIT_CONFIG_VALUE_0": url,
    }
    os.environ.update({**rule, **environment})
    yield
    for name in (*rule, *environment):
        del os.environ[name]


def _check(work: Path, notebooks: dict[str, NotebookNode], url: str, mirror: Path) -> list[str]:
    first = next(iter(notebooks))
    problems = []
    with _address_leads_to(url, "file:///nowhere", PIP_NO_INDEX="1"):
        problems += _offline(work, notebooks[first])
    with _address_leads_to(url, mirror.as_uri()):
        for number, (name, notebook) in enumerate(notebooks.items(), start=1):
            print(f"[{number}/{len(notebooks)}] {name}", flush=True)
            problems += [f"{name}: {problem}" for problem in _run(work, notebook)]
    # Installed now: a second run needs no network and says nothing.
    with _address_leads_to(url, "file:///nowhere", PIP_NO_INDEX="1"):
        print(f"once more without a network: {first}", flush=True)
        problems += [f"{first}, second run: {problem}" for problem in _run(work, notebooks[first])]
        if any(cell.outputs for cell in notebooks[first].cells if INSTALL in tags(cell)):
            problems.append(f"{first}: the install cell says something on its second run")
    return problems


def _offline(work: Path, notebook: NotebookNode) -> list[str]:
    """Without a network the install cell has to say so in one line."""
    only_install = nbformat.v4.new_notebook(cells=[c for c in notebook.cells if INSTALL in tags(c)])
    said = _run(work, only_install)
    outputs = only_install.cells[0].outputs
    lines = [line for o in outputs for line in o.get("traceback", [o.get("text", "")])]
    if not said or len(lines) != 1 or "\n" in lines[0].strip():
        return [f"without a network the install cell says: {lines}"]
    print(f"without a network: {lines[0].strip()}", flush=True)
    return []


def _run(work: Path, notebook: NotebookNode) -> list[str]:
    """What is wrong with a run from top to bottom."""
    for cell in notebook.cells:
        if any(tag in NEEDS for tag in tags(cell)):
            cell.cell_type = "raw"  # Colab has these packages, this environment has not
    client = NotebookClient(
        notebook,
        kernel_name="colab",
        timeout=600,
        resources={"metadata": {"path": str(work / "empty")}},
    )
    try:
        asyncio.run(client.async_execute())
    except CellExecutionError as error:
        return [str(error).strip().splitlines()[-1]]
    return [
        f"{label(cell)} shows no widget"
        for cell in notebook.cells
        if WIDGETS & set(tags(cell))
        and not any(VIEW in o.get("data", {}) for o in cell.get("outputs", []))
    ]


if __name__ == "__main__":
    sys.exit(main())
