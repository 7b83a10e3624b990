"""Runs without a host, in a folder of its own."""

import tempfile
import unittest

import notes_py
from pausegate.testing import call


class Notes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        notes_py.FOLDER = folder.name

    def test_what_was_noted_is_found_and_read(self):
        self.assertEqual(call(notes_py.write, title="Übung, 2!", text="Sing a song").text, "noted: Übung, 2!")
        self.assertEqual(call(notes_py.search, words="SONG sing").structured, [{"title": "Übung, 2!", "excerpt": "Sing a song"}])
        self.assertEqual(call(notes_py.search, words="dance").structured, [])
        self.assertEqual(call(notes_py.read, title="Übung, 2!").text, "# Übung, 2!\n\nSing a song\n")

    def test_a_note_is_forgotten_only_when_a_person_agrees(self):
        call(notes_py.write, title="Old", text="x")
        asked = call(notes_py.forget, title="Old")
        self.assertEqual((asked.pause.reason, asked.pause.context), ("Forget the note “Old”", '{"text": "# Old\\n\\nx\\n"}'))
        self.assertEqual(len(call(notes_py.search).structured), 1)
        self.assertEqual(asked.answer(True).text, "forgot: Old")
        self.assertEqual(call(notes_py.read, title="Old").failure.kind, "not-found")

    def test_no_title_leads_out_of_the_folder(self):
        self.assertTrue(notes_py.path_of("../../etc/passwd").endswith("/etc-passwd.md"))
        self.assertEqual(call(notes_py.write, title="../..", text="x").failure.kind, "invalid-input")


if __name__ == "__main__":
    unittest.main()
