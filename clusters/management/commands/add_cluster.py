from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from clusters import catalogue, hosts
from projects.actors import operator
from projects.management import said_as_errors


class Command(BaseCommand):
    help = "Make a cluster, still without hosts: manage.py add_cluster lab --accelerator cpu --lost-after 900."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="lower-case letters, digits and hyphens")
        parser.add_argument("--accelerator", choices=list(catalogue.CATALOGUE), default="cpu")
        parser.add_argument(
            "--lost-after", type=float, default=900, help="seconds of silence after which a host's work counts as lost; 0: never"
        )
        parser.add_argument("--files-root", default="", help="a folder on its hosts for jobs' files; without it: the agent's own")
        parser.add_argument("--files-shared", action="store_true", help="all its hosts see the same files there")

    def handle(self, *args: Any, name: str, accelerator: str, lost_after: float, **options: Any) -> None:
        with said_as_errors():
            hosts.create_cluster(
                name=name,
                accelerator=accelerator,
                lost_after_s=round(lost_after) or None,
                files_root=options["files_root"],
                files_shared=options["files_shared"],
                by=operator(),
            )
        self.stdout.write(f"Made the cluster {name}; on the page Clusters it gets its hosts.")
