#!/usr/bin/env bash
# The server that judges how a client takes faults, in an environment of its own. The tests start it.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.venv-services/llmock
if [ ! -x "$place/bin/llmock" ]; then
  "${PYTHON:-python3}" -m venv "$place"
  "$place/bin/pip" install --quiet "llmock==0.2.2"
fi
