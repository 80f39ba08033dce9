from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    """Entries of before: of the team whose project they name, or of the team that they are about."""
    entries, projects, teams = (apps.get_model('projects', name) for name in ('AuditEntry', 'Project', 'Team'))
    of_project = projects.objects.filter(pk=OuterRef('project_id')).values('team_id')
    entries.objects.exclude(project=None).update(team_id=Subquery(of_project))
    for pk in teams.objects.values_list('pk', flat=True):
        entries.objects.filter(team=None, subject_kind='team', subject_id=str(pk)).update(team_id=pk)


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0004_audit_team'),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
