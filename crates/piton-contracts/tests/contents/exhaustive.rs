//! Owns the table form in which closed types get their samples. It knows no type.

/// Gives samples of a closed type from a table with one row a variant.
///
/// The patterns are matched without a wildcard, so a new variant does not compile without a row,
/// and each row must hold samples of its own variant. Samples are literals without `..`, so a new
/// field does not compile either.
macro_rules! samples_of {
    ($type:ty { $($pattern:pat => $samples:expr,)+ }) => {{
        fn only_these(value: &$type) {
            match value {
                $($pattern => {})+
            }
        }
        let mut samples: Vec<$type> = Vec::new();
        $({
            let of_variant: Vec<$type> = $samples;
            assert!(!of_variant.is_empty(), "{} has no sample", stringify!($pattern));
            for sample in &of_variant {
                assert!(matches!(sample, $pattern), "{sample:?} is no {}", stringify!($pattern));
                only_these(sample);
            }
            samples.extend(of_variant);
        })+
        samples
    }};
}

pub(crate) use samples_of;
