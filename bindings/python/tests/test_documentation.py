"""The examples of docs/python.md, run as a notebook, and the stubs."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import kal

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def notebook(cells):
    cells = [nbformat.v4.new_code_cell(cell) for cell in cells]
    return nbformat.v4.new_notebook(cells=cells)


def executed(cells, folder):
    made = notebook(cells)
    NotebookClient(made, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    return made


def shown(cell):
    """What a cell has shown: printed, or as its value."""
    texts = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "".join(texts)


def test_the_page_runs_as_a_notebook(tmp_path):
    cells = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(cells) > 12
    made = executed(cells, tmp_path)
    assert (tmp_path / "wave.png").stat().st_size > 5_000
    drawn = next(shown(cell) for cell in made.cells if "error.report" in cell.source)
    assert "error[E0201]" in drawn and "^" in drawn
    assert any(shown(cell) == "1.0" for cell in made.cells if cell.source.startswith("%%kal"))


def test_cells_of_kal(tmp_path):
    made = executed(
        [
            "%load_ext kal",
            "%%kal\ndef twice(x) x * 2\nvar y = 4",
            "%kal twice(y) + 1",
            "twice(8), kal_session['y']",
            "%%kal\nprintd(twice(1)); twice(2)",
            "%kal_asm twice",
            "twice_before = 3\nhalf = 'mine'",
            "%kal def half(x) x / 2",
            "half",
        ],
        tmp_path,
    )
    texts = [shown(cell) for cell in made.cells]
    assert texts[2:5] == ["9.0", "(16.0, 4.0)", "2\n4.0"]
    assert "ret" in texts[5]
    assert texts[8] == "'mine'"


def test_a_mistake_in_a_cell_is_drawn(tmp_path):
    with pytest.raises(CellExecutionError) as caught:
        executed(["%load_ext kal", "%%kal\n1 + nothing"], tmp_path)
    assert "E0201" in str(caught.value) and "Traceback" not in str(caught.value)


def test_the_stubs_say_what_is_there(tmp_path):
    # What is private has no stubs.
    private = ",".join(f"kal.{file.stem}" for file in Path(kal.__file__).parent.glob("_*.py") if "__" not in file.stem)
    settings = tmp_path / "mypy.ini"
    settings.write_text(f"[mypy]\n[mypy-kal._kal,{private}]\nignore_errors = True\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy.stubtest", "kal", "--ignore-disjoint-bases"]
    command += ["--mypy-config-file", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_everything_public_has_documentation():
    for name in kal.__all__:
        thing = getattr(kal, name)
        assert thing.__doc__, name
        members = vars(thing) if isinstance(thing, type) and thing.__module__ == "kal" else {}
        missing = [member for member, value in members.items() if not member.startswith("_") and not value.__doc__]
        assert missing == [], (name, missing)
