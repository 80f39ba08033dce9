"""What runs on a TPU host: claims the ranks placed on it, starts them, ships what they print.

A package of its own (agent/pyproject.toml): it knows no Django and nothing of the panel.
"""

__version__ = "0.1.0"
