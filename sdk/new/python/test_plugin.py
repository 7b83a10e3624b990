import unittest

import plugin
from pausegate.testing import call


class Plugin(unittest.TestCase):
    def test_a_greeting_has_the_name(self):
        self.assertEqual(call(plugin.greet, name="Ada").text, "Hello, Ada!")

    def test_nothing_is_sent_unasked(self):
        first = call(plugin.send, name="Ada")
        self.assertEqual(first.pause.reason, "Send a greeting to Ada")
        self.assertEqual(first.answer(True).text, "greeted Ada")
