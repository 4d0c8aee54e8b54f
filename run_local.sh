#!/usr/bin/env bash
# Crawl on this machine. Sets up .venv on first use.
#   ./run_local.sh                 serve the demo web on loopback and crawl it
#   ./run_local.sh URL … -o DIR    crawl these (any option of `beamcrawl crawl`)
set -euo pipefail
cd "$(dirname "$0")"
source scripts/venv.sh requirements.txt
if [ $# -eq 0 ]; then
  exec .venv/bin/python -m tests.demo
fi
exec .venv/bin/beamcrawl crawl "$@"
