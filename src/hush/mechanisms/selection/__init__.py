"""Selection mechanisms: the best of several candidates, privately."""
