"""Which client this is; it says so to the panel."""

VERSION = "0.1.0"
