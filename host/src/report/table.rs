//! Tables for people: no borders, so that a column can be copied, and no colour, so that nothing hangs on it.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, presets};

/// Of a terminal that does not say.
const WIDTH: u16 = 80;

/// Prints rows under headings; cells hold foreign text only escaped.
pub fn print(headings: &[&str], rows: Vec<Vec<String>>) {
    super::data(&text(headings, rows));
}

/// The same to be printed.
pub fn text(headings: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().copied()).add_rows(rows);
    if std::io::IsTerminal::is_terminal(&std::io::stdout()) {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    if table.width() == Some(0) {
        table.set_width(WIDTH);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        // What people copy is never broken over lines; the others make room.
        if place == 0 {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.trim_fmt()
}
