"""Each order of the list of jobs is found without a look at all of them (jobs/sorting.py)."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from jobs.durations import Milliseconds

ENDED = Q(ended_at__isnull=False)
STARTED = Q(started_at__isnull=False)


class Migration(migrations.Migration):

    dependencies = [("jobs", "0007_job_of_version_newest")]

    operations = [
        migrations.AddIndex("job", models.Index(fields=["state", "-id"], name="job_of_state_newest")),
        migrations.AddIndex("job", models.Index(fields=["name", "-id"], name="job_by_name")),
        migrations.AddIndex("job", models.Index(fields=["started_at", "-id"], name="job_by_start")),
        migrations.AddIndex("job", models.Index(fields=["ended_at", "-id"], name="job_by_end")),
        migrations.AddIndex(
            "job",
            models.Index(Milliseconds(F("ended_at"), F("started_at")), F("id").desc(), condition=ENDED & STARTED, name="job_by_run"),
        ),
        migrations.AddIndex(
            "job",
            models.Index(
                Milliseconds(Coalesce(F("started_at"), F("ended_at")), F("created_at")),
                F("id").desc(),
                condition=STARTED | ENDED,
                name="job_by_wait",
            ),
        ),
    ]
