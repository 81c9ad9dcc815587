//! Owns the layout of the tables and functions, as text. It runs none of it.

use crate::options::SchemaName;

/// The newest layout that this version knows.
pub const LAYOUT_VERSION: i64 = 1;

/// One migration: what leads from the layout before it to its own.
pub(crate) struct Step {
    pub(crate) version: i64,
    template: &'static str,
}

/// Where a template names the schema.
const SLOT: &str = "{schema}";

/// Every migration in order; a published one is never edited.
pub(crate) const STEPS: [Step; 1] = [Step {
    version: 1,
    template: include_str!("layout_1.sql"),
}];

impl Step {
    pub(crate) fn sql(&self, schema: &SchemaName) -> String {
        self.template.replace(SLOT, schema.as_str())
    }
}

/// Gives the statements that make the newest layout in an empty schema, in their order.
///
/// `PostgresStore::migrate` runs them; they are here for those who set a database up by hand and
/// for those who review it.
///
/// # Examples
///
/// ```
/// let sql = piton_postgres::schema(&piton_postgres::SchemaName::default());
/// assert!(sql.contains("CREATE TABLE \"piton\".checkpoint_chain"));
/// ```
pub fn schema(name: &SchemaName) -> String {
    STEPS.iter().map(|step| step.sql(name)).collect()
}
