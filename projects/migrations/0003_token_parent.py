import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0002_profiles'),
    ]

    operations = [
        migrations.AddField(
            model_name='apitoken',
            name='parent',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='projects.apitoken'),
        ),
    ]
