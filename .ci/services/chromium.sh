#!/usr/bin/env bash
# A headless Chromium, from the system's packages where there is none, and what drives it, in an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.venv-services/chromium
browser() { command -v chromium-headless-shell || command -v chromium || command -v google-chrome; }
if ! browser >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -qq
  $as_root apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-dejavu-core >/dev/null
fi
if [ ! -e "$place/bin/browser" ]; then
  "${PYTHON:-python3}" -m venv "$place"
  "$place/bin/pip" install --quiet "playwright>=1.55,<2"
  ln -sfn "$(browser)" "$place/bin/browser"
fi
