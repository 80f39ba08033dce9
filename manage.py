#!/usr/bin/env python
"""Front door of the panel's commands. `up` starts everything and stays outside Django to stay small."""

import os
import sys


def main() -> None:
    if sys.argv[1:2] == ["up"]:
        from controlpanel.up import main as up

        sys.exit(up(sys.argv[2:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlpanel.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
