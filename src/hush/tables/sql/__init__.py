"""SQL in, a query out: the clauses of one SELECT."""
