"""Kal in notebooks."""

from IPython.core.magic import Magics as _Magics
from IPython.core.magic import line_cell_magic, line_magic, magics_class

from ._errors import Error
from ._kal import Function, Session


@magics_class
class Magics(_Magics):
    """`%%kal` runs a cell of Kal, `%kal` a line, `%kal_asm` shows compiled code.

    They run in the session that the name `kal_session` of the notebook has; the first of them
    makes one. What a cell defines are functions of the notebook, too."""

    def _session(self):
        session = self.shell.user_ns.get("kal_session")
        if not isinstance(session, Session):
            session = Session()
            self.shell.push({"kal_session": session})
        return session

    @line_cell_magic
    def kal(self, line, cell=None):
        """Runs Kal: `%%kal` all of a cell, `%kal` the line. The value is that of the last
        expression."""
        session = self._session()
        try:
            return session.eval(line if cell is None else cell, source="<cell>")
        except Error as error:
            # The report says it all; a traceback would show this file.
            from IPython.core.error import UsageError

            raise UsageError(error.report or str(error)) from None
        finally:
            self._push(session)

    def _push(self, session):
        """Makes the functions of a session known to the notebook, under names that it does not
        use for something else."""
        names = self.shell.user_ns
        for name in session.functions:
            known = names.get(name)
            is_free = name not in names or isinstance(known, Function)
            if name.isidentifier() and is_free:
                self.shell.push({name: session[name]})

    @line_magic
    def kal_asm(self, line):
        """Shows the machine code of a function: `%kal_asm f`."""
        print(self._session().listing(line.strip(), "asm"), end="")
