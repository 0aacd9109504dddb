"""The gate's pages for people: rendered here, readable without JavaScript, nothing to build."""
