//! A number and what is counted: `1 plugin`, `2 plugins`.

use std::fmt::Display;

/// `many` is the word for every number but one.
pub fn counted(count: impl Display, one: &str, many: &str) -> String {
    let count = count.to_string();
    if count == "1" { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_one() {
        let told: Vec<_> = (0..3_u64).map(|count| counted(count, "is", "are")).collect();
        assert_eq!(told, ["0 are", "1 is", "2 are"]);
    }
}
