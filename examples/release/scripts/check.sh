#!/bin/sh
# A check that always passes. Make it fail, and see that nothing is shipped: CHECK_FAILS=1 lovia run ...
echo "$1: 12 files"
if [ -n "$CHECK_FAILS" ]; then
  echo "$1 failed"
  exit 1
fi
