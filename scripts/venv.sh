# Sourced with the name of a requirements file: makes .venv hold just that, and beamcrawl.
# Does nothing when it already does.
requirements=$1
stamp=.venv/.installed-$(cat "$requirements" requirements.txt setup.py | sha256sum | cut -c1-16)
if [ ! -e "$stamp" ]; then
  echo "setting up .venv from $requirements (once) …" >&2
  [ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$requirements"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
  # Whatever the shell says of writing bytecode later: without it a start takes 0.1 s longer.
  .venv/bin/python -m compileall -q pipeline transforms
  touch "$stamp"
fi
