"""Which tasks and test contracts a change may affect, and why; nothing here runs them."""
