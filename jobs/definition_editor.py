"""A definition while someone edits it: as a form or as text, what is wrong with it and where, and the other way to see it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from jobs import definitions, documents
from jobs.definition_form import DefinitionForm
from jobs.documents import Document, Unreadable
from jobs.forms import Field, LaunchForm
from jobs.models import DefinitionVersion, JobDefinition
from jobs.wording import Wording, check_known, read
from projects.actors import Actor
from projects.errors import Invalid
from projects.models import Project

FORM = "form"
VIEWS = (FORM, *documents.FORMATS)
AROUND = ("slug", "note")  # fields beside what the definition says


@dataclass(frozen=True)
class Problem:
    """What is wrong, at the field of this id and title or, in a text, on this line; neither: with the whole."""

    sentence: str
    title: str = ""
    id: str = ""
    line: int = 0
    excerpt: str = ""  # what stands on the line
    is_missing: bool = False  # nothing was typed there yet


@dataclass
class Editor:
    """`base` is the number of the version that it was begun from, definitions.NEW for a definition that is new."""

    project: Project
    definition: JobDefinition | None
    base: int
    view: str = FORM
    form: DefinitionForm | None = None
    text: str = ""
    slug: str = ""
    note: str = ""
    problems: list[Problem] = field(default_factory=list)
    around: dict[str, str] = field(default_factory=dict)  # errors at slug and note
    wording: Wording | None = None  # what it says, once `check` has found nothing wrong
    focus: str = ""  # id of the element that goes on after a click

    # -- Where it comes from ---------------------------------------------------------------------------------------

    @classmethod
    def opened(
        cls, project: Project, definition: JobDefinition | None, base: int, said: Mapping[str, Any], view: str = FORM
    ) -> Editor:
        editor = cls(project, definition, base, slug=definition.slug if definition else "")
        editor.show(said, view)
        return editor

    @classmethod
    def posted(
        cls,
        project: Project,
        definition: JobDefinition | None,
        sent: QueryDict,
        files: MultiValueDict,
        by: Actor | None = None,
    ) -> Editor:
        """As it was sent. With `by`, an archive that came along is stored."""
        base, view = sent.get("base", ""), sent.get("view", FORM)
        editor = cls(
            project,
            definition,
            int(base) if base.isascii() and base.isdecimal() and len(base) < 10 else definitions.NEW,
            view=view if view in VIEWS else FORM,
            slug=definition.slug if definition else sent.get("slug", "").strip(),
            note=sent.get("note", "").strip(),
        )
        if editor.view == FORM:
            editor.form = DefinitionForm.posted(sent, files, project, by)
        else:
            editor.text = sent.get("text", "").replace("\r\n", "\n")
        return editor

    def copy(self) -> Editor:
        """Whose problems stand at none of its fields."""
        return replace(self, form=deepcopy(self.form), problems=[])

    # -- The two ways to see it --------------------------------------------------------------------------------------

    def show(self, said: Mapping[str, Any], view: str) -> None:
        """As a form or as text; a form that has no field for something stays a text."""
        form = DefinitionForm.of(said) if view == FORM else None
        if form and (lost := form.lost(said)):
            view, form = documents.FORMATS[0], None
            sentence = _("The form has no field for %(paths)s: this definition is edited as text.")
            self.problems = [Problem(sentence % {"paths": ", ".join(lost)})]
        self.view, self.form = view, form
        self.text = "" if form else documents.write(said, view)

    def switch(self, view: str) -> None:
        """The same in the other way, right or wrong. Where it cannot be shown so it stays as it is, and says why."""
        document = self._document() if view in VIEWS and view != self.view else None
        if document is None:
            return
        if not isinstance(document.value, Mapping):
            self._tell({"": _("A definition is an object with title, template and parameters.")}, document)
        elif self.form and self.form.unread:
            self._tell({}, document)
        elif view == FORM and (lost := DefinitionForm.of(document.value).lost(document.value)):
            self._tell({path: _("the form has no field for it; take it out, or stay with the text") for path in lost}, document)
        else:
            self.show(document.value, view)

    def act(self, what: str) -> None:
        """A click in the form: add, remove:3, up:3 or down:3 of its parameters."""
        verb, _colon, key = what.partition(":")
        if self.form is None:
            return
        match verb:
            case "add":
                row = self.form.add_row()
                self.focus = f"definition-row-{row.key}-name" if row else "definition-add"
                if row is None:
                    self.problems = [Problem(_("The form has no room for more parameters: go on as text."))]
            case "remove":
                self.form.remove_row(key)
                self.focus = "definition-add"
            case "up" | "down":
                self.form.move_row(key, -1 if verb == "up" else 1)
                self.focus = f"definition-row-{key}-{verb}"

    # -- What it says, and what is wrong with it -----------------------------------------------------------------------

    def _document(self) -> Document | None:
        """None where there is none in the text; `problems` says why."""
        if self.form:
            return Document(self.form.document())
        try:
            return documents.read(self.text, self.view)
        except Unreadable as fault:
            self.problems = [self._of_line(fault.line, fault.sentence)]
            return None

    def check(self) -> bool:
        """Whether it may be published as it is; else `problems` has what is wrong."""
        document = self._document()
        if document is None:
            return False
        wrong: dict[str, str] = {}
        try:
            wording = read(document.value)
            check_known(wording, self.project)
        except Invalid as refused:
            wrong = refused.fields
        self._tell(wrong, document)
        if self.problems:
            return False
        self.wording = wording
        return True

    def refuse(self, fields: Mapping[str, str]) -> None:
        """Errors that publishing has found, those at slug and note included."""
        self.around = {path: why for path, why in fields.items() if path in AROUND}
        if document := self._document():
            self._tell({path: why for path, why in fields.items() if path not in AROUND}, document)
        titles = {"slug": _("Name in addresses"), "note": _("Note")}
        self.problems += [Problem(why, titles[path], f"definition-{path}") for path, why in self.around.items()]

    def _tell(self, wrong: Mapping[str, str], document: Document) -> None:
        if self.form is None:
            found = [self._of_line(document.line_of(path), why, path) for path, why in wrong.items()]
            self.problems = sorted(found, key=lambda one: one.line)
            return
        self.form.errors = dict(self.form.unread)
        self.form.general = []
        self.form.refuse(wrong)
        self.problems = [Problem(sentence) for sentence in self.form.general]
        self.problems += [Problem(why, one.title, one.id, is_missing=not one.text) for one, why in self.form.faults]

    def _of_line(self, line: int, sentence: str, path: str = "") -> Problem:
        lines = self.text.split("\n")
        excerpt = lines[line - 1].strip()[:100] if line <= len(lines) else ""
        return Problem(sentence, path, "definition-text", line, excerpt)

    # -- The form that it makes ----------------------------------------------------------------------------------------

    def preview(self) -> list[Field]:
        """The fields of its parameters as the launch form draws them, of what `check` has found right."""
        assert self.wording
        said = self.wording.to_json()
        version = DefinitionVersion(template=said["template"], parameters=said["parameters"], resources={}, retries={})
        return LaunchForm.fresh(self.project, version).parameter_fields
