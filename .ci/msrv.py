"""The oldest Rust that the libraries' dependencies ask for is not newer than the one that the libraries state.

Reads `cargo metadata`: no old toolchain is needed. Dependencies for tests alone do not count.
"""

import json
import subprocess
import sys

LIBRARIES = ("mainstay-layers", "mainstay", "mainstay-testkit")


def version(text):
    return tuple(int(part) for part in (text.split(".") + ["0", "0"])[:3])


meta = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--all-features", "--locked"],
        check=True, capture_output=True, text=True,
    ).stdout
)
packages = {package["id"]: package for package in meta["packages"]}
nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
failures = []
for library in LIBRARIES:
    root = next(id for id, package in packages.items() if package["name"] == library)
    stated = packages[root]["rust_version"]
    seen, todo = set(), [root]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for dependency in nodes[node]["deps"]:
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"]):
                todo.append(dependency["pkg"])
    for id in seen:
        package = packages[id]
        if package["rust_version"] and version(package["rust_version"]) > version(stated):
            failures.append(f"{library} states {stated}, but {package['name']} {package['version']} asks for {package['rust_version']}")
    print(f"{library}: {len(seen) - 1} dependencies, none asks for more than {stated}" if not failures else f"{library}: see below")
print("\n".join(failures))
sys.exit(bool(failures))
