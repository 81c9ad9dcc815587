//! Tests of the command line, in one binary because each would link the same store.

mod append;
mod copy;
mod demo;
mod export;
mod import;
mod operate;
mod original;
mod postgres;
mod second_machine;
mod support;
mod terminal;
mod verify;
