"""Executes a notebook without Jupyter: its cells share a namespace, and the last expression is displayed.

python -m tests.api.notebook docs/tutorial/python.ipynb

writes the output of all cells into the notebook, with a new folder for runs.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def executed(source: str, namespace: dict[str, Any]) -> list[Output]:
    """Execute a cell; return its outputs in the notebook's format. Standard error is discarded."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(tree, "<cell>", "exec"), namespace)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
    outputs: list[Output] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append(
            {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": None}
        )
    return outputs


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def fill(path: Path) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, cell in enumerate(code_cells(notebook), 1):
                cell["outputs"] = executed("".join(cell["source"]), namespace)
                cell["execution_count"] = number
                for output in cell["outputs"]:
                    if "execution_count" in output:
                        output["execution_count"] = number
        finally:
            os.chdir(here)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    fill(Path(sys.argv[1]))
