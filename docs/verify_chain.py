#!/usr/bin/env python3
"""Verify Piton checkpoint chains without a line of Piton's own code.

For auditors who trust nobody. This file follows chain-format.md, which lies
beside it; a name in square brackets, such as [Link], is a heading of that
document. Its first version was written before any of Piton's source had been
read; where the document left a choice, both were mended afterwards. It needs
Python 3.9 or newer and the package `blake3`.

    python3 verify_chain.py LEDGER                  every workflow of a store
    python3 verify_chain.py LEDGER/WORKFLOW         one workflow
    python3 verify_chain.py export.jsonl            what `piton export` printed
    python3 verify_chain.py --expect 3:blake3:… …   with a tail kept elsewhere

It reads and never writes: nothing is created, locked or repaired beside a
ledger. Verify a copy, or while nobody appends; a ledger that changes while it
is read is reported as not checked.

Exit codes are those of `piton verify`: 0 intact or empty, 3 chain mismatch,
4 torn write, 5 could not check, 2 usage. With several workflows the worst
counts, in the order 3, 4, 5, 0.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable, Iterator, Optional, Union
from urllib.parse import quote

try:
    from blake3 import blake3
except ImportError:
    sys.stderr.write(
        "the Python package `blake3` is missing; get it with: "
        "python3 -m pip install blake3\n"
    )
    sys.exit(2)


# --------------------------------------------------------------------------
# [Event bytes] An exact JSON reader.
#
# Python's own `json` accepts what the format refuses (duplicate keys, lone
# surrogates, NaN, any nesting), so the grammar of RFC 8259 is written out here.
# --------------------------------------------------------------------------

MAX_NESTING = 127

WHITE_SPACE = re.compile(r"[ \t\n\r]*")
PLAIN_CHARACTERS = re.compile(r'[^"\\\x00-\x1f]*')
NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
FOUR_HEX_DIGITS = re.compile(r"[0-9a-fA-F]{4}")
SHORT_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}
LITERALS = {"true": True, "false": False, "null": None}


class NotJson(Exception):
    """The text is not JSON that the format accepts."""


def parse_json(data: bytes) -> Any:
    """Read exactly one JSON value, with nothing but white space around it."""
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        raise NotJson("invalid UTF-8") from error
    value, end = parse_value(text, skip(text, 0), 0)
    if skip(text, end) != len(text):
        raise NotJson("something follows the value")
    return value


def skip(text: str, at: int) -> int:
    return WHITE_SPACE.match(text, at).end()


def parse_value(text: str, at: int, nesting: int) -> tuple[Any, int]:
    first = text[at : at + 1]
    if first == "{":
        return parse_object(text, at, nesting + 1)
    if first == "[":
        return parse_array(text, at, nesting + 1)
    if first == '"':
        return parse_string(text, at)
    for word, value in LITERALS.items():
        if text.startswith(word, at):
            return value, at + len(word)
    return parse_number(text, at)


def parse_object(text: str, at: int, nesting: int) -> tuple[dict, int]:
    if nesting > MAX_NESTING:
        raise NotJson("nested too deeply")
    members: dict[str, Any] = {}
    at = skip(text, at + 1)
    if text[at : at + 1] == "}":
        return members, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise NotJson("a key is missing")
        key, at = parse_string(text, at)
        if key in members:  # compared after its escapes are resolved
            raise NotJson("a key stands twice in one object")
        at = skip(text, at)
        if text[at : at + 1] != ":":
            raise NotJson("a colon is missing")
        members[key], at = parse_value(text, skip(text, at + 1), nesting)
        at = skip(text, at)
        separator = text[at : at + 1]
        if separator == "}":
            return members, at + 1
        if separator != ",":
            raise NotJson("an object does not end")
        at = skip(text, at + 1)


def parse_array(text: str, at: int, nesting: int) -> tuple[list, int]:
    if nesting > MAX_NESTING:
        raise NotJson("nested too deeply")
    items: list[Any] = []
    at = skip(text, at + 1)
    if text[at : at + 1] == "]":
        return items, at + 1
    while True:
        item, at = parse_value(text, at, nesting)
        items.append(item)
        at = skip(text, at)
        separator = text[at : at + 1]
        if separator == "]":
            return items, at + 1
        if separator != ",":
            raise NotJson("an array does not end")
        at = skip(text, at + 1)


def parse_string(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    at += 1  # the opening quotation mark
    while True:
        plain = PLAIN_CHARACTERS.match(text, at)
        parts.append(plain.group())
        at = plain.end()
        stop = text[at : at + 1]
        if stop == '"':
            return "".join(parts), at + 1
        if stop != "\\":
            raise NotJson("a string does not end or holds a bare control character")
        escape = text[at + 1 : at + 2]
        if escape in SHORT_ESCAPES:
            parts.append(SHORT_ESCAPES[escape])
            at += 2
        elif escape == "u":
            unit, at = parse_unit(text, at)
            if 0xD800 <= unit <= 0xDBFF and text.startswith("\\u", at):
                low, after = parse_unit(text, at)
                if 0xDC00 <= low <= 0xDFFF:
                    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    at = after
            if 0xD800 <= unit <= 0xDFFF:
                raise NotJson("an escape leaves a lone surrogate")
            parts.append(chr(unit))
        else:
            raise NotJson("an escape that JSON does not have")


def parse_unit(text: str, at: int) -> tuple[int, int]:
    """Read `\\uXXXX` at `at`: one UTF-16 code unit."""
    digits = FOUR_HEX_DIGITS.match(text, at + 2)
    if digits is None:
        raise NotJson("an escape without four hexadecimal digits")
    return int(digits.group(), 16), digits.end()


def parse_number(text: str, at: int) -> tuple[Union[int, float], int]:
    token = NUMBER.match(text, at)
    if token is None:
        raise NotJson("no value where one must be")
    integer, fraction, exponent = token.groups()
    if fraction is None and exponent is None:
        return parse_bare_integer(integer), token.end()
    value = float(token.group())  # rounds correctly, as IEEE 754 demands
    if value in (float("inf"), float("-inf")):
        raise NotJson("a number overflows a double")
    return value, token.end()


def parse_bare_integer(token: str) -> Union[int, float]:
    """[Event bytes] rule 5: 64 bits, or exactly the print of some double."""
    if len(token) <= 20 and -(2**63) <= int(token) < 2**64:
        return int(token)
    # ECMAScript prints a double of 1e21 or more with an exponent, so a bare
    # integer of more than 21 digits is the print of none.
    if len(token.lstrip("-")) <= 21:
        value = float(token)
        if abs(value) < 1e21 and print_integral_double(value) == token:
            return value
    raise NotJson("an integer beyond 64 bits that is not the print of a double")


def print_integral_double(value: float) -> str:
    """Print an integral double below 1e21 as ECMAScript does.

    Both Python and ECMAScript choose the shortest digits that read back as the
    same double; ECMAScript then fills up with zeros.
    """
    mantissa, _, exponent = ("%r" % abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if exponent:
        digits = whole + fraction
        digits += "0" * (int(exponent) + 1 - len(digits))
    else:
        digits = whole
    return ("-" if value < 0 else "") + digits


# --------------------------------------------------------------------------
# [Event] and [Rows] Ids, heads and the shape of an event.
# --------------------------------------------------------------------------

HEAD = re.compile(r"(?:blake3:)?([0-9a-f]{64})")  # the bare form is the original's
DIGEST = re.compile(r"blake3:[0-9a-f]{64}")
TRANSITION_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
WORKFLOW_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?")
WINDOWS_DEVICE = re.compile(r"(?:CON|PRN|AUX|NUL|(?:COM|LPT)[0-9])(?:\..*)?", re.IGNORECASE)

MEMBERS = {
    "chain_head", "evidence_digest", "next_state_id", "prior_state_id",
    "transition_id", "triggering_outcome", "workflow_id",
}

EDGES = {
    "needs_plan": {"plan_ready"},
    "plan_ready": {"patch_applied", "awaiting_human_review", "failed_unrecoverable"},
    "patch_applied": {
        "completed", "gate_failed_retryable", "awaiting_human_review", "failed_unrecoverable",
    },
    "gate_failed_retryable": {"needs_plan", "awaiting_human_review", "failed_unrecoverable"},
    "awaiting_human_review": {"plan_ready", "completed", "failed_unrecoverable"},
    "completed": set(),
    "failed_unrecoverable": set(),
}

GENESIS = bytes(32)


def matches(pattern: re.Pattern, value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def is_workflow_id(value: Any) -> bool:
    return matches(WORKFLOW_ID, value) and not matches(WINDOWS_DEVICE, value)


def parse_event(data: bytes) -> Optional[dict]:
    """[Event] The event that the bytes hold, or None if they hold none."""
    try:
        event = parse_json(data)
    except NotJson:
        return None
    is_event = (
        isinstance(event, dict)
        and event.keys() == MEMBERS
        and matches(HEAD, event["chain_head"])  # its form only: it is in the hashed bytes
        and matches(DIGEST, event["evidence_digest"])
        and matches(TRANSITION_ID, event["transition_id"])
        and is_workflow_id(event["workflow_id"])
        and isinstance(event["prior_state_id"], str)
        and isinstance(event["next_state_id"], str)
        and event["next_state_id"] in EDGES.get(event["prior_state_id"], set())
    )
    return event if is_event else None


def link(prior_head: bytes, event_bytes: bytes) -> bytes:
    """[Link] The head after an event. The stored bytes are hashed as they are."""
    return blake3(prior_head.hex().encode("ascii") + b"\x1e" + event_bytes).digest()


def show(head: bytes) -> str:
    return "blake3:" + head.hex()


@dataclass(frozen=True)
class Text:
    """A stored text, as its bytes, which are valid UTF-8."""

    utf8: bytes


# What a column holds: a text, a blob, or anything else (None for NULL).
Stored = Union[Text, bytes, int, float, None]


@dataclass(frozen=True)
class Row:
    """[Rows] One row as it is stored; nothing about it is believed yet."""

    stored_sequence: Stored
    stored_transition_id: Stored
    stored_prior_head: Stored
    stored_next_head: Stored
    stored_event: Stored

    @property
    def sequence(self) -> int:
        value = self.stored_sequence
        return value if type(value) is int else 0

    @property
    def transition_id(self) -> Optional[str]:
        text = read_text(self.stored_transition_id)
        return text if matches(TRANSITION_ID, text) else None

    @property
    def prior_head(self) -> Optional[bytes]:
        return read_head(self.stored_prior_head)

    @property
    def next_head(self) -> Optional[bytes]:
        return read_head(self.stored_next_head)

    @property
    def event_bytes(self) -> Optional[bytes]:
        value = self.stored_event
        if isinstance(value, Text):
            return value.utf8
        return value if isinstance(value, bytes) else None


def read_text(value: Stored) -> Optional[str]:
    return value.utf8.decode("utf-8", "strict") if isinstance(value, Text) else None


def read_head(value: Stored) -> Optional[bytes]:
    if isinstance(value, bytes):
        return value if len(value) == 32 else None
    found = HEAD.fullmatch(read_text(value) or "")
    return bytes.fromhex(found.group(1)) if found else None


# --------------------------------------------------------------------------
# [Verification] The walk.
# --------------------------------------------------------------------------


@dataclass(frozen=True)
class Tail:
    """A sequence and the head after it: a pin, or what `--expect` says."""

    sequence: int
    head: bytes


@dataclass
class Verdict:
    """One of the four verdicts, as `piton verify --format json` prints them."""

    body: dict

    @property
    def kind(self) -> str:
        return self.body["kind"]


def torn_write(reason: str, sequence: int) -> Verdict:
    return Verdict({"kind": "torn_write", "reason": reason, "offending_sequence": sequence})


@dataclass(frozen=True)
class Bad:
    """The first row that can be read and is not the one that the chain demands."""

    index: int
    row: Row
    transition_id: str  # the event's own, whatever the column says
    cause: str
    is_unlinked: bool


class Walk:
    """One pass over the rows of one workflow, from genesis on."""

    def __init__(self, workflow: str, tails: Iterable[Tail]) -> None:
        self.workflow = workflow
        self.wanted = {tail.sequence for tail in tails}
        self.head = GENESIS
        self.rows = 0
        self.persisted_tail = GENESIS
        # The stored next head and the event's transition id at each sequence
        # of interest, as far as the walk can tell of them: up to the first bad
        # row, and that one too if it can be read.
        self.seen_at: dict[int, tuple[bytes, Optional[str]]] = {0: (GENESIS, None)}
        self.bad: Optional[Bad] = None
        self.torn: Optional[Verdict] = None

    @property
    def settled(self) -> bool:
        return self.bad is not None or self.torn is not None

    def take(self, row: Row) -> None:
        self.rows += 1
        position = self.rows
        if not self.settled:
            self.judge(row, position)
        # The rest is hashed on. A row without bytes adds nothing to hash.
        if row.event_bytes is not None:
            self.head = link(self.head, row.event_bytes)
        if row.next_head is not None:
            self.persisted_tail = row.next_head

    def judge(self, row: Row, position: int) -> None:
        data = row.event_bytes
        if data is None:  # step 1
            self.torn = torn_write("null_event_bytes", row.sequence)
            return
        event = parse_event(data)
        columns = (row.transition_id, row.prior_head, row.next_head)
        if event is None or None in columns:  # step 2
            self.torn = torn_write("unparseable_event", row.sequence)
            return
        if position in self.wanted:
            self.seen_at[position] = (row.next_head, event["transition_id"])
        expected = link(self.head, data)  # step 3, the causes in their order
        causes = (
            ("sequence", row.sequence != position),
            ("workflow_id", event["workflow_id"] != self.workflow),
            ("transition_id", row.transition_id != event["transition_id"]),
            ("prior_head", row.prior_head != self.head),
            ("next_head", row.next_head != expected),
        )
        cause = next((name for name, holds in causes if holds), None)
        if cause is not None:
            self.bad = Bad(
                index=position - 1,
                row=row,
                transition_id=event["transition_id"],
                cause=cause,
                is_unlinked=row.next_head != expected,
            )

    def mismatch(self, index: int, transition_id: Optional[str], cause: str) -> Verdict:
        return Verdict({
            "kind": "chain_mismatch",
            "persisted_tail": show(self.persisted_tail),
            "recomputed_tail": show(self.head),
            "divergence_index": index,
            "offending_transition_id": transition_id,
            "cause": cause,
        })


def verify(
    workflow: str,
    read_rows: Callable[[], Iterator[Row]],
    pin: Optional[Tail],
    expected: Optional[Tail],
) -> tuple[Verdict, str]:
    """[Verification] The verdict on one workflow, and how its pin fared."""
    tails = [tail for tail in (pin, expected) if tail is not None]
    walk = Walk(workflow, tails)
    for row in read_rows():
        walk.take(row)
    verdict = row_verdict(walk, read_rows)
    pin_state = judge_pin(walk, pin)
    if verdict is None and pin is not None:
        verdict = hold_against(walk, pin, "pinned_head")
    if verdict is None and expected is not None:
        verdict = hold_against(walk, expected, "expected_head")
    if verdict is None and walk.rows > 0:
        verdict = Verdict({
            "kind": "verified", "tail_chain_head": show(walk.head), "rows": walk.rows,
        })
    if verdict is None:
        verdict = Verdict({"kind": "empty_workflow", "genesis_chain_head": show(GENESIS)})
    return verdict, pin_state


def row_verdict(walk: Walk, read_rows: Callable[[], Iterator[Row]]) -> Optional[Verdict]:
    """The verdict that the first bad row settles, if there is one."""
    if walk.torn is not None:
        return walk.torn
    if walk.bad is None:
        return None
    if walk.bad.is_unlinked:
        # Compared as it is stored, so a text and a blob are never the same.
        stored_head = walk.bad.row.stored_next_head
        holders = sum(1 for other in read_rows() if other.stored_next_head == stored_head)
        if holders > 1:
            return torn_write("duplicate_chain_link", walk.bad.row.sequence)
    return walk.mismatch(walk.bad.index, walk.bad.transition_id, walk.bad.cause)


def hold_against(walk: Walk, tail: Tail, cause: str) -> Optional[Verdict]:
    """Hold a chain without a bad row against a tail noted elsewhere."""
    if walk.rows < tail.sequence:
        return torn_write("truncated_tail", walk.rows + 1)
    head, transition_id = walk.seen_at[tail.sequence]
    return None if head == tail.head else walk.mismatch(tail.sequence - 1, transition_id, cause)


def judge_pin(walk: Walk, pin: Optional[Tail]) -> str:
    """How the chain stands to the pin, whatever the verdict is."""
    if pin is None:
        return "none"
    if pin.sequence in walk.seen_at:
        return "matched" if walk.seen_at[pin.sequence][0] == pin.head else "contradicted"
    return "unchecked" if walk.settled else "contradicted"


# --------------------------------------------------------------------------
# [Pin] The tail that a SQLite store noted outside the rows.
# --------------------------------------------------------------------------

LOCK_FILE = "checkpoints.lock"
LOCK_BYTES = 8192
SLOT_OFFSETS = (0, 4096)
SLOT_BYTES = 64


class CouldNotCheck(Exception):
    """There is no verdict, which is never the same as a good one."""


def read_lock_file(path: Path) -> Optional[bytes]:
    """The bytes of the lock file, one more than it should have at the most."""
    try:
        with open(path, "rb") as file:
            return file.read(LOCK_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CouldNotCheck(f"the lock file could not be read: {error}") from error


def read_slot(slot: bytes) -> Optional[tuple[int, Tail]]:
    """A slot's generation and tail, if it is valid."""
    generation, sequence = int.from_bytes(slot[12:20], "big"), int.from_bytes(slot[20:28], "big")
    head = slot[28:60]
    valid = (
        slot[0:8] == b"PITONPIN"
        and int.from_bytes(slot[8:12], "big") == 1
        and int.from_bytes(slot[60:64], "big") == zlib.crc32(slot[0:60])
        and generation < 2**64 - 1
        and sequence < 2**63
        and (sequence != 0 or head == GENESIS)
    )
    return (generation, Tail(sequence, head)) if valid else None


