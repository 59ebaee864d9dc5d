//! The text of `--help`, laid out from the table of options.

use super::table::{GROUPS, Spec, dashed};

const WIDTH: usize = 100;
const COLUMN: usize = 34;

pub fn text(program: &str) -> String {
    let mut out = format!(
        "{program} starts the ranks of an MPI program on this machine.\n\n\
         Usage: {program} [-n N] [options] PROGRAM [arguments]\n\
         \x20      {program} [options] -n N PROGRAM [arguments] : -n N PROGRAM [arguments] : …\n\n\
         Options may be written with one dash or two, and `--name=value` or `--name value`. `--` ends them.\n"
    );
    for group in &GROUPS {
        out.push_str(&format!("\n{}:\n", group.title));
        group.specs.iter().for_each(|spec| entry(&mut out, spec));
    }
    out.push_str(
        "\nA rank finds its place in the environment: OXMPI_RANK, OXMPI_SIZE, OXMPI_LOCAL_RANK, OXMPI_LOCAL_SIZE,\n\
         OXMPI_APPNUM.\n\n\
         Exit status: 0 when every rank ended well, those of spawned jobs too; else that of the rank that failed: its\n\
         exit status, 128 + N when signal N killed it, the code given to MPI_Abort (never 0). 124 after --timeout,\n\
         126 and 127 when a program cannot be run or found, 2 for a mistake on the command line.\n",
    );
    out
}

fn entry(out: &mut String, spec: &Spec) {
    // What has no help of its own is told by a neighbour, or is there for old scripts only.
    if spec.help.is_empty() {
        return;
    }
    let names: Vec<String> = spec.names.iter().map(|name| dashed(name)).collect();
    let mut head = format!("  {}", names.join(", "));
    for value in spec.values {
        head.push(' ');
        head.push_str(value);
    }
    if head.chars().count() > COLUMN - 2 {
        out.push_str(&head);
        out.push('\n');
        head.clear();
    }
    let mut line = format!("{head:COLUMN$}");
    let mut fresh = true;
    for word in spec.help.split_whitespace() {
        if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = " ".repeat(COLUMN);
            fresh = true;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
        fresh = false;
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_readable_on_a_terminal() {
        let text = text("mpirun");
        for line in text.lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
        for must in ["-n, -np, -c N", "--bind-to", "--timeout SECONDS", "OXMPI_RANK", "124"] {
            assert!(text.contains(must), "{must}");
        }
    }
}
