"""The package that workers install (`--setup_file`), and the `beamcrawl` command."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(r'VERSION = "([^"]+)"', (HERE / "pipeline/options.py").read_text())[1]
REQUIRED = [
    line
    for line in (HERE / "requirements.txt").read_text().splitlines()
    if line and not line.startswith("#")
]

setup(
    name="beamcrawl",
    version=VERSION,
    description="A polite, incremental web crawler that is an Apache Beam pipeline",
    packages=find_packages(include=["pipeline", "pipeline.*", "transforms", "transforms.*"]),
    package_data={"transforms": ["data/*.txt"]},
    python_requires=">=3.11",
    install_requires=REQUIRED,
    entry_points={"console_scripts": ["beamcrawl=pipeline.__main__:run"]},
)
