#!/bin/sh
# The main job on the example traces, in a home of its own: no key, no server, no network.
set -eu
cd "$(dirname "$0")/.."

WHILEAI_HOME="$PWD/.demo"
export WHILEAI_HOME
unset WHILEAI_API_URL WHILEAI_API_KEY WHILEAI_DELEGATED_CREDENTIAL PREFECT_API_URL
rm -rf "$WHILEAI_HOME"

echo "== the first night =="
whileai-pipelines nightly examples/traces --agent support --night 2026-11-28

echo
echo "== the same traces again =="
whileai-pipelines nightly examples/traces --agent support --night 2026-11-29

echo
echo "== what the embedded platform holds =="
whileai-pipelines datasets
echo
echo "everything lies under $WHILEAI_HOME; to look around yourself:"
echo "  export WHILEAI_HOME=$WHILEAI_HOME PATH=$PWD/.venv/bin:\$PATH"
echo "  whileai-pipelines quarantine show 2026-11-28      # the lines that could not be read, and why"
echo "  whileai-pipelines ingest --explain examples/traces"
echo "  PREFECT_HOME=$WHILEAI_HOME/prefect prefect server start      # the two runs and their pages"
