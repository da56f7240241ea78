"""Attacks: what leaks where no noise is added, or too little."""
