"""Who may go through which door: a row for each method of each address. A test walks all of them (test_access_table.py).

docs/access.md is drawn of it. An address that the router has and this table has not fails the test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import URLPattern, URLResolver, get_resolver

from projects.access import RIGHTS, ROLES
from projects.models import Role

# -- Who asks ------------------------------------------------------------------------------------------------
NOBODY, STRANGER, RIVAL, OPERATOR = "nobody", "stranger", "other team's admin", "operator"
PEOPLE = (NOBODY, STRANGER, Role.VIEWER.value, Role.MEMBER.value, Role.ADMIN.value, RIVAL, OPERATOR)

# -- What is needed; besides these a right of projects/access.py in the team whose thing it is ---------------------
ANYONE = "anyone"
SIGNED_OUT = "who is not signed in"  # others are sent to the first page
SIGNED_IN = "who is signed in"
ITS_OWNER = "whose it is"  # a member's, as the walk has it; to all others it does not exist
AN_OPERATOR = "an operator"
A_HOST = "a host's own token"  # no person's

SIGN_IN, NOT_KNOWN, NOT_ALLOWED, NOT_THERE = 302, 401, 403, 404


@dataclass(frozen=True)
class Door:
    """`then` is the status that those get who may, when what they send is right."""

    method: str
    route: str  # as the router has it
    needs: str
    then: int = 200
    scope: str = ""  # the least that the API asks of a token; "": as the right has it
    asks: str = ""  # the parameter of the query, or the field of the body, that names the project or team; "": the address

    @property
    def is_of_api(self) -> bool:
        return self.route.startswith("api/")

    def __str__(self) -> str:
        return f"{self.method} /{self.route}"


def _doors(method: str, rows: str) -> list[Door]:
    """Of lines "route | needs | then | asks | scope"."""
    found = []
    for line in filter(str.strip, rows.splitlines()):
        route, needs, then, asks, scope = (*(part.strip() for part in line.split("|")), "", "", "")[:5]
        found.append(Door(method, route, needs, int(then or 200), scope, asks))
    return found


DOORS = [
    *_doors(
        "GET",
        """
                                                                         | who is signed in
        conditions                                                       | who is signed in
        palette                                                          | who is signed in
        api-reference                                                    | who is signed in
        openapi.yaml                                                     | anyone
        client.tar.gz                                                    | anyone
        sign-in                                                          | who is not signed in
        tokens                                                           | who is signed in
        notices                                                          | who is signed in
        teams                                                            | who is signed in
        teams/<str:slug>                                                 | team.view
        teams/<str:slug>/tokens                                          | team.oversee
        invitations/<str:text>                                           | anyone
        projects/<str:slug>/secrets                                      | project.view
        audit                                                            | team.oversee     |     | team
        audit.csv                                                        | team.oversee     |     | team
        hosts                                                            | who is signed in
        hosts/new                                                        | an operator
        hosts/new/reach                                                  | an operator
        hosts/new/<int:number>                                           | an operator
        hosts/<uuid:host_id>                                             | who is signed in
        jobs                                                             | jobs.view        |     | project
        jobs/cancellations                                               | who is signed in
        jobs/compare                                                     | jobs.view
        jobs/relaunches                                                  | who is signed in
        jobs/labels                                                      | who is signed in
        jobs/new                                                         | jobs.launch      |     | project
        jobs/<int:number>                                                | jobs.view
        jobs/<int:number>/files/<int:file_id>                            | jobs.view        | 202
        definitions                                                      | project.view     |     | project
        definitions/new                                                  | definitions.edit |     | project
        definitions/<str:project>/<str:slug>                             | project.view
        definitions/<str:project>/<str:slug>/versions/new                | definitions.edit
        definitions/<str:project>/<str:slug>/versions/<int:number>       | project.view
        definitions/<str:project>/<str:slug>/comparison                  | project.view
        api/v1/views                                                     | who is signed in
        api/v1/me                                                        | who is signed in
        api/v1/tokens                                                    | who is signed in
        api/v1/notices                                                   | who is signed in
        api/v1/notices/deliveries                                        | who is signed in
        api/v1/teams                                                     | who is signed in
        api/v1/teams/<str:slug>                                          | team.view
        api/v1/teams/<str:slug>/members                                  | team.view
        api/v1/teams/<str:slug>/invitations                              | team.oversee
        api/v1/teams/<str:slug>/tokens                                   | team.oversee
        api/v1/teams/<str:slug>/projects                                 | team.view
        api/v1/audit                                                     | team.oversee     |     | team
        api/v1/projects                                                  | who is signed in
        api/v1/projects/<str:slug>                                       | project.view
        api/v1/projects/<str:slug>/secrets                               | project.view
        api/v1/clusters                                                  | who is signed in
        api/v1/hosts                                                     | who is signed in
        api/v1/hosts/<str:host_id>                                       | who is signed in
        api/v1/hosts/<str:host_id>/agent-report                          | who is signed in
        api/v1/hosts/<str:host_id>/metrics                               | who is signed in
        api/v1/hosts/<str:host_id>/metrics/lines                         | who is signed in
        api/v1/hosts/<str:host_id>/metrics/charts                        | who is signed in
        api/v1/hosts/<str:host_id>/metrics/file                          | who is signed in
        api/v1/jobs                                                      | jobs.view        |     | project
        api/v1/jobs/<int:number>                                         | jobs.view
        api/v1/jobs/<int:number>/attempts                                | jobs.view
        api/v1/jobs/<int:number>/ending                                  | jobs.view        | 404
        api/v1/jobs/<int:number>/events                                  | jobs.view
        api/v1/jobs/<int:number>/files                                   | jobs.view
        api/v1/jobs/<int:number>/files/<int:file_id>                     | jobs.view        | 202
        api/v1/jobs/<int:number>/log                                     | jobs.view
        api/v1/jobs/<int:number>/log/search                              | jobs.view
        api/v1/jobs/<int:number>/log/matching-lines                      | jobs.view
        api/v1/jobs/<int:number>/log/place                               | jobs.view
        api/v1/jobs/<int:number>/log/times                               | jobs.view
        api/v1/jobs/<int:number>/log/stream                              | jobs.view
        api/v1/jobs/<int:number>/metrics                                 | jobs.view
        api/v1/jobs/<int:number>/metrics/lines                           | jobs.view
        api/v1/jobs/<int:number>/metrics/charts                          | jobs.view
        api/v1/jobs/<int:number>/metrics/marks                           | jobs.view
        api/v1/jobs/<int:number>/metrics/file                            | jobs.view
        api/v1/jobs/<int:number>/wait                                    | jobs.view
        api/v1/definitions                                               | project.view     |     | project
        api/v1/definitions/<str:project>/<str:slug>                      | project.view
        api/v1/definitions/<str:project>/<str:slug>/versions             | project.view
        api/v1/definitions/<str:project>/<str:slug>/versions/<int:number> | project.view
        api/v1/definitions/<str:project>/<str:slug>/comparison           | project.view
        agent/v1/runtimes/<str:digest>                                   | a host's own token
        agent/v1/sources/<str:digest>                                    | a host's own token
        agent/v1/install                                                 | anyone
        agent/v1/requirements.txt                                        | anyone
        agent/v1/wheels/<str:name>                                       | anyone
        """,
    ),
    *_doors(
        "POST",
        """
        seen                                                             | who is signed in | 302
        sign-in                                                          | who is not signed in | 302
        language                                                         | anyone           | 302
        sign-out                                                         | anyone           | 302
        tokens                                                           | who is signed in | 201
        notices                                                          | who is signed in | 302
        notices/webhook-secret                                           | who is signed in | 201
        tokens/<int:token_id>/revocation                                 | whose it is      | 302
        teams                                                            | an operator      | 302
        teams/<str:slug>                                                 | team.edit        | 302
        teams/<str:slug>/members/<str:username>                          | team.edit        | 302
        teams/<str:slug>/members/<str:username>/removal                  | team.edit        | 302
        teams/<str:slug>/invitations                                     | team.edit        | 201
        teams/<str:slug>/invitations/<int:number>/revocation             | team.edit        | 302
        teams/<str:slug>/tokens/<int:token_id>/revocation                | team.edit        | 302
        teams/<str:slug>/projects                                        | team.edit        | 302
        projects/<str:slug>/name                                         | team.edit        | 302
        projects/<str:slug>/secrets                                      | secrets.edit     | 302
        projects/<str:slug>/secrets/<str:name>/removal                   | secrets.edit     | 302
        invitations/<str:text>                                           | anyone           | 302
        hosts/new                                                        | an operator      | 201
        hosts/<uuid:host_id>/cordon                                      | an operator      | 302
        hosts/<uuid:host_id>/cordon/removal                              | an operator      | 302
        hosts/<uuid:host_id>/drain                                       | an operator      | 302
        hosts/<uuid:host_id>/retirement                                  | an operator      | 302
        jobs/new                                                         | jobs.launch      | 302 | project
        jobs/new/preview                                                 | jobs.launch      |     | project
        jobs/views                                                       | who is signed in | 302
        jobs/views/<int:pk>                                              | whose it is      | 302
        jobs/views/<int:pk>/deletion                                     | whose it is      | 302
        jobs/cancellations                                               | who is signed in | 422
        jobs/relaunches                                                  | who is signed in | 422
        jobs/labels                                                      | who is signed in | 422
        jobs/<int:number>/cancellation                                   | jobs.cancel      | 302
        jobs/<int:number>/relaunch                                       | jobs.launch      | 302
        definitions/new                                                  | definitions.edit | 302 | project
        definitions/preview                                              | definitions.edit |     | project
        definitions/<str:project>/<str:slug>/versions/new                | definitions.edit | 302
        definitions/<str:project>/<str:slug>/archival                    | definitions.edit | 302
        definitions/<str:project>/<str:slug>/archival/removal            | definitions.edit | 302
        api/v1/tokens                                                    | who is signed in | 201
        api/v1/notices/webhook-secret                                    | who is signed in | 201 | | admin
        api/v1/teams                                                     | an operator      | 201
        api/v1/teams/<str:slug>/invitations                              | team.edit        | 201
        api/v1/teams/<str:slug>/projects                                 | team.edit        | 201
        api/v1/invitations/acceptance                                    | who is signed in | 201 | | admin
        api/v1/clusters/<str:name>/enrolment-tokens                      | an operator      | 201
        api/v1/hosts/<str:host_id>/cordon                                | an operator      | 204
        api/v1/hosts/<str:host_id>/drain                                 | an operator      | 202
        api/v1/hosts/<str:host_id>/retirement                            | an operator      | 204
        api/v1/projects/<str:slug>/sources                               | jobs.launch      | 201
        api/v1/workloads/<uuid:workload_id>/abandonment                  | an operator      | 204
        api/v1/jobs                                                      | jobs.launch      | 201 | project
        api/v1/launch-checks                                             | jobs.launch      | 200 | project
        api/v1/views                                                     | who is signed in | 201 |  | launch
        api/v1/jobs/cancellations                                        | who is signed in | 202
        api/v1/jobs/relaunches                                           | who is signed in | 201
        api/v1/jobs/labels                                               | who is signed in | 200
        api/v1/jobs/<int:number>/cancellation                            | jobs.cancel      | 202
        api/v1/jobs/<int:number>/relaunch                                | jobs.launch      | 201
        api/v1/definitions                                               | definitions.edit | 201 | project
        api/v1/definitions/<str:project>/<str:slug>/versions             | definitions.edit | 201
        api/v1/definitions/<str:project>/<str:slug>/archival             | definitions.edit
        agent/v1/enrolment                                               | a host's own token
        agent/v1/session                                                 | a host's own token
        agent/v1/workloads/<uuid:workload_id>/ranks/<int:number>/claim   | a host's own token
        agent/v1/fetches/<int:fetch_id>/failure                          | a host's own token
        """,
    ),
    *_doors(
        "PATCH",
        """
        api/v1/jobs/<int:number>                                         | jobs.label
        api/v1/views/<int:view_id>                                       | whose it is      | 200 |  | launch
        """,
    ),
    *_doors(
        "PUT",
        """
        api/v1/notices                                                   | who is signed in | 200 | | admin
        api/v1/projects/<str:slug>/secrets/<str:name>                    | secrets.edit     | 204
        agent/v1/fetches/<int:fetch_id>                                  | a host's own token
        """,
    ),
    *_doors(
        "PATCH",
        """
        api/v1/teams/<str:slug>                                          | team.edit
        api/v1/teams/<str:slug>/members/<str:username>                   | team.edit
        api/v1/projects/<str:slug>                                       | team.edit
        """,
    ),
    *_doors(
        "DELETE",
        """
        api/v1/teams/<str:slug>/members/<str:username>                   | team.edit        | 204
        api/v1/teams/<str:slug>/invitations/<int:number>                 | team.edit        | 204
        api/v1/teams/<str:slug>/tokens/<int:token_id>                    | team.edit        | 204
        api/v1/tokens/<int:token_id>                                     | whose it is      | 204
        api/v1/views/<int:view_id>                                       | whose it is      | 204 |  | launch
        api/v1/projects/<str:slug>/secrets/<str:name>                    | secrets.edit     | 204
        api/v1/hosts/<str:host_id>/cordon                                | an operator      | 204
        api/v1/definitions/<str:project>/<str:slug>/archival             | definitions.edit | 204
        """,
    ),
]

# What a websocket may listen to: kind of address -> what is needed.
TOPICS = {"job": "jobs.view", "project": "project.view", "host": SIGNED_IN, "shared": SIGNED_IN}


def routes() -> Iterator[str]:
    """Every address that the panel answers at, as the router has it."""
    return _routes(get_resolver("controlpanel.urls"), "")


def _routes(resolver: URLResolver, before: str) -> Iterator[str]:
    for one in resolver.url_patterns:
        if isinstance(one, URLPattern):
            yield before + str(one.pattern)
        else:
            yield from _routes(one, before + str(one.pattern))


def expected(door: Door, who: str) -> int:
    """The status that `who` gets there. To a person who may not see what it is about, it does not exist."""
    if door.needs == ANYONE:
        return door.then
    if door.needs == SIGNED_OUT:
        return door.then if who == NOBODY else SIGN_IN
    if door.needs == A_HOST:
        return NOT_KNOWN
    if who == NOBODY:
        return NOT_KNOWN if door.is_of_api else SIGN_IN
    return door.then if may(door.needs, who) else NOT_ALLOWED if sees(door.needs, who) else NOT_THERE


def may(needs: str, who: str) -> bool:
    """Whether `who`, who is signed in, has what is needed."""
    if needs == ITS_OWNER:
        return who == Role.MEMBER
    if needs == SIGNED_IN or who == OPERATOR:
        return True
    return needs in RIGHTS and who in ROLES and ROLES.index(who) >= ROLES.index(RIGHTS[needs].role)


def sees(needs: str, who: str) -> bool:
    """Whether `who` may know that there is such a thing."""
    return needs == AN_OPERATOR or (needs in RIGHTS and who in ROLES)


def scope_of(door: Door) -> str:
    """The least scope of a token that the API asks for there."""
    return door.scope or ("admin" if door.needs == AN_OPERATOR else RIGHTS[door.needs].scope if door.needs in RIGHTS else "read")


# -- Drawn ---------------------------------------------------------------------------------------------------------
HEAD = """# Who may what

