"""The gate's routes, one module a subject; each has `routes`, in the order they are matched."""
