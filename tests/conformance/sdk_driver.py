"""Runs in the peer SDK's interpreter: one call a line on stdin, one outcome a line on stdout."""

import json
import sys
import warnings

from whileai import simulations

warnings.simplefilter("ignore")
answers = sys.stdout
sys.stdout = sys.stderr  # what the SDK prints is no answer
for line in sys.stdin:
    call = json.loads(line)
    try:
        value = getattr(simulations, call["function"])(*call["args"], **call["options"])
        outcome = {"value": value}
    except Exception as error:
        outcome = {"error": type(error).__name__, "text": str(error)}
    answers.write(json.dumps(outcome) + "\n")
    answers.flush()
