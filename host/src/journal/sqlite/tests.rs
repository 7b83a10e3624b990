//! Promises of the SQLite journal, one file per subject.

mod append;
mod archive;
mod audit;
mod damage;
mod fold;
mod hold;
mod keyvalue;
mod list;
mod sample;
