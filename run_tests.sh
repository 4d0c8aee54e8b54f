#!/usr/bin/env bash
# Check style and types, then run the tests. Sets up .venv on first use.
# Arguments go to pytest: ./run_tests.sh tests/test_robots.py
set -euo pipefail
cd "$(dirname "$0")"
source scripts/venv.sh requirements-dev.txt
.venv/bin/ruff check .
.venv/bin/ruff format --check .
.venv/bin/mypy
exec .venv/bin/python -m pytest "$@"
