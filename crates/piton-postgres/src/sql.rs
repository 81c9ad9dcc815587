//! Owns the statements for one schema. The schema's name is the only text that is put into them,
//! and its grammar lets nothing through that could end a name; all else are parameters.

use crate::options::SchemaName;

/// The columns of a row, in the order in which [`crate::row::decode`] takes them.
const COLUMNS: &str = "sequence, transition_id, prior_head, next_head, event_bytes, written_at";

/// Ends the transaction that a lock is held in and begins the next; the session never goes idle
/// outside one, so a pooler can't give the server session to somebody else.
pub(crate) const COMMIT_AND_CHAIN: &str =
    "COMMIT AND CHAIN; SET LOCAL idle_in_transaction_session_timeout = 0";
/// The same after a call that was cut short.
pub(crate) const ROLLBACK_AND_CHAIN: &str =
    "ROLLBACK AND CHAIN; SET LOCAL idle_in_transaction_session_timeout = 0";
/// Opens the transaction that a lock is held in. What an administrator set otherwise for new
/// transactions would break the comparison of the pin.
pub(crate) const BEGIN_LOCKED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Opens the transaction of one chain read.
pub(crate) const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Says whether the server only follows another one.
pub(crate) const IS_REPLICA: &str = "SELECT pg_catalog.pg_is_in_recovery()";

/// The statements for one schema.
///
/// Parameters of an append: `$1` workflow, `$2` transition, `$3` prior head, `$4` next head, `$5`
/// event bytes, `$6` time. It gives the sequence, or no row or NULL when the pin does not stand at
/// the prior head, or the lock is held.
#[derive(Debug)]
pub(crate) struct Sql {
    /// What a new connection must be fit for.
    pub(crate) check: String,
    /// The append after a row.
    pub(crate) next: String,
    /// The append of the first row, which makes the pin.
    pub(crate) first: String,
    /// The append by the installed function.
    pub(crate) call: String,
    /// Moves a pin that lags to the tail.
    pub(crate) catch_up: String,
    /// Everything that an append is judged by, in one snapshot.
    pub(crate) inspect: String,
    pub(crate) chain: String,
    pub(crate) count: String,
    pub(crate) tail: String,
    pub(crate) pin: String,
    pub(crate) find: String,
    pub(crate) list: String,
    pub(crate) stats: String,
    pub(crate) lock: String,
    pub(crate) unlock: String,
    pub(crate) repin: String,
    pub(crate) delete: String,
}

