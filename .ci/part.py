"""The test files of one part in N: `python .ci/part.py N`.

Which part depends on the commit, so that a few landings run all files; nothing else is random.
"""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path


def part(files, n_parts, commit):
    """About one in n_parts of the files, at least one."""

    def place(name):
        return int(sha256(f"{commit} {name}".encode()).hexdigest(), 16)

    names = sorted(Path(file).as_posix() for file in files)
    return [name for name in names if place(name) % n_parts == 0] or names[:1]


if __name__ == "__main__":
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    chosen = part(Path("tests").rglob("test_*.py"), int(sys.argv[1]), done.stdout.strip())
    print("\n".join(chosen))
