#!/usr/bin/env bash
# The scripted model server of npm, for both wires. The tests start and stop it themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.venv-services/aimock
if [ ! -e "$place/node_modules/.bin/llmock" ]; then
  mkdir -p "$place"
  npm install --silent --no-audit --no-fund --prefix "$place" "@copilotkit/aimock@1.43.0"
fi
