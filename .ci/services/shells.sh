#!/usr/bin/env bash
# zsh and fish, in which the tests load what `lovia completion` prints. From the system's packages, where they are missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
place=.venv-services/shells
if ! command -v zsh >/dev/null || ! command -v fish >/dev/null; then
  as_root=$([ "$(id -u)" = 0 ] || echo sudo)
  $as_root apt-get update -qq
  $as_root apt-get install -y -qq --no-install-recommends zsh fish >/dev/null
fi
mkdir -p "$place"
touch "$place/ready"