def read_pin(lock: Optional[bytes], layout: int) -> Optional[Tail]:
    """[Pin], the table of lock files. `layout` is 0 where there is no database."""
    if lock is not None and len(lock) >= LOCK_BYTES:
        slots = [read_slot(lock[at : at + SLOT_BYTES]) for at in SLOT_OFFSETS]
        valid = [slot for slot in slots if slot is not None]
        if valid:
            # `max` gives the first of equals, and of those the second slot counts.
            return max(reversed(valid), key=lambda slot: slot[0])[1]
    blank = lock is None or (len(lock) <= LOCK_BYTES and not any(lock))
    if blank and layout == 0:
        return None
    raise CouldNotCheck("the pin is damaged or missing where there must be one")


# --------------------------------------------------------------------------
# [Rows] A SQLite ledger.
# --------------------------------------------------------------------------

DATABASE = "checkpoints.sqlite"
NEWEST_LAYOUT = 1
SELECT = (
    "SELECT sequence, typeof(transition_id), transition_id, typeof(prior_head), prior_head, "
    "typeof(next_head), next_head, typeof(event_bytes), event_bytes "
    "FROM checkpoint_chain ORDER BY sequence"
)


def stored(kind: bytes, value: Any) -> Stored:
    """A column by its stored type: the driver gives texts and blobs as bytes."""
    if kind != b"text":
        return value
    try:
        value.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return value  # no text, whatever SQLite says
    return Text(value)


