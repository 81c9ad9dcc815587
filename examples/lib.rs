//! Programs that use Piton as a downstream crate does; see the example targets.
