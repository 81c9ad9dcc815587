//! Runs the conformance kit and the tamper matrix on the store in memory, plain and erased.

mod plain {
    piton_testkit::conformance!(piton_testkit::MemoryHarness);
}

mod erased {
    piton_testkit::conformance!(piton_testkit::Erased<piton_testkit::MemoryHarness>);
}

mod tampered {
    piton_testkit::tamper_matrix!(piton_testkit::MemoryHarness);
}
