//! Runs the conformance kit and the tamper matrix on a live server: direct, erased, with a pool of
//! one connection, and through a pooler in transaction mode.

mod support;

mod direct {
    piton_testkit::conformance!(crate::support::Direct);
}

mod erased {
    piton_testkit::conformance!(piton_testkit::Erased<crate::support::Direct>);
}

mod single {
    piton_testkit::conformance!(crate::support::Single);
}

mod pooled {
    piton_testkit::conformance!(crate::support::Pooled);
}

mod tampered {
    piton_testkit::tamper_matrix!(crate::support::Direct);
}

mod tampered_single {
    piton_testkit::tamper_matrix!(crate::support::Single);
}

mod tampered_pooled {
    piton_testkit::tamper_matrix!(crate::support::Pooled);
}
