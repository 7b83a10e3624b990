//! Amounts with their unit: `256MiB`, `30s`.

use std::time::Duration;

const SIZES: [(&str, u64); 4] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
/// `ms` before `s`: the longer ending is tried first.
const TIMES: [(&str, u64); 4] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)];

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    amount(text, &SIZES).ok_or_else(|| format!("\"{}\" is no size above zero in B, KiB, MiB or GiB, such as \"256MiB\"", text.escape_debug()))
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    amount(text, &TIMES)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("\"{}\" is no time above zero in ms, s, m or h, such as \"30s\"", text.escape_debug()))
}

fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (digits, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let amount = plain.then(|| digits.parse::<u64>().ok()).flatten()?.checked_mul(*unit)?;
    (amount > 0).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_its_unit() {
        assert_eq!(bytes("256MiB"), Ok(256 << 20));
        assert_eq!(bytes("1B"), Ok(1));
        assert_eq!(bytes("64KiB"), Ok(64 << 10));
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for text in
            ["", "256", "256MB", "256mib", "-1MiB", "1.5GiB", "0B", "MiB", " 1B", "1 B", "+1B", "99999999999999999999B", "18446744073709551615GiB"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["", "30", "s", "30S", "30sec", "0s", "-1s", "1d", "1.5s", "99999999999999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
