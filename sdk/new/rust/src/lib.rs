//! The plugin `%NAME%`.

use pausegate_sdk::{Call, Result, tool};

/// Greets someone.
#[tool(effects = "read-only")]
fn greet(
    /// Whom to greet.
    name: String,
) -> Result<String> {
    Ok(format!("Hello, {name}!"))
}

/// Sends a greeting, once a person has approved it.
#[tool(effects = "once")]
fn send(
    call: &Call,
    /// Whom to greet.
    name: String,
) -> Result<String> {
    // Ends the attempt until a person answered; then the function runs again from its start and gets past it.
    call.ask_approval(format!("Send a greeting to {name}"))?;
    Ok(format!("greeted {name}"))
}

pausegate_sdk::export! {
    tools: [greet, send],
}

#[cfg(test)]
mod tests {
    use pausegate_sdk::Call;

    #[test]
    fn a_greeting_has_the_name() {
        assert_eq!(super::greet("Ada".into()).unwrap(), "Hello, Ada!");
    }

    #[test]
    fn nothing_is_sent_unasked() {
        let stop = super::send(&Call::test("send"), "Ada".into()).unwrap_err();
        assert_eq!(stop.pause().unwrap().reason, "Send a greeting to Ada");
        assert_eq!(super::send(&Call::test("send").approved(), "Ada".into()).unwrap(), "greeted Ada");
    }
}
