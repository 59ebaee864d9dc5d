//! The report for machines.

use crate::report::Group;
use std::fmt::Write;

/// Changes when a field changes its meaning or goes away.
const VERSION: u32 = 1;

pub fn text(groups: &[Group], lost: u64) -> String {
    let mut text = format!("{{\n  \"version\": {VERSION},\n  \"lost\": {lost},\n  \"findings\": [");
    for (index, group) in groups.iter().enumerate() {
        let ranks: Vec<String> = group.ranks.iter().map(usize::to_string).collect();
        let place = group.place.as_deref().map_or_else(|| "null".into(), quoted);
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}\n    {{\"name\": {}, \"ranks\": [{}], \"text\": {}, \"place\": {place}}}",
            quoted(group.finding.name),
            ranks.join(", "),
            quoted(&group.finding.text)
        );
    }
    text.push_str("\n  ]\n}\n");
    text
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
