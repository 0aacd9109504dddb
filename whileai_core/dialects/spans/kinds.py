"""What a span is."""

# `model` called a model, `agent` ran one, `tool` ran a tool, `chain` is a frame
# around others; "" says nothing about itself.
TOOL, AGENT, MODEL, CHAIN, OTHER = "tool", "agent", "model", "chain", "other"
