//! The helper of a process that was started without `mpirun`: `mpirun` itself under another option, as its agent.

use oxmpi_base::address::JobId;

/// The option; its values are the descriptor of the socket that the two share, and the segment of the process.
pub const OPTION: &str = "--helper";

/// The segment of a job of this machine, as a word of a command line.
pub fn name_segment(job: &JobId) -> String {
    format!("{}:{}:{}", job.inode, job.holder, job.fd)
}

/// Reads such a word; `None` if it is none.
pub fn read_segment(word: &str) -> Option<JobId> {
    let mut parts = word.split(':');
    let job = JobId::here(parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_have_names() {
        let job = JobId::here(u64::MAX, 77, 3);
        assert_eq!(read_segment(&name_segment(&job)), Some(job));
        for bad in ["", "1", "1:2", "1:2:3:4", "1:2:x", "1:-2:3"] {
            assert_eq!(read_segment(bad), None, "{bad}");
        }
    }
}
