"""The wiring: settings, logs, and the packages put together. Only this package reads the environment."""