impl Sql {
    pub(crate) fn new(schema: &SchemaName) -> Self {
        let chain = format!("\"{schema}\".checkpoint_chain");
        let pin = format!("\"{schema}\".pin");
        // Both sides of a lock compute its key on the server, so it can't differ between clients.
        // Two workflows with one key only wait for each other.
        let key = format!("pg_catalog.hashtextextended('piton.{schema}.' || $1::text, 0)");
        let is_free = format!("pg_catalog.pg_try_advisory_xact_lock_shared({key})");
        let insert = format!(
            "INSERT INTO {chain} (workflow_id, {COLUMNS}) \
             SELECT $1::text, noted.sequence, $2::text, $3::bytea, $4::bytea, $5::bytea, $6::text \
             FROM noted RETURNING sequence"
        );
        Self {
            check: format!(
                "SELECT pg_catalog.pg_is_in_recovery(), \
                 pg_catalog.current_setting('server_version_num')::int8, \
                 pg_catalog.current_setting('synchronous_commit'), \
                 (SELECT version FROM \"{schema}\".layout)"
            ),
            // A statement that waited for the pin's row looks at the newest version of it, so the
            // comparison holds although its snapshot is old. A transition that is there already
            // is left to the unique key: looking for it each time costs every append a tenth.
            next: format!(
                "WITH noted AS ( \
                 UPDATE {pin} AS pin SET sequence = pin.sequence + 1, head = $4::bytea \
                 WHERE pin.workflow_id = $1::text AND pin.head = $3::bytea AND {is_free} \
                 AND $3::bytea = (SELECT tail.next_head FROM {chain} AS tail \
                     WHERE tail.workflow_id = $1::text AND tail.sequence = pin.sequence) \
                 RETURNING pin.sequence) {insert}"
            ),
            first: format!(
                "WITH noted AS ( \
                 INSERT INTO {pin} AS pin (workflow_id, sequence, head) \
                 SELECT $1::text, 1, $4::bytea WHERE {is_free} \
                 AND NOT EXISTS (SELECT FROM {chain} AS present WHERE present.workflow_id = $1::text) \
                 ON CONFLICT (workflow_id) DO UPDATE SET sequence = 1, head = excluded.head \
                 WHERE pin.sequence = 0 \
                 RETURNING pin.sequence) {insert}"
            ),
            call: format!("SELECT \"{schema}\".piton_append($1, $2, $3, $4, $5, $6)"),
            catch_up: format!("SELECT \"{schema}\".piton_catch_up($1, $2, $3, $4, $5)"),
            inspect: format!(
                "SELECT pin.sequence, pin.head, pinned.sequence, pinned.next_head, \
                 tail.sequence, tail.next_head, \
                 present.sequence, present.next_head, \
                 present.event_bytes IS NOT DISTINCT FROM $3::bytea \
                 FROM (VALUES (true)) AS anchor \
                 LEFT JOIN {pin} AS pin ON pin.workflow_id = $1::text \
                 LEFT JOIN LATERAL (SELECT sequence, next_head FROM {chain} \
                     WHERE workflow_id = $1::text AND sequence = pin.sequence LIMIT 1) AS pinned ON true \
                 LEFT JOIN LATERAL (SELECT sequence, next_head FROM {chain} \
                     WHERE workflow_id = $1::text ORDER BY sequence DESC LIMIT 1) AS tail ON true \
                 LEFT JOIN LATERAL (SELECT sequence, next_head, event_bytes FROM {chain} \
                     WHERE workflow_id = $1::text AND transition_id = $2::text LIMIT 1) AS present ON true \
                 LIMIT 1"
            ),
            chain: format!(
                "SELECT {COLUMNS} FROM {chain} WHERE workflow_id = $1::text ORDER BY sequence"
            ),
            count: format!(
                "SELECT pg_catalog.count(*) FROM {chain} \
                 WHERE workflow_id = $1::text AND next_head = $2::bytea"
            ),
            tail: format!(
                "SELECT pg_catalog.pg_is_in_recovery(), tail.sequence, tail.next_head \
                 FROM (VALUES (true)) AS anchor \
                 LEFT JOIN LATERAL (SELECT sequence, next_head FROM {chain} \
                     WHERE workflow_id = $1::text ORDER BY sequence DESC LIMIT 1) AS tail ON true"
            ),
            pin: format!(
                "SELECT pg_catalog.pg_is_in_recovery(), pin.sequence, pin.head, \
                 EXISTS (SELECT FROM {chain} WHERE workflow_id = $1::text) \
                 FROM (VALUES (true)) AS anchor \
                 LEFT JOIN {pin} AS pin ON pin.workflow_id = $1::text LIMIT 1"
            ),
            find: format!(
                "SELECT {COLUMNS} FROM {chain} \
                 WHERE workflow_id = $1::text AND transition_id = $2::text LIMIT 1"
            ),
            // One probe of the index for each workflow, however long its chain is.
            list: format!(
                "WITH RECURSIVE present (workflow_id) AS ( \
                 (SELECT workflow_id FROM {chain} ORDER BY workflow_id LIMIT 1) \
                 UNION ALL \
                 SELECT (SELECT later.workflow_id FROM {chain} AS later \
                     WHERE later.workflow_id > present.workflow_id \
                     ORDER BY later.workflow_id LIMIT 1) \
                 FROM present WHERE present.workflow_id IS NOT NULL) \
                 SELECT workflow_id FROM present WHERE workflow_id IS NOT NULL \
                 UNION SELECT workflow_id FROM {pin}"
            ),
            stats: format!(
                "SELECT {COLUMNS}, pg_catalog.pg_is_in_recovery(), \
                 (SELECT pg_catalog.count(*) FROM {chain} WHERE workflow_id = $1::text), \
                 (SELECT written_at FROM {chain} WHERE workflow_id = $1::text \
                     ORDER BY sequence LIMIT 1) \
                 FROM (VALUES (true)) AS anchor \
                 LEFT JOIN LATERAL (SELECT {COLUMNS} FROM {chain} \
                     WHERE workflow_id = $1::text ORDER BY sequence DESC LIMIT 1) AS tail ON true"
            ),
            // The columns are evaluated from left to right. A server on Linux can tell that its client
            // is gone, and frees the place of a waiter that gave up. The holder takes the shared lock
            // too: its own appends try for it, and a try fails behind a waiter unless the session
            // has it already.
            lock: format!(
                "SELECT pg_catalog.set_config('lock_timeout', $2::text, true), \
                 pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true), \
                 CASE WHEN pg_catalog.version() LIKE '%linux%' THEN \
                     pg_catalog.set_config('client_connection_check_interval', '250ms', true) END, \
                 pg_catalog.pg_advisory_lock({key}), pg_catalog.pg_advisory_lock_shared({key})"
            ),
            unlock: format!(
                "SELECT pg_catalog.pg_advisory_unlock({key}), \
                 pg_catalog.pg_advisory_unlock_shared({key})"
            ),
            repin: format!(
                "INSERT INTO {pin} (workflow_id, sequence, head) \
                 VALUES ($1::text, $2::bigint, $3::bytea) \
                 ON CONFLICT (workflow_id) DO UPDATE SET sequence = excluded.sequence, \
                 head = excluded.head"
            ),
            delete: format!(
                "WITH pins AS (DELETE FROM {pin} WHERE workflow_id = $1::text RETURNING true), \
                 rows AS (DELETE FROM {chain} WHERE workflow_id = $1::text RETURNING true) \
                 SELECT EXISTS (SELECT FROM pins) OR EXISTS (SELECT FROM rows)"
            ),
        }
    }
}
