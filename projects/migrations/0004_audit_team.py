import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0003_token_parent'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditentry',
            name='team',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='audit_entries', to='projects.team'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['team', '-id'], name='audit_of_a_team'),
        ),
    ]
