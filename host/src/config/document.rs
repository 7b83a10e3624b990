//! A TOML file read key by key, so that every error names its line.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;

/// The text of one file.
pub(super) struct Document<'d> {
    pub file: &'d Path,
    pub text: &'d str,
}

/// One table and its dotted name, empty for the file itself.
#[derive(Clone)]
pub(super) struct Section<'d> {
    document: &'d Document<'d>,
    table: &'d DeTable<'d>,
    name: String,
    offset: usize,
}

/// One value and its dotted name.
pub(super) struct Item<'d> {
    document: &'d Document<'d>,
    value: &'d Spanned<DeValue<'d>>,
    name: String,
    /// Of the key; of the element itself inside an array.
    offset: usize,
}

impl<'d> Document<'d> {
    /// Text in UTF-8 without a byte-order mark, lines ended by `\n` or `\r\n`.
    pub fn new(file: &'d Path, bytes: &'d [u8]) -> Result<Self, ConfigError> {
        if bytes.starts_with(b"\xef\xbb\xbf") || bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Err(Self { file, text: "" }.error(0, "starts with a byte-order mark").with_hint("save it as UTF-8 without one"));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self { file, text }),
            Err(error) => {
                let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).expect("checked up to here");
                Err(Self { file, text }.error(text.len(), "is not UTF-8"))
            }
        }
    }

    pub fn parse(&self) -> Result<Spanned<DeTable<'d>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| self.error(error.span().map_or(0, |span| span.start), error.message().trim().replace('\n', ", ")))
    }

    pub fn root(&'d self, table: &'d Spanned<DeTable<'d>>) -> Section<'d> {
        Section { document: self, table: table.get_ref(), name: String::new(), offset: 0 }
    }

    pub fn error(&self, offset: usize, reason: impl Into<String>) -> ConfigError {
        ConfigError::Line { file: self.file.to_owned(), line: self.line(offset), reason: reason.into(), hint: None }
    }

    /// From 1.
    fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
    }
}

impl<'d> Section<'d> {
    pub fn get(&self, key: &str) -> Option<Item<'d>> {
        self.items().into_iter().find(|(name, _)| *name == key).map(|(_, item)| item)
    }

    pub fn require(&self, key: &str) -> Result<Item<'d>, ConfigError> {
        self.get(key).ok_or_else(|| self.error(format!("{} lacks `{key}`", self.shown())))
    }

    /// In the file's order.
    pub fn items(&self) -> Vec<(&'d str, Item<'d>)> {
        let mut items: Vec<_> =
            self.table.iter().map(|(key, value)| (key.get_ref().as_ref(), self.item(key.get_ref(), key.span().start, value))).collect();
        items.sort_by_key(|(_, item)| item.offset);
        items
    }

    /// Refuses every other key; `later` ones by saying so.
    pub fn only(&self, known: &[&str], later: &[&str]) -> Result<(), ConfigError> {
        for (key, item) in self.items() {
            if later.contains(&key) {
                return Err(item
                    .error(format!("`{}` comes with a later version", item.name))
                    .with_hint("take it out; this version would not enforce it"));
            }
            if !known.contains(&key) {
                return Err(item.error(format!("unknown key `{}`", item.name)).with_hint(format!("{} may hold: {}", self.shown(), known.join(", "))));
            }
        }
        Ok(())
    }

    pub fn line(&self) -> usize {
        self.document.line(self.offset)
    }

    pub fn error(&self, reason: impl Into<String>) -> ConfigError {
        self.document.error(self.offset, reason)
    }

    fn item(&self, key: &str, offset: usize, value: &'d Spanned<DeValue<'d>>) -> Item<'d> {
        let name = if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) };
        Item { document: self.document, value, name, offset }
    }

    fn shown(&self) -> String {
        if self.name.is_empty() { "the file".into() } else { format!("`{}`", self.name) }
    }
}

