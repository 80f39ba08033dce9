"""What a definition did last is found without a look at all that it did."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("jobs", "0006_definition_archival")]

    operations = [
        migrations.AddIndex("job", models.Index(fields=["version", "-id"], name="job_of_version_newest")),
    ]
