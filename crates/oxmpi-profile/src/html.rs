//! The profile as one page that loads nothing.

use crate::json::limits;
use crate::profile::{Profile, Traffic};
use crate::text::{bytes, seconds};
use std::fmt::Write;

const HEAD: &str = "<!DOCTYPE html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>OxMPI: profile</title><style>
body { font: 15px/1.45 sans-serif; max-width: 80em; margin: 2em auto; padding: 0 1em; color: #222; background: #fff; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid #ccc; padding: .3em .8em; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; } code { font-family: monospace; }
.bar { background: #e4e9f0; width: 14em; height: .9em; } .bar div { background: #3b6ea8; height: 100%; float: left; }
.bar div.w { background: #d08a2e; } .gap { background: #fdf1dc; padding: .4em .8em; }
</style></head><body><h1>Profile</h1>
";

/// Rows and columns of the picture; more ranks share one.
const CELLS: usize = 64;

// Writing to a string never fails.
pub fn text(profile: &Profile) -> String {
    let mut page = String::from(HEAD);
    let (mpi, waited) = (profile.share(profile.time_in_mpi()), profile.share(profile.waited()));
    let _ = writeln!(
        page,
        "<p>{} ranks, {}; {:.1} % of the time in MPI, {:.1} % waiting there.</p>",
        profile.ranks.len(),
        seconds(profile.longest_run()),
        100.0 * mpi,
        100.0 * waited
    );
    for gap in profile.gaps() {
        let _ = writeln!(page, "<p class=\"gap\">{}</p>", escaped(&gap));
    }
    sites(&mut page, profile);
    ranks(&mut page, profile);
    sizes(&mut page, profile);
    matrix(&mut page, profile);
    collectives(&mut page, profile);
    page.push_str("</body></html>\n");
    page
}

/// A bar of two parts, from 0 to 1.
fn bar(first: f64, second: f64) -> String {
    let (first, second) = (100.0 * first.clamp(0.0, 1.0), 100.0 * second.clamp(0.0, 1.0));
    format!(
        "<div class=\"bar\"><div class=\"w\" style=\"width:{first:.2}%\"></div>\
         <div style=\"width:{second:.2}%\"></div></div>"
    )
}

fn sites(page: &mut String, profile: &Profile) {
    page.push_str(
        "<h2>Places</h2><p>Bars show the time against that of the first place; the orange part was waited. Imbalance is the \
         time of the rank that was longest against the mean of all ranks.</p>\n<table><tr><th>Call</th><th>Place</th>\
         <th></th><th class=\"n\">% of run</th><th class=\"n\">Time</th><th class=\"n\">Waited</th>\
         <th class=\"n\">Imbalance</th><th class=\"n\">Calls</th><th class=\"n\">Bytes</th><th class=\"n\">Ranks</th></tr>\n",
    );
    let most = profile.sites.first().map_or(1, |site| site.time.max(1)) as f64;
    for site in &profile.sites {
        let (waited, rest) = (site.waited as f64 / most, site.time.saturating_sub(site.waited) as f64 / most);
        let title = site.place.line.as_ref().map_or(site.place.module.as_str(), |(file, _)| file);
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td title=\"{}\"><code>{}</code></td><td>{}</td><td class=\"n\">{:.1}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.2}</td><td class=\"n\">{}</td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escaped(&site.function),
            escaped(title),
            escaped(&site.place.name()),
            bar(waited, rest),
            100.0 * profile.share(site.time),
            seconds(site.time),
            seconds(site.waited),
            profile.imbalance(site),
            site.count,
            bytes(site.bytes),
            site.ranks
        );
    }
    page.push_str("</table>\n");
}

fn ranks(page: &mut String, profile: &Profile) {
    page.push_str(
        "<h2>Ranks</h2><table><tr><th>Rank</th><th>Host</th><th class=\"n\">Run</th><th></th><th class=\"n\">In MPI</th>\
         <th class=\"n\">Waited</th></tr>\n",
    );
    for (index, rank) in profile.ranks.iter().enumerate() {
        let (time, waited) = rank.sites.iter().fold((0, 0), |sum, site| (sum.0 + site.time, sum.1 + site.waited));
        let run = Profile::time_of(rank).max(1) as f64;
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            profile.name_of(index),
            escaped(&rank.host),
            seconds(Profile::time_of(rank)),
            bar(waited as f64 / run, time.saturating_sub(waited) as f64 / run),
            seconds(time),
            seconds(waited)
        );
    }
    page.push_str("</table>\n");
}

fn sizes(page: &mut String, profile: &Profile) {
    page.push_str(
        "<h2>Sizes of messages</h2><p>Messages that the program has sent from rank to rank.</p>\n<table><tr>",
    );
    page.push_str("<th class=\"n\">Bytes</th><th></th><th class=\"n\">Messages</th><th class=\"n\">In all</th></tr>\n");
    let most = profile.sizes.iter().map(|size| size.messages).max().unwrap_or(0).max(1) as f64;
    for size in &profile.sizes {
        let (from, to) = limits(size.power);
        let range = if from == to { from.to_string() } else { format!("{from} to {to}") };
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{range}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            bar(0.0, size.messages as f64 / most),
            size.messages,
            bytes(size.bytes)
        );
    }
    page.push_str("</table>\n");
}

/// The picture of who sends to whom: rows are senders.
fn matrix(page: &mut String, profile: &Profile) {
    let ranks = profile.ranks.len();
    let block = ranks.div_ceil(CELLS).max(1);
    let cells = ranks.div_ceil(block).max(1);
    let mut sums = vec![Traffic::default(); cells * cells];
    for ((from, to), one) in &profile.traffic {
        let sum = &mut sums[from / block * cells + to / block];
        sum.messages += one.messages;
        sum.bytes = sum.bytes.saturating_add(one.bytes);
    }
    let most = sums.iter().map(|sum| sum.bytes).max().unwrap_or(0);
    page.push_str("<h2>Who sends to whom</h2><p>Rows are senders, columns receivers; darker is more. ");
    let _ = write!(page, "The darkest square is {}", bytes(most));
    page.push_str(match block {
        1 => ". ",
        _ => ", and a square is several ranks. ",
    });
    page.push_str(
        "Collective operations count as far as they send messages: what goes through memory that ranks share is not \
         here.</p>\n",
    );
    let side = (640 / cells).clamp(8, 40);
    let (left, size) = (50, cells * side);
    let _ = writeln!(
        page,
        "<svg width=\"{0}\" height=\"{0}\" role=\"img\" font-size=\"11\" font-family=\"sans-serif\">",
        left + size + 1
    );
    let step = cells.div_ceil(16).max(1);
    for cell in (0..cells).step_by(step) {
        let (name, middle) = (profile_name(profile, cell * block), left + cell * side + side / 2);
        let _ = writeln!(page, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{name}</text>", left - 6);
        let _ = writeln!(page, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{name}</text>", left - 6, middle + 4);
    }
    for row in 0..cells {
        for column in 0..cells {
            let sum = sums[row * cells + column];
            let depth =
                if sum.messages == 0 { 0.0 } else { 0.12 + 0.88 * (sum.bytes as f64 / most.max(1) as f64).sqrt() };
            let _ = writeln!(
                page,
                "<rect x=\"{}\" y=\"{}\" width=\"{side}\" height=\"{side}\" fill=\"#1f4e8c\" fill-opacity=\"{depth:.2}\" \
                 stroke=\"#ddd\"><title>{} to {}: {} messages, {}</title></rect>",
                left + column * side,
                left + row * side,
                profile_name(profile, row * block),
                profile_name(profile, column * block),
                sum.messages,
                bytes(sum.bytes)
            );
        }
    }
    page.push_str("</svg>\n");
}

fn profile_name(profile: &Profile, index: usize) -> String {
    if index < profile.ranks.len() { profile.name_of(index) } else { String::new() }
}

fn collectives(page: &mut String, profile: &Profile) {
    page.push_str("<h2>Collective operations</h2><table><tr><th>Call</th><th>Algorithm</th><th class=\"n\">Calls</th>");
    page.push_str("<th class=\"n\">Bytes</th><th class=\"n\">Time</th></tr>\n");
    for one in &profile.collectives {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escaped(&one.function),
            escaped(&one.algorithm),
            one.count,
            bytes(one.bytes),
            seconds(one.time)
        );
    }
    page.push_str("</table>\n");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
