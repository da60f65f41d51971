#!/usr/bin/env bash
# A CI job around an agent: an id of its own, exit codes, JSON, and a limit that stops it half way.
#
#   BUILD=42 ./review.sh
#
# Exits 0 when the change may be merged, 1 when not, and with lovia's own code when the review could not be done.
# A job that is started again, by hand or by CI, goes on where it was: the run's id is the build's.
set -euo pipefail
cd "$(dirname "$0")"

run_id="review-${BUILD:?the number of the build}"
result=$(mktemp)
trap 'rm -f "$result"' EXIT

# lovia prints one JSON object, also on failure; its exit code says what became of the run.
review() {
  local code=0
  lovia "$@" --json >"$result" || code=$?
  jq -r '"\(.status // .error.code) after \(.steps // 0) steps, exit \(.exit_code)"' "$result"
  return "$code"
}

code=0
review run agent.yaml "Review change.diff" --run-id "$run_id" --max-steps "${MAX_STEPS:-2}" || code=$?
if [ "$code" = 7 ]; then # a limit: the work so far is saved, and nothing of it is done or paid twice
  code=0
  review resume "$run_id" --max-steps 10 || code=$?
fi
if [ "$code" != 0 ]; then
  jq -r '"no review: \(.error.message)"' "$result"
  exit "$code"
fi

jq -r '"verdict: \(.output.verdict)", (.output.reasons[] | "- \(.)")' "$result"
jq -e '.output.verdict == "approve"' "$result" >/dev/null
