"""Groups of a query: public keys, or private keys by partition selection."""
