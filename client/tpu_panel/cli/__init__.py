"""The command `tpu-panel`."""
