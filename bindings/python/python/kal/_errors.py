"""The exceptions of Kal."""


class Error(Exception):
    """What Kal raises.

    code: the kind of mistake, such as "E0201"; None for errors that have none.
    line, column, source: its place in a text, from 1, and what the text is called.
    row: the row of the columns in which it happened, from 0.
    report: the mistakes as drawn for people, with the lines they are in.
    calls: the calls in progress when a program failed, innermost first.
    """

    code = None
    line = None
    column = None
    source = None
    row = None
    report = ""
    calls = ()


class SourceError(Error, ValueError):
    """A text was refused. Nothing of the item with the mistake was done."""


class RunError(Error, RuntimeError):
    """A program did not run to its end."""


class RowError(RunError):
    """A row could not be computed. The rows before it could."""


class Stopped(RunError):
    """A program was interrupted."""


class Timeout(Stopped, TimeoutError):
    """A program took longer than its session allows."""


class UndefinedError(Error, KeyError):
    """A name means nothing in a session."""

    # That of KeyError shows the message in quotation marks.
    __str__ = Exception.__str__


class ArgumentsError(Error, TypeError):
    """A function takes other arguments."""


def make(kind, message, code, line, column, source, row, report, calls):
    """Returns an exception. Its message says where in a file the mistake is. Tracebacks show the
    report below it."""
    if source is not None and not source.startswith("<"):
        message = f"{source}:{line}:{column}: {message}"
    error = globals()[kind](message if row is None else f"row {row}: {message}")
    error.code, error.row, error.report = code, row, report
    error.line, error.column, error.source = line, column, source
    error.calls = tuple(calls)
    if report:
        error.__notes__ = [report.rstrip("\n")]
    return error


def at_row(error, row):
    """Returns an error that tells of this row instead of its own; None for one that is not
    known."""
    message = str(error).removeprefix(f"row {error.row}: ")
    error.args = (message if row is None else f"row {row}: {message}",)
    error.row = row
    return error


def signature(parameters):
    """Returns the signature of a function with these parameters."""
    import inspect
    import keyword

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    usable = (name if not keyword.iskeyword(name) else f"{name}_" for name in parameters)
    return inspect.Signature([inspect.Parameter(name, kind) for name in usable])
