"""One module per producer family: its records, or its session files, to rows.

Each module exports a `Reader` (see `reader.py`) and knows one producer. What several producers
share lives in the neutral modules: `shape` (looking into JSON), `labels` (rewards and scores),
`payloads` (what goes into and comes out of a model call), `runs` (a tree of model and tool runs
to one conversation) and `histories` (message lists that repeat one another).
"""
