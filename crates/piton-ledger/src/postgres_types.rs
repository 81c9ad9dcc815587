//! Owns the Postgres forms of the identifiers, for tokio-postgres. It opens no connection.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::error::Error;

use bytes::BytesMut;
use postgres_types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::digest::{BlobDigest, ChainHead};
use crate::id::{ErrorId, Sequence, TransitionId, WorkflowId};

type Failure = Box<dyn Error + Sync + Send>;

macro_rules! as_text {
    ($type:ty) => {
        impl ToSql for $type {
            accepts!(TEXT, VARCHAR);
            to_sql_checked!();

            fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
                self.to_string().as_str().to_sql(column, out)
            }
        }

        impl<'a> FromSql<'a> for $type {
            accepts!(TEXT, VARCHAR);

            fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
                Ok(<&str>::from_sql(column, raw)?.parse()?)
            }
        }
    };
}

as_text!(WorkflowId);
as_text!(TransitionId);
as_text!(ErrorId);

macro_rules! as_digest {
    ($type:ty) => {
        impl ToSql for $type {
            accepts!(BYTEA, TEXT, VARCHAR);
            to_sql_checked!();

            fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
                if *column == Type::BYTEA {
                    self.as_bytes().as_slice().to_sql(column, out)
                } else {
                    self.to_string().as_str().to_sql(column, out)
                }
            }
        }

        impl<'a> FromSql<'a> for $type {
            accepts!(BYTEA, TEXT, VARCHAR);

            fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
                if *column == Type::BYTEA {
                    Ok(Self::from_bytes(
                        <&[u8]>::from_sql(column, raw)?.try_into()?,
                    ))
                } else {
                    Ok(<&str>::from_sql(column, raw)?.parse()?)
                }
            }
        }
    };
}

as_digest!(ChainHead);
as_digest!(BlobDigest);

impl ToSql for Sequence {
    accepts!(INT8);
    to_sql_checked!();

    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        self.to_i64().to_sql(column, out)
    }
}

impl<'a> FromSql<'a> for Sequence {
    accepts!(INT8);

    fn from_sql(column: &Type, raw: &'a [u8]) -> Result<Self, Failure> {
        Ok(i64::from_sql(column, raw)?.try_into()?)
    }
}