def sqlite_rows(connection: sqlite3.Connection) -> Iterator[Row]:
    try:
        cursor = connection.execute(SELECT + ", rowid")
    except sqlite3.OperationalError:
        cursor = connection.execute(SELECT)  # a table WITHOUT ROWID
    for sequence, *columns in cursor:
        kinds, values = columns[0::2], columns[1::2]
        yield Row(sequence, *(stored(kind, value) for kind, value in zip(kinds, values)))


def fingerprint(files: Iterable[Path]) -> list:
    """What changes when somebody writes to one of the files."""
    found = []
    for file in files:
        try:
            status = file.stat()
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except FileNotFoundError:
            found.append(None)
    return found


def beside(database: Path, ending: str) -> Path:
    return database.with_name(database.name + ending)


def holds_bytes(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


@contextlib.contextmanager
def open_database(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a database so that nothing beside it is created or changed.

    Without a write-ahead log beside it the file is the whole database and is
    opened as immutable. With one, SQLite would have to write in order to read,
    so a private copy of both files is opened instead.
    """
    files = [database, beside(database, "-wal")]
    before = fingerprint(files)
    with tempfile.TemporaryDirectory(prefix="verify_chain_") as copy:
        if holds_bytes(files[1]):
            for file in files:
                if file.exists():
                    shutil.copyfile(file, Path(copy, file.name))
            target = quote(str(Path(copy, database.name)))
        else:
            target = quote(str(database.resolve())) + "?immutable=1"
        connection = sqlite3.connect(f"file:{target}", uri=True, isolation_level=None)
        try:
            connection.text_factory = bytes
            connection.execute("BEGIN")  # one snapshot for all that follows
            yield connection
        finally:
            connection.close()
    if fingerprint(files) != before:
        raise CouldNotCheck("somebody wrote to the ledger while it was read; verify a copy")


def verify_sqlite(workflow: str, directory: Path, database: Path, options: Options) -> Answer:
    # The pin is read before the snapshot: a pin may lag the rows, never lead.
    lock = read_lock_file(directory / LOCK_FILE) if not options.ignore_pin else None
    if not holds_bytes(database):
        if holds_bytes(beside(database, "-wal")):
            raise CouldNotCheck("there is a write-ahead log without its database")
        pin = None if options.ignore_pin else read_pin(lock, layout=0)
        return conclude(workflow, no_rows, pin, options)
    if holds_bytes(beside(database, "-journal")):
        raise CouldNotCheck("a transaction of another program did not finish")
    with open_database(database) as connection:
        layout = connection.execute("PRAGMA user_version").fetchone()[0]
        if layout > NEWEST_LAYOUT:
            raise CouldNotCheck(f"layout version {layout} is newer than this verifier")
        pin = None if options.ignore_pin else read_pin(lock, layout)
        read_rows = (lambda: sqlite_rows(connection)) if has_table(connection) else no_rows
        return conclude(workflow, read_rows, pin, options)


def no_rows() -> Iterator[Row]:
    return iter(())


def has_table(connection: sqlite3.Connection) -> bool:
    """Whether there is a table of rows. Without one there are none."""
    found = connection.execute(
        "SELECT type FROM sqlite_master WHERE lower(name) = 'checkpoint_chain'"
    ).fetchall()
    if (b"view",) in found:
        raise CouldNotCheck("a view stands where the table should be")
    return (b"table",) in found


# --------------------------------------------------------------------------
# [Export] Rows as JSON lines.
# --------------------------------------------------------------------------

EXPORT_MEMBERS = {
    "workflow_id", "sequence", "transition_id", "prior_head", "next_head", "event", "written_at",
}
OPTIONAL_MEMBERS = {"written_at"}


def exported(value: Any) -> Stored:
    """A member by its JSON type: a string is a text, anything but an integer can't be read."""
    if isinstance(value, str):
        return Text(value.encode("utf-8"))
    return value if type(value) is int else None


def read_export(lines: Iterable[bytes]) -> dict[str, list[Row]]:
    """The rows of each workflow, in the order of their lines."""
    chains: dict[str, list[Row]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            members = parse_json(line)
        except NotJson as error:
            raise CouldNotCheck(f"line {number} is not JSON: {error}") from error
        if not isinstance(members, dict) or not (
            EXPORT_MEMBERS - OPTIONAL_MEMBERS <= members.keys() <= EXPORT_MEMBERS
        ):
            raise CouldNotCheck(f"line {number} is not a row")
        if not is_workflow_id(members["workflow_id"]):
            raise CouldNotCheck(f"line {number} names no workflow")
        names = ("sequence", "transition_id", "prior_head", "next_head", "event")
        row = Row(*(exported(members[name]) for name in names))
        chains.setdefault(members["workflow_id"], []).append(row)
    return chains


# --------------------------------------------------------------------------
# What is asked, what is found and what is answered.
# --------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """What the caller brings beside a path."""

    workflow: Optional[str] = None
    expected: Optional[Tail] = None
    ignore_pin: bool = False


@dataclass(frozen=True)
class Answer:
    """A verdict on one workflow, or why there is none."""

    workflow: Optional[str]
    verdict: Optional[Verdict] = None
    pin: Optional[str] = None
    error: Optional[str] = None

    @property
    def exit_code(self) -> int:
        if self.verdict is None:
            return 5
        return {"chain_mismatch": 3, "torn_write": 4}.get(self.verdict.kind, 0)

    def as_json(self) -> dict:
        if self.verdict is None:
            return {
                "workflow_id": self.workflow,
                "error": {"kind": "could_not_check", "message": self.error},
            }
        return {"workflow_id": self.workflow, "verdict": self.verdict.body, "pin": self.pin}

    def as_text(self) -> str:
        if self.verdict is None:
            return f"could not check: {self.workflow}: {self.error}"
        details = ", ".join(
            f"{name} {value}" for name, value in self.verdict.body.items() if name != "kind"
        )
        return f"{self.verdict.kind}: {self.workflow}: {details}, pin {self.pin}"


def conclude(
    workflow: str,
    read_rows: Callable[[], Iterator[Row]],
    pin: Optional[Tail],
    options: Options,
) -> Answer:
    verdict, pin_state = verify(workflow, read_rows, pin, options.expected)
    return Answer(workflow, verdict, "ignored" if options.ignore_pin else pin_state)


def guarded(workflow: Optional[str], check: Callable[[], Answer]) -> Answer:
    """Whatever stops a check is an answer too, and never a good one."""
    try:
        return check()
    # SQLite may quote a damaged name in a message that is no UTF-8.
    except (CouldNotCheck, sqlite3.Error, OSError, UnicodeDecodeError) as error:
        return Answer(workflow, error=str(error))


def is_workflow_directory(path: Path) -> bool:
    return (path / DATABASE).exists() or (path / LOCK_FILE).exists()


def is_sqlite_file(path: Path) -> bool:
    if path.name == DATABASE:
        return True
    with open(path, "rb") as file:
        return file.read(16) == b"SQLite format 3\x00"


def check_directory(directory: Path, database: Path, options: Options) -> Answer:
    workflow = options.workflow or directory.resolve().name
    if not is_workflow_id(workflow):
        return Answer(workflow, error="this is no workflow id; give one with --workflow")
    return guarded(workflow, lambda: verify_sqlite(workflow, directory, database, options))


def check_export(file: Iterable[bytes], options: Options) -> list[Answer]:
    chains = read_export(file)
    if options.workflow is not None:
        chains = {options.workflow: chains.get(options.workflow, [])}
    return [
        conclude(workflow, lambda rows=rows: iter(rows), None, options)
        for workflow, rows in chains.items()
    ]


def check_path(path: str, options: Options) -> list[Answer]:
    """Every workflow that is found at a path."""
    try:
        if path == "-":
            return check_export(sys.stdin.buffer, options)
        place = Path(path)
        if place.is_dir():
            if options.workflow is not None or is_workflow_directory(place):
                return [check_directory(place, place / DATABASE, options)]
            found = sorted(child for child in place.iterdir() if is_workflow_directory(child))
            return [check_directory(child, child / DATABASE, options) for child in found]
        if is_sqlite_file(place):
            return [check_directory(place.resolve().parent, place, options)]
        with open(place, "rb") as file:
            return check_export(file, options)
    except (CouldNotCheck, OSError) as error:
        return [Answer(options.workflow, error=f"{path}: {error}")]


def check(path: str, options: Options) -> list[Answer]:
    answers = check_path(path, options)
    if not answers:
        return [Answer(options.workflow, error=f"{path}: no workflow is here")]
    if options.expected is not None and len(answers) > 1:
        return [Answer(None, error=f"{path}: several workflows, but one expected tail")]
    return answers


def parse_tail(text: str) -> Tail:
    """`SEQ:HEAD`, as `piton head` prints it."""
    sequence, _, head_text = text.partition(":")
    head = HEAD.fullmatch(head_text)
    if not re.fullmatch(r"[0-9]{1,19}", sequence) or head is None:
        raise argparse.ArgumentTypeError(f"not SEQ:HEAD: {text}")
    tail = Tail(int(sequence), bytes.fromhex(head.group(1)))
    if tail.sequence == 0 and tail.head != GENESIS:
        raise argparse.ArgumentTypeError("sequence 0 goes with the genesis head alone")
    return tail


def worst(answers: Iterable[Answer]) -> int:
    codes = {answer.exit_code for answer in answers}
    return next((code for code in (3, 4, 5) if code in codes), 0)


def run_batch(lines: Iterable[str]) -> int:
    """One question a line as JSON, one line of answers each."""
    all_answers: list[Answer] = []
    for line in lines:
        question = json.loads(line)
        expected = question.get("expect")
        answers = check(question["path"], Options(
            workflow=question.get("workflow"),
            expected=parse_tail(expected) if expected is not None else None,
            ignore_pin=question.get("ignore_pin", False),
        ))
        all_answers += answers
        reply = {"path": question["path"], "answers": [answer.as_json() for answer in answers]}
        print(json.dumps(reply), flush=True)  # who asks may wait for it
    return worst(all_answers)


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Verify Piton checkpoint chains without Piton's own code.",
        epilog="exit codes: 0 intact, 3 chain mismatch, 4 torn write, 5 could not check, 2 usage",
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help=(
        "a store, the directory or database of a workflow, or an export; `-` reads an export"
    ))
    parser.add_argument("--workflow", metavar="ID", help=(
        "the workflow, where the path's directory does not bear its name, or one of an export"
    ))
    parser.add_argument("--expect", metavar="SEQ:HEAD", type=parse_tail, help=(
        "a tail that the chain is known to have had"
    ))
    parser.add_argument("--ignore-pin", action="store_true", help=(
        "do not hold the rows against checkpoints.lock"
    ))
    parser.add_argument("--json", action="store_true", help="one JSON object a workflow")
    parser.add_argument("--batch", action="store_true", help=(
        "read questions from standard input, one JSON object a line with `path` and, if "
        "need be, `workflow`, `expect` and `ignore_pin`; answer one line each"
    ))
    arguments = parser.parse_args()
    if arguments.batch:
        return run_batch(sys.stdin)
    if not arguments.paths:
        parser.error("give at least one PATH")
    if arguments.workflow is not None and not is_workflow_id(arguments.workflow):
        parser.error("--workflow is no workflow id")
    if arguments.expect is not None and len(arguments.paths) > 1:
        parser.error("--expect goes with one PATH")
    options = Options(arguments.workflow, arguments.expect, arguments.ignore_pin)
    answers = [answer for path in arguments.paths for answer in check(path, options)]
    for answer in answers:
        print(json.dumps(answer.as_json()) if arguments.json else answer.as_text())
    return worst(answers)


if __name__ == "__main__":
    sys.exit(main())
