"""The README's Python of these sections runs as pasted, in fewer worlds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


@pytest.mark.parametrize("section", ["Environments", "Planning and identification"])
def test_blocks_run_as_pasted(section, tmp_path):
    text = re.search(rf"^## {section}$(.*?)^## ", README.read_text(), re.M | re.S).group(1)
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) > 1
    script = tmp_path / "pasted.py"
    script.write_text("\n".join(blocks).replace("1024", "8"))
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
