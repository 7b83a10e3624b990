//! Promises of the SQLite journal, one file per subject.

mod append;
mod damage;
mod fold;
mod hold;
mod keyvalue;
mod list;
mod sample;
