//! Names that ranks of a job on several hosts publish: `mpirun` publishes them on its machine in their place, so that
//! other jobs of the same user find them that are started there, on this machine alone or on other hosts.

use std::collections::HashMap;

use oxmpi_abi::Error;
use oxmpi_boot::names::{self, Names};
use oxmpi_boot::requests::NameRequest;

#[derive(Default)]
pub struct JobNames {
    /// By the node and the slot of the process that has published them.
    published: HashMap<(u32, u32), Names>,
}

impl JobNames {
    /// Carries out a request of a rank; what it looked up, or the class and the text of an error.
    pub fn answer(&mut self, process: (u32, u32), what: NameRequest) -> Result<Vec<u8>, (i32, String)> {
        let own = self.published.entry(process).or_default();
        let result = match what {
            NameRequest::Publish { service, port } => own.publish(&service, &port).map(|()| Vec::new()),
            NameRequest::Unpublish { service, port } => own.unpublish(&service, &port).map(|()| Vec::new()),
            NameRequest::LookUp { service } => names::look_up(&service),
            NameRequest::Clear => {
                self.published.remove(&process);
                Ok(Vec::new())
            }
        };
        result.map_err(|error: Error| (error.class(), error.text().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_publish_and_only_they_unpublish() {
        let mut names = JobNames::default();
        let service = format!("a name of a job of {}", std::process::id()).into_bytes();
        let publish = |port: &[u8]| NameRequest::Publish { service: service.clone(), port: port.to_vec() };
        let unpublish = || NameRequest::Unpublish { service: service.clone(), port: b"there".to_vec() };
        let look_up = || NameRequest::LookUp { service: service.clone() };
        assert!(names.answer((0, 1), look_up()).is_err());
        assert_eq!(names.answer((0, 0), publish(b"there")), Ok(Vec::new()));
        assert_eq!(names.answer((1, 1), look_up()), Ok(b"there".to_vec()));
        assert!(names.answer((1, 1), publish(b"elsewhere")).is_err());
        assert!(names.answer((1, 1), unpublish()).unwrap_err().1.contains("has not published"));
        assert!(names.answer((0, 0), unpublish()).is_ok());
        assert!(names.answer((0, 0), publish(b"there")).is_ok());
        assert!(names.answer((0, 0), NameRequest::Clear).is_ok());
        assert!(names.answer((0, 1), look_up()).is_err());
    }
}
