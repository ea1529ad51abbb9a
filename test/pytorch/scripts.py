"""Scripts that tests run in processes of their own."""

import os
import subprocess
import sys


def run(tmp_path, text, *launcher, **environment):
    """The process, at its end: python, `launcher`, and a file with this text."""
    file = tmp_path / "script.py"
    file.write_text(text)
    made = {k: v for k, v in os.environ.items() if not k.startswith(("GLIA_", "NEURON_", "PJRT_", "XLA_"))}
    return subprocess.run(
        [sys.executable, *launcher, str(file)],
        env={**made, **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=900,
    )


def script(tmp_path, text, *options, **environment):
    """What a script says that goes well under `python -m glia`."""
    done = run(tmp_path, text, "-m", "glia", *options, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout
