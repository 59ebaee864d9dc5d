//! The Markdown reader of `docs.rs`: links, headings, command lines and names of variables. It is
//! not a complete parser: it knows the forms that the project's pages use (inline links and images,
//! `#` headings, fenced code).

use std::collections::BTreeSet;

#[derive(Debug, PartialEq, Eq)]
pub struct Link {
    pub target: String,
}

/// The parts of a page that can be checked.
#[derive(Default)]
pub struct Page {
    pub links: Vec<Link>,
    /// The anchors of the page.
    pub anchors: BTreeSet<String>,
    /// The lines after `$ ` of blocks marked `console`.
    pub commands: Vec<String>,
    /// Code within a line.
    pub code: Vec<String>,
    /// The environment variables of OxMPI that the page names.
    pub variables: BTreeSet<String>,
}

impl Page {
    pub fn parse(text: &str) -> Page {
        let mut page = Page { variables: variables(text), ..Page::default() };
        let mut fence: Option<&str> = None;
        for line in text.lines() {
            let trimmed = line.trim_start();
            if let Some(language) = trimmed.strip_prefix("```") {
                fence = if fence.is_some() { None } else { Some(language.trim()) };
                continue;
            }
            match fence {
                Some("console") => page.commands.extend(trimmed.strip_prefix("$ ").map(str::to_owned)),
                Some(_) => {}
                None => page.line(line),
            }
        }
        page
    }

    fn line(&mut self, line: &str) {
        let mut prose = String::new();
        for (index, part) in line.split('`').enumerate() {
            match index % 2 {
                0 => prose.push_str(part),
                _ => self.code.push(part.to_owned()),
            }
        }
        if line.starts_with('#') {
            self.heading(line.trim_start_matches('#').trim());
        }
        for rest in prose.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            self.links.push(Link { target: target.to_owned() });
        }
    }

    /// The anchor of a second heading with the same text has a number at its end.
    fn heading(&mut self, text: &str) {
        let name = anchor(text);
        let numbered = (1..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

/// The anchor of a heading, as both mdBook and code hosting sites make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// The words of a text that begin with `OXMPI_`, in capitals.
pub fn variables(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_variable = |word: &&str| {
        word.strip_prefix("OXMPI_")
            .is_some_and(|rest| !rest.is_empty() && !rest.contains(|c: char| c.is_ascii_lowercase()))
    };
    words.filter(is_variable).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let page = Page::parse("a [b](c.md) `[d](e.md)` ![f](g.svg)\n```c\n[h](i.md)\n```\n[`j`](k.md#l \"title\")\n");
        let targets: Vec<&str> = page.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, ["c.md", "g.svg", "k.md#l"]);
    }

    #[test]
    fn headings_become_anchors() {
        let page =
            Page::parse("# How OxMPI is built\n## The `x_y`: why?\n## Same\n## Same\n```sh\n# no heading\n```\n");
        let expected = ["how-oxmpi-is-built", "the-x_y-why", "same", "same-1"];
        assert_eq!(page.anchors, expected.map(str::to_owned).into());
    }

    #[test]
    fn commands_and_variables_are_found() {
        let page = Page::parse(
            "```console\n$ mpirun -n 2 a\noutput\n```\n```text\n$ no\n```\nOXMPI_CC and `OXMPI_X`, oxmpi_y\n",
        );
        assert_eq!(page.commands, ["mpirun -n 2 a"]);
        assert_eq!(page.variables, ["OXMPI_CC", "OXMPI_X"].map(str::to_owned).into());
    }
}