Drawn from `controlpanel/access_table.py`, which a test walks as each of these people; `make docs` draws it again. "yes": allowed.
"sign in": a page sends to the sign-in, the API answers 401. 403: may see it but not do this. 404: it does not exist, or not for
who asks; the answer is the same. A stranger is signed in and in no team; an operator is a superuser. "of" is how the project or
team is named where the address does not say it. What lists show is of one's own teams only.
"""
RIGHTS_HEAD = """## Rights

A right asks for a role in the team whose project it is, and of a script's token for a scope besides. A session's is admin.
"""
PARTS = {"Pages": "", "API": "api/", "Hosts' own door": "agent/"}


def drawn() -> str:
    parts = [HEAD, RIGHTS_HEAD, "| right | role | token's scope |", "|---|---|---|"]
    parts += [f"| `{name}` | {right.role} | {right.scope} |" for name, right in RIGHTS.items()]
    for title, start in PARTS.items():
        parts += [f"\n## {title}\n", f"| door | needs | {' | '.join(PEOPLE)} |", "|" + "---|" * (len(PEOPLE) + 2)]
        parts += [_row(door) for door in sorted(DOORS, key=lambda door: (door.route, door.method)) if _part_of(door) == start]
    parts += ["\n## Websocket\n", f"| topic | needs | {' | '.join(PEOPLE)} |", "|" + "---|" * (len(PEOPLE) + 2)]
    parts += [
        f"| `{kind}:...` | {_words(needs)} | {' | '.join(_hears(needs, who) for who in PEOPLE)} |"
        for kind, needs in TOPICS.items()
    ]
    return "\n".join(parts) + "\n"


def _part_of(door: Door) -> str:
    return next((start for start in PARTS.values() if start and door.route.startswith(start)), "")


def _row(door: Door) -> str:
    of = f" of `{door.asks}`" if door.asks else ""
    return f"| `{door}` | {_words(door.needs)}{of} | {' | '.join(_cell(door, who) for who in PEOPLE)} |"


def _words(needs: str) -> str:
    return f"`{needs}`" if needs in RIGHTS else needs


def _cell(door: Door, who: str) -> str:
    status = expected(door, who)
    if door.needs == SIGNED_OUT:
        return "yes" if who == NOBODY else "to the first page"
    if door.needs == A_HOST:
        return str(NOT_KNOWN)
    if who == NOBODY and door.needs != ANYONE:
        return "sign in"
    return "yes" if status == door.then else str(status)


def _hears(needs: str, who: str) -> str:
    return "refused" if who == NOBODY or not may(needs, who) else "yes"
