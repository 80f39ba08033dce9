"""Which versions say what the panel ships: a team's own are left alone by `manage.py prepare`."""

from django.db import migrations, models

# Until now nothing but `manage.py prepare` could publish, so whatever goes by one of these names is as it was shipped.
SHIPPED = ["command", "script", "archive", "git", "digits-tensorflow", "digits-xla"]


def mark_shipped(apps, schema_editor):
    definitions = apps.get_model("jobs", "JobDefinition").objects.filter(slug__in=SHIPPED)
    versions = apps.get_model("jobs", "DefinitionVersion").objects
    versions.filter(definition__in=definitions).update(is_shipped=True)


class Migration(migrations.Migration):

    dependencies = [("jobs", "0004_versions_say_title_and_note")]

    operations = [
        migrations.AddField("definitionversion", "is_shipped", models.BooleanField(default=False)),
        migrations.RunPython(mark_shipped, migrations.RunPython.noop),
    ]
