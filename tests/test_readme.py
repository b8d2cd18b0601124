"""The README's Python of these sections runs as pasted, in fewer worlds."""

import re
import subprocess
import sys
from pathlib import Path

import compilation
import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("section, least", [("Quickstart", 1), ("Environments", 2), ("Planning and identification", 2)])
def test_blocks_run_as_pasted(section, least, tmp_path):
    text = re.search(rf"^## {section}$(.*?)^##", README.read_text(), re.M | re.S).group(1)
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= least
    script = tmp_path / "pasted.py"
    script.write_text("\n".join(blocks).replace("1024", "8"))
    run = [sys.executable, "-W", "error::UserWarning", str(script)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=840, env=compilation.environment())
    assert done.returncode == 0, done.stderr
