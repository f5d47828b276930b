"""The wiring: settings, logs, and the rooms put together. Nothing else reads the environment."""
