"""The component's optional export. Imported by `build` alone, where the plugin has a function that is `@reconcile`."""

from componentize_py_types import Err, Ok
from wit_world import exports
from wit_world.exports import reconcile as wit_reconcile

from . import contract, export
from .reconciling import FINDERS, verdict


class Reconcile(exports.Reconcile):
    def reconcile(self, call):
        try:
            found = verdict(export.given(call), FINDERS[0])
            match found.case, found.result:
                case "happened", contract.Done() as done:
                    return wit_reconcile.Verdict_Happened(Ok(export.success(done)))
                case "happened", contract.Failed() as failed:
                    return wit_reconcile.Verdict_Happened(Err(export.failure(failed)))
                case "not-happened", _:
                    return wit_reconcile.Verdict_NotHappened()
        except BaseException:  # An exception that got here would be a trap.
            pass
        return wit_reconcile.Verdict_Unknown()
