//! Owns the SQLite and Postgres forms of the identifiers, for sqlx. It opens no connection.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::error::Error;

use sqlx::encode::IsNull;
use sqlx::postgres::Postgres;
use sqlx::sqlite::Sqlite;
use sqlx::{Database, Decode, Encode, Type};

use crate::digest::{BlobDigest, ChainHead};
use crate::id::{ErrorId, Sequence, TransitionId, WorkflowId};

type Failure = Box<dyn Error + Sync + Send>;

/// Implements the three traits of sqlx for a type through another one that sqlx knows.
macro_rules! as_column {
    ($type:ty, $database:ty, $owned:ty, $borrowed:ty, $encode:expr, $decode:expr) => {
        impl Type<$database> for $type {
            fn type_info() -> <$database as Database>::TypeInfo {
                <$owned as Type<$database>>::type_info()
            }

            fn compatible(column: &<$database as Database>::TypeInfo) -> bool {
                <$owned as Type<$database>>::compatible(column)
            }
        }

        impl<'q> Encode<'q, $database> for $type {
            fn encode_by_ref(
                &self,
                out: &mut <$database as Database>::ArgumentBuffer,
            ) -> Result<IsNull, Failure> {
                let encode: fn(&Self) -> $owned = $encode;
                <$owned as Encode<'q, $database>>::encode(encode(self), out)
            }
        }

        impl<'r> Decode<'r, $database> for $type {
            fn decode(value: <$database as Database>::ValueRef<'r>) -> Result<Self, Failure> {
                let decode: fn($borrowed) -> Result<Self, Failure> = $decode;
                decode(<$borrowed as Decode<'r, $database>>::decode(value)?)
            }
        }
    };
}

macro_rules! as_text {
    ($type:ty, $database:ty) => {
        as_column!(
            $type,
            $database,
            String,
            &str,
            ToString::to_string,
            |text| Ok(text.parse()?)
        );
    };
}

macro_rules! as_bytes {
    ($type:ty, $database:ty) => {
        as_column!(
            $type,
            $database,
            alloc::vec::Vec<u8>,
            &[u8],
            |digest| digest.as_bytes().to_vec(),
            |bytes| Ok(Self::from_bytes(bytes.try_into()?))
        );
    };
}

macro_rules! as_integer {
    ($type:ty, $database:ty) => {
        as_column!(
            $type,
            $database,
            i64,
            i64,
            |sequence| sequence.to_i64(),
            |number| Ok(number.try_into()?)
        );
    };
}

as_text!(WorkflowId, Sqlite);
as_text!(WorkflowId, Postgres);
as_text!(TransitionId, Sqlite);
as_text!(TransitionId, Postgres);
as_text!(ErrorId, Sqlite);
as_text!(ErrorId, Postgres);
as_text!(ChainHead, Sqlite);
as_bytes!(ChainHead, Postgres);
as_text!(BlobDigest, Sqlite);
as_bytes!(BlobDigest, Postgres);
as_integer!(Sequence, Sqlite);
as_integer!(Sequence, Postgres);
