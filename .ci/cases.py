"""Runs the black-box cases and accepts only the failures that .ci/waiting names, each with what it waits for.

A case of that list that passes fails the run as well: then the list is to be shortened.
"""

import pathlib
import re
import subprocess
import sys

binary, folder = sys.argv[1:]
here = pathlib.Path(__file__).parent
waiting = {}
for line in (here / "waiting").read_text().splitlines() if (here / "waiting").exists() else []:
    name, _, reason = line.partition(" ")
    if name and not name.startswith("#"):
        waiting[name] = reason
files = sorted(str(path) for path in pathlib.Path(folder).glob("*.jsonl"))
run = subprocess.run(
    [sys.executable, f"{folder}/run.py", "--bin", binary, "-j", "3", *files], capture_output=True, text=True,
)
print(run.stdout[-20000:], run.stderr[-4000:], sep="\n")
failed = set(re.findall(r"^FAIL (\S+)", run.stdout, re.M))
if not re.search(r"\d+ passed", run.stdout):
    sys.exit("the cases did not run")
new, healed = failed - waiting.keys(), waiting.keys() - failed
for name in sorted(new):
    print(f"fails, and is not known to: {name}")
for name in sorted(healed):
    print(f"passes now, take it from .ci/waiting: {name}")
sys.exit(bool(new or healed))