impl<'d> Item<'d> {
    pub fn text(&self) -> Result<&'d str, ConfigError> {
        self.value.get_ref().as_str().ok_or_else(|| self.wrong("a string"))
    }

    pub fn boolean(&self) -> Result<bool, ConfigError> {
        self.value.get_ref().as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    pub fn integer(&self) -> Result<i64, ConfigError> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.wrong("an integer"))?;
        i64::from_str_radix(integer.as_str(), integer.radix()).map_err(|_| self.error(format!("`{}` is out of range", self.name)))
    }

    /// One of these words.
    pub fn word(&self, words: &[&str]) -> Result<&'d str, ConfigError> {
        let text = self.text()?;
        if words.contains(&text) {
            Ok(text)
        } else {
            Err(self.error(format!("`{}` must be {}, not \"{}\"", self.name, words.join(" | "), text.escape_debug())))
        }
    }

    pub fn section(&self) -> Result<Section<'d>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(Section { document: self.document, table, name: self.name.clone(), offset: self.offset }),
            DeValue::Array(_) => Err(self.wrong("a table").with_hint(format!("write `[{}]` with single brackets, once", self.name))),
            _ => Err(self.wrong("a table").with_hint(format!("write `[{}]`", self.name))),
        }
    }

    /// `[[name]]`, any number of times.
    pub fn sections(&self) -> Result<Vec<Section<'d>>, ConfigError> {
        let DeValue::Array(_) = self.value.get_ref() else {
            return Err(self.wrong("an array of tables").with_hint(format!("write `[[{}]]` with double brackets", self.name)));
        };
        self.elements()?.iter().map(Item::section).collect()
    }

    /// `name = { … }`, or `[[name]]` any number of times.
    pub fn one_or_more(&self) -> Result<Vec<Section<'d>>, ConfigError> {
        match self.value.get_ref() {
            DeValue::Array(_) => self.sections(),
            _ => Ok(vec![self.section()?]),
        }
    }

    pub fn elements(&self) -> Result<Vec<Item<'d>>, ConfigError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.wrong("an array"))?;
        let element = |value: &'d Spanned<DeValue<'d>>| Item { document: self.document, value, name: self.name.clone(), offset: value.span().start };
        Ok(array.iter().map(element).collect())
    }

    /// A list of strings with at least one.
    pub fn texts(&self) -> Result<Vec<&'d str>, ConfigError> {
        match self.elements()?.iter().map(Item::text).collect::<Result<Vec<_>, _>>()? {
            texts if texts.is_empty() => Err(self.error(format!("`{}` is empty", self.name))),
            texts => Ok(texts),
        }
    }

    /// `YYYY-MM-DD`, with or without quotes.
    pub fn date(&self) -> Result<String, ConfigError> {
        let text = match self.value.get_ref() {
            DeValue::Datetime(date) => date.to_string(),
            _ => self.text()?.to_owned(),
        };
        match text.parse::<jiff::civil::Date>() {
            Ok(date) if date.to_string() == text => Ok(text),
            _ => Err(self.error(format!("`{}` must be a date such as 2026-12-31, not {}", self.name, text.escape_debug()))),
        }
    }

    /// A string, number or boolean as JSON; `None` for a table.
    pub fn scalar(&self) -> Result<Option<serde_json::Value>, ConfigError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(Some(text.as_ref().into())),
            DeValue::Boolean(value) => Ok(Some((*value).into())),
            DeValue::Integer(_) => {
                let integer = self.integer()?;
                // The bound of arguments (2^53): beyond it nothing could ever match.
                if integer.unsigned_abs() > 1 << 53 { Err(self.error(format!("`{}` is beyond ±2^53", self.name))) } else { Ok(Some(integer.into())) }
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
                Some(number) => Ok(Some(number.into())),
                None => Err(self.error(format!("`{}` is no finite number", self.name))),
            },
            DeValue::Table(_) => Ok(None),
            _ => Err(self.wrong("a string, a number or a boolean")),
        }
    }

    pub fn error(&self, reason: impl Into<String>) -> ConfigError {
        self.document.error(self.offset, reason)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the value stands in the text.
    pub fn span(&self) -> std::ops::Range<usize> {
        self.value.span()
    }

    fn wrong(&self, wanted: &str) -> ConfigError {
        let found = match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.error(format!("`{}` must be {wanted}, not {found}", self.name))
    }
}
