//! Formats the text of `--help` from the table of options.

use super::table::{GROUPS, Spec, dashed};

const WIDTH: usize = 100;
const COLUMN: usize = 34;

pub fn text(program: &str) -> String {
    let mut out = format!(
        "{program} starts the ranks of an MPI program, on this machine or on several hosts, and waits for them.\n\n\
         Usage: {program} [-n N] [options] PROGRAM [arguments]\n\
         \x20      {program} [options] -n N PROGRAM [arguments] : -n N PROGRAM [arguments] : …\n\n\
         Options take one dash or two, and `--name value` or `--name=value`. `--` ends the options.\n"
    );
    for group in &GROUPS {
        out.push_str(&format!("\n{}:\n", group.title));
        group.specs.iter().for_each(|spec| entry(&mut out, spec));
    }
    out.push_str(
        "\nEnvironment: each rank gets OXMPI_RANK, OXMPI_SIZE, OXMPI_LOCAL_RANK, OXMPI_LOCAL_SIZE and OXMPI_APPNUM.\n\n\
         Signals: Ctrl-C stops the job and prints the MPI call that each rank is in; a second Ctrl-C kills the\n\
         ranks at once. SIGQUIT (Ctrl-\\) prints it and lets the job go on; a second one within 2 s ends it.\n\
         SIGUSR1 and SIGUSR2 are sent on to the ranks.\n\n\
         Exit status:\n\
         \x20 0         all ranks ended with status 0, including those of spawned jobs; with --with-ft, at least one\n\
         \x20 1 to 255  the exit status of the rank that failed first, or the code given to MPI_Abort (1 instead of 0)\n\
         \x20 128 + N   signal N killed a rank, or ended mpirun (130 after Ctrl-C)\n\
         \x20 121       the ranks wait for each other for ever (OXMPI_DEADLOCK=report or off: the job goes on)\n\
         \x20 122       with --check=error: the job ended well, and something is wrong with the program\n\
         \x20 124       the limit of --timeout was reached\n\
         \x20 126, 127  a program cannot be run, or was not found\n\
         \x20 2         the command line is wrong\n",
    );
    out
}

fn entry(out: &mut String, spec: &Spec) {
    // An option without help is explained by another option, or exists for old scripts only.
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
