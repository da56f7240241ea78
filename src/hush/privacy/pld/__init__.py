"""Privacy loss distributions (PLD): the law of the loss of each mechanism."""
