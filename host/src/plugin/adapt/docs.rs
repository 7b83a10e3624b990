//! The docs that a component brings along, in a section `package-docs`: hostile text, read as far as it is understood.

use serde_json::Value;
use wasmparser::{Parser, Payload};

/// Bytes of the section that are read; more of it is as none.
pub const BYTES_MAX: usize = 1 << 20;
const SECTION: &str = "package-docs";

#[derive(Default)]
pub struct Docs(Value);

impl Docs {
    /// The first byte is a version of JSON that only adds.
    pub fn read(component: &[u8]) -> Self {
        let sections = Parser::new(0).parse_all(component).map_while(Result::ok);
        let found = sections.filter_map(|payload| match payload {
            Payload::CustomSection(section) if section.name() == SECTION && section.data().len() <= BYTES_MAX => {
                serde_json::from_slice(section.data().get(1..)?).ok()
            }
            _ => None,
        });
        Self(found.last().unwrap_or_default())
    }

    /// What stands above a function, of an interface or of the world itself.
    pub fn function(&self, interface: Option<&str>, name: &str) -> Option<String> {
        let said = |function: &Value| {
            let text = function.as_str().or_else(|| function.get("docs")?.as_str())?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        match interface {
            Some(interface) => said(&self.0["interfaces"][super::short(interface)]["funcs"][name]),
            None => {
                let worlds = self.0["worlds"].as_object()?;
                worlds.values().find_map(|world| said(&world["func_exports"][name]).or_else(|| said(&world["funcs"][name])))
            }
        }
    }
}
