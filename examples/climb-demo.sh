#!/bin/sh
# A hill climb offline: no key, no server, no network. An agent with a planted flaw, three rounds.
set -eu
cd "$(dirname "$0")/.."

WHILEAI_HOME="$PWD/.demo-climb"
export WHILEAI_HOME
unset WHILEAI_API_URL WHILEAI_API_KEY WHILEAI_DELEGATED_CREDENTIAL PREFECT_API_URL
rm -rf "$WHILEAI_HOME"
demo=whileai_core.simulation.demo

whileai-pipelines climb --name shop --agent "$demo:flawed_agent" --tools "$demo:TOOLS" \
    --improver "$demo:improver" --rounds 3

echo
echo "everything lies under $WHILEAI_HOME; the pages of the run, with plots:"
echo "  PREFECT_HOME=$WHILEAI_HOME/prefect prefect server start"
