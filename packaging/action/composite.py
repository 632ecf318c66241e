"""Runs the steps of a composite action as GitHub's runner does, as far as this action needs it; for its test.

    composite.py FOLDER INPUTS

INPUTS are an object of JSON. The inputs are given to the steps in their environment, outputs and variables collected
from the files that steps write. What it prints is an object of JSON: whether all steps succeeded, the variables and the
outputs that the job's next steps see, the additions to PATH, and what the steps said.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ruamel.yaml import YAML

FILES = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"]


def expanded(text: str, values: dict[str, str]) -> str:
    """The text with each `${{ name }}` replaced; a name without a value is an error."""
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values[found[1]], text)


def pairs(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines())


def run(folder: Path, given: dict[str, str]) -> dict:
    action = YAML(typ="safe").load(folder / "action.yml")
    unknown = given.keys() - action["inputs"].keys()
    assert not unknown, f"no inputs of the action: {unknown}"
    values = {f"inputs.{name}": given.get(name, it["default"]) for name, it in action["inputs"].items()}
    environment = {**os.environ, "GITHUB_ACTION_PATH": str(folder)}
    variables: dict[str, str] = {}
    paths: list[str] = []
    said = ""
    succeeded = True
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        files = {name: Path(tempfile.mkstemp()[1]) for name in FILES}
        inputs = {name: expanded(value, values) for name, value in step["env"].items()}
        search = os.pathsep.join([*reversed(paths), os.environ["PATH"]])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        step_environment = {**environment, **variables, **inputs, "PATH": search}
        step_environment |= {name: str(path) for name, path in files.items()}
        ended = subprocess.run(command, env=step_environment, capture_output=True, text=True)
        said += ended.stdout + ended.stderr
        variables |= pairs(files["GITHUB_ENV"])
        paths += files["GITHUB_PATH"].read_text().splitlines()
        values |= {f"steps.{step['id']}.outputs.{name}": it for name, it in pairs(files["GITHUB_OUTPUT"]).items()}
        for path in files.values():
            path.unlink()
        if ended.returncode:
            succeeded = False
            break
    outputs = {name: expanded(it["value"], values) for name, it in action["outputs"].items()} if succeeded else {}
    return {"succeeded": succeeded, "env": variables, "outputs": outputs, "path": paths, "said": said}


print(json.dumps(run(Path(sys.argv[1]).resolve(), json.loads(sys.argv[2]))))
