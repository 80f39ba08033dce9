"""A version says its title and its description, too, and why it was made: a change of them is seen in its differences."""

from django.db import migrations, models


def say_titles(apps, schema_editor):
    """Versions so far had the title of their definition."""
    definitions = apps.get_model("jobs", "JobDefinition").objects
    title = models.Subquery(definitions.filter(pk=models.OuterRef("definition")).values("title")[:1])
    apps.get_model("jobs", "DefinitionVersion").objects.update(title=title)


class Migration(migrations.Migration):

    dependencies = [("jobs", "0003_indexes_of_the_first_page")]

    operations = [
        migrations.AddField("definitionversion", "title", models.CharField(default="", max_length=100)),
        migrations.AddField("definitionversion", "description", models.TextField(blank=True, default="")),
        migrations.AddField("definitionversion", "note", models.CharField(blank=True, default="", max_length=200)),
        migrations.RunPython(say_titles, migrations.RunPython.noop),
    ]
