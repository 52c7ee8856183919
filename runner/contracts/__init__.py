"""API and data contracts: check that a task's code keeps them."""
