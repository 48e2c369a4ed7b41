"""Matches with purses, judged by the verifier of the page alone: purses.js makes them, and knows what is due."""

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")


@pytest.mark.thorough
@pytest.mark.skipif(NODE is None, reason="there is no node to run the verifier of the page in")
def test_the_page_judges_purses_and_stakes_as_the_specification_says() -> None:
    judged = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("purses.js"))], capture_output=True, text=True, check=False
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
