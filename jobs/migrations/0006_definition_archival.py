"""A definition can be archived: hidden and launched no more, while its jobs stay."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("jobs", "0005_shipped_versions"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.AddField("jobdefinition", "archived_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "jobdefinition",
            "archived_by",
            models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
    ]
