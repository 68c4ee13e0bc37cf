"""The composition root: settings -> `Memory`. Only this package and `service` know the backends."""
