//! Promises about files, locks and threads; what every store promises is in `journal/tests/`.

mod append;
mod archive;
mod audit;
mod damage;
mod fold;
mod hold;
mod keyvalue;
mod list;
mod sample;
