//! The report as one page.

use crate::catalogue;
use crate::report::{Group, ranks};
use std::fmt::Write;

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>OxMPI: findings of --check</title><style>
body { font: 15px/1.45 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: .4em .8em; text-align: left; vertical-align: top; }
code, pre { font-family: monospace; } pre { background: #f4f4f4; padding: .8em; overflow-x: auto; }
</style></head><body><h1>Findings of --check</h1>
";

pub fn text(groups: &[Group], lost: u64) -> String {
    let mut page = String::from(HEAD);
    if groups.is_empty() {
        page.push_str("<p>Nothing was found.</p>\n");
    } else {
        page.push_str("<table><tr><th>Name</th><th>Ranks</th><th>What</th><th>Where</th></tr>\n");
        for group in groups {
            let (name, text) = (group.finding.name, escaped(&group.finding.text));
            let place = escaped(group.place.as_deref().unwrap_or_default());
            let ranks = ranks(&group.ranks);
            let _ = writeln!(
                page,
                "<tr><td><a href=\"#{name}\">{name}</a></td><td>{ranks}</td><td>{text}</td><td>{place}</td></tr>"
            );
        }
        page.push_str("</table>\n");
    }
    if lost > 0 {
        let _ = writeln!(page, "<p>{lost} more findings were not kept.</p>");
    }
    for entry in catalogue::ALL {
        if groups.iter().any(|group| group.finding.name == entry.name) {
            let (wrong, right) = (escaped(entry.wrong), escaped(entry.right));
            let _ = writeln!(
                page,
                "<h2 id=\"{0}\">{0}</h2><p>{1}</p><h3>Wrong</h3><pre>{wrong}</pre><h3>Right</h3><pre>{right}</pre>",
                entry.name,
                escaped(entry.about)
            );
        }
    }
    page.push_str("</body></html>\n");
    page
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
