import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0005_audit_team_filled'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('viewer', 'viewer'), ('member', 'member'), ('admin', 'admin')], max_length=10)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('address', models.EmailField(blank=True, default='', max_length=254)),
                ('most_uses', models.PositiveIntegerField(default=1)),
                ('uses', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('team', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='projects.team')),
            ],
            options={
                'constraints': [
                    models.CheckConstraint(condition=models.Q(('role__in', ['viewer', 'member', 'admin'])), name='invitation_role_known'),
                    models.CheckConstraint(condition=models.Q(('uses__lte', models.F('most_uses'))), name='invitation_not_overused'),
                    models.CheckConstraint(condition=models.Q(('most_uses__gte', 1)), name='invitation_has_a_use'),
                ],
            },
        ),
    ]
