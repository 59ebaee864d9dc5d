//! The environment of the ranks. Variables that describe another job, of OxMPI or of another
//! launcher, are removed. So launches can be nested, and a program never believes that it belongs
//! to the outer job. Variables for tuning are kept.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use oxmpi_boot::env as ours;

use crate::options::{Block, Env, Pass, Settings};
use oxmpi_boot::compat;

/// The environment of a program's ranks, as `NAME=VALUE`, without the variables that differ from
/// rank to rank.
pub fn of_block(settings: &Settings, block: &Block) -> Vec<CString> {
    build(std::env::vars_os(), &settings.env, &block.env, compat::folder().as_deref())
}

fn build(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    global: &Env,
    local: &Env,
    compat: Option<&Path>,
) -> Vec<CString> {
    let pass = local.pass.as_ref().or(global.pass.as_ref()).unwrap_or(&Pass::All);
    let exported = |name: &OsStr| global.export.iter().chain(&local.export).any(|pattern| matches(pattern, name));
    let passes = |name: &OsStr| match pass {
        Pass::All => true,
        Pass::Nothing => exported(name),
        Pass::Only(names) => names.iter().any(|listed| listed == name) || exported(name),
    };
    let mut vars: Vec<(OsString, OsString)> =
        inherited.filter(|(name, _)| !tells_of_a_job(name) && passes(name)).collect();
    // The settings of one program override those of the job.
    for (name, value) in global.set.iter().chain(&local.set) {
        vars.retain(|(known, _)| known != name);
        vars.push((name.clone(), value.clone()));
    }
    let of = |wanted: &str| vars.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_os_str());
    let search = compat::search(compat, of(compat::SWITCH), of(compat::SEARCH));
    vars.retain(|(name, _)| name != compat::SEARCH);
    vars.extend(search.map(|search| (compat::SEARCH.into(), search)));
    vars.iter().filter_map(|(name, value)| entry(name, value)).collect()
}

/// `NAME=VALUE`; `None` if it contains a NUL byte, which can be neither inherited nor typed.
pub fn entry(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Option<CString> {
    let mut bytes = name.as_ref().as_bytes().to_vec();
    bytes.push(b'=');
    bytes.extend_from_slice(value.as_ref().as_bytes());
    CString::new(bytes).ok()
}

/// `NAME`, or `PREFIX*`.
fn matches(pattern: &OsStr, name: &OsStr) -> bool {
    match pattern.as_bytes().strip_suffix(b"*") {
        Some(prefix) => name.as_bytes().starts_with(prefix),
        None => pattern == name,
    }
}

/// Variables with which launchers tell a process its rank and job. Variables for tuning
/// (`OMPI_MCA_btl`, `HYDRA_…`, `I_MPI_…`, `SLURM_JOB_ID`) are not among them.
fn tells_of_a_job(name: &OsStr) -> bool {
    const NAMES: [&str; 15] = [
        "OMPI_UNIVERSE_SIZE",
        "OMPI_APP_CTX_NUM_PROCS",
        "OMPI_FIRST_RANKS",
        "OMPI_NUM_APP_CTX",
        "OMPI_FILE_LOCATION",
        "OMPI_COMMAND",
        "OMPI_ARGV",
        "MPI_LOCALRANKID",
        "MPI_LOCALNRANKS",
        "FLUX_TASK_RANK",
        "FLUX_TASK_LOCAL_ID",
        "PALS_RANKID",
        "PALS_NODEID",
        "SLURM_PROCID",
        "SLURM_LOCALID",
    ];
    const PREFIXES: [&str; 13] = [
        "PMI_",
        "PMI2_",
        "PMIX_",
        "HYDI_",
        "OMPI_COMM_WORLD_",
        "OMPI_MCA_orte_",
        "OMPI_MCA_ess",
        "OMPI_MCA_pmix",
        "OMPI_MCA_prte_",
        "OMPI_MCA_mpi_yield_when_idle",
        "PRTE_MCA_ess",
        "MV2_COMM_WORLD_",
        "JSM_NAMESPACE_",
    ];
    let Some(name) = name.to_str() else { return false };
    ours::ALL.contains(&name) || NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(inherited: &[(&str, &str)], global: &Env, local: &Env) -> Vec<String> {
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
        build(inherited, global, local, None).into_iter().map(|entry| entry.into_string().unwrap()).collect()
    }

    #[test]
    fn everything_passes_but_what_tells_of_a_job() {
        let inherited = [
            ("HOME", "/h"),
            ("OXMPI_RANK", "3"),
            ("OXMPI_JOB", "1:2:3"),
            ("OXMPI_EXPLAIN", "1"),
            ("PMI_RANK", "3"),
            ("PMIX_NAMESPACE", "x"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_MCA_btl", "self"),
            ("SLURM_JOB_ID", "7"),
        ];
        let left = built(&inherited, &Env::default(), &Env::default());
        assert_eq!(left, ["HOME=/h", "OXMPI_EXPLAIN=1", "OMPI_MCA_btl=self", "SLURM_JOB_ID=7"]);
    }

    #[test]
    fn ranks_search_the_folder_of_other_abis_first() {
        let with = |inherited: &[(&str, &str)]| {
            let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
            let built = build(inherited, &Env::default(), &Env::default(), Some(Path::new("/c")));
            built.into_iter().map(|entry| entry.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(with(&[("LD_LIBRARY_PATH", "/a")]), ["LD_LIBRARY_PATH=/c:/a"]);
        assert_eq!(with(&[("A", "1")]), ["A=1", "LD_LIBRARY_PATH=/c"]);
        let off = with(&[("OXMPI_COMPAT", "0"), ("LD_LIBRARY_PATH", "/a")]);
        assert_eq!(off, ["OXMPI_COMPAT=0", "LD_LIBRARY_PATH=/a"]);
    }

    #[test]
    fn what_is_set_wins_and_what_is_narrowed_is_narrow() {
        let inherited = [("A", "1"), ("B", "2"), ("C", "3")];
        let global = Env { set: vec![("A".into(), "g".into()), ("B".into(), "g".into())], ..Env::default() };
        let local = Env { set: vec![("B".into(), "l".into())], ..Env::default() };
        assert_eq!(built(&inherited, &global, &local), ["C=3", "A=g", "B=l"]);
        let only = Env { pass: Some(Pass::Only(vec!["C".into()])), ..Env::default() };
        assert_eq!(built(&inherited, &only, &Env::default()), ["C=3"]);
        let none = Env { pass: Some(Pass::Nothing), export: vec!["B".into()], ..Env::default() };
        assert_eq!(built(&inherited, &Env::default(), &none), ["B=2"]);
        let all = Env { pass: Some(Pass::All), ..Env::default() };
        assert_eq!(built(&inherited, &only, &all).len(), 3);
    }
}
