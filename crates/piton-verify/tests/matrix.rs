//! Fixes the verdict of every way in which stored rows can lie.

piton_testkit::tamper_matrix!(piton_testkit::MemoryHarness);
