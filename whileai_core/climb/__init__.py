"""The hill climb: simulate, grade, push, learn from the failures, measure, round after round.

`Climb` holds the steps of a climb, each of which is done once and found again by the next run;
`flows/hill_climb.py` puts them in order.
"""

from whileai_core.climb.climb import Climb
from whileai_core.climb.plan import ClimbPlan
from whileai_core.climb.stopping import stop_reason

__all__ = ["Climb", "ClimbPlan", "stop_reason"]
