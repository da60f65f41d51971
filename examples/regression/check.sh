#!/usr/bin/env bash
# A CI job that holds what an agent does: the recorded run again, but it rains.
#
#   ./check.sh            fails the build when the agent does something else than it did
#   ./check.sh --accept   what it does now is what it shall do; commit recorded/rain.jsonl
#
# recorded/sun.jsonl is a run as it happened, kept with: lovia export sun > recorded/sun.jsonl
# Exits 0 when the agent does what it did, 9 when it does something else. That it would send something else, such as
# other instructions, is said and fails nothing: what counts is what it does.
set -euo pipefail
cd "$(dirname "$0")"
LOVIA_STORE=$(mktemp -d) # nothing stays, and no other run is in the way
export LOVIA_STORE
trap 'rm -rf "$LOVIA_STORE"' EXIT

lovia import recorded/sun.jsonl >/dev/null
echo "What the agent would send now:"
lovia replay sun --agent agent.yaml || { [ $? = 9 ] && echo "(it has been changed since it was recorded)"; }

lovia -q fork sun --new-id rain --from-step 1 --tool-result 'call_lisbon="Lisbon: rain, 14 °C\n"' >/dev/null
lovia -q resume rain --agent agent.yaml >/dev/null

if [ "${1:-}" = --accept ]; then # paths of this machine are nobody else's; a file that was changed has no checksum
  lovia export rain | sed -e "s|$PWD/||g" -e 's|,"sum":"[0-9a-f]*"||' >recorded/rain.jsonl
fi
echo "When it rains, as accepted and as it is now:"
lovia compare recorded/rain.jsonl rain --exit-code
