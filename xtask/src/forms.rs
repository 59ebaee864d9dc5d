//! Entry points that differ only in form. A collective has a blocking function, a nonblocking one
//! (`MPI_Ibcast`) and a persistent one (`MPI_Bcast_init`); a file access has a blocking function, a
//! nonblocking one and a pair that begins and ends it. A family is found by name; its members must
//! have the same leading parameters, otherwise no code is generated. The members call one
//! handwritten function with a value for the form. `gen_capi.rs` generates the entry points around
//! these calls.

use crate::api::{Api, Function, Param};
use crate::gen_capi::{Bodies, argument};

/// The imports of an entry point that calls a function with a form.
pub const COLLECTIVE_USES: &str =
    "use oxmpi::coll::{self, Block, Blocking, Blocks, Mixed, Nonblocking, Operands, Persistent};\n";
pub const FILE_USES: &str = "use crate::bodies::file_access::FileForm;\nuse oxmpi::file::access::{Access, At};\nuse oxmpi_core::file::SplitAccess;\n";

/// A function as a member of a family.
pub struct Member {
    /// The handwritten function: `coll::bcast`.
    pub body: String,
    /// Its arguments after the context.
    pub args: Vec<String>,
    pub uses: &'static str,
    /// Whether it returns a request, which the entry point stores.
    pub makes_request: bool,
}

/// The family of a function, if it is in one.
pub fn member(function: &Function, api: &Api, bodies: &Bodies) -> Result<Option<Member>, String> {
    match collective(function, api, bodies)? {
        Some(member) => Ok(Some(member)),
        None => file_access(function, api, bodies),
    }
}

/// Checks that every collective with a form has all forms.
pub fn check(api: &Api, bodies: &Bodies) -> Result<(), String> {
    for name in bodies.formed() {
        for form in [format!("i{name}"), format!("{name}_init")] {
            let is_there = api.functions.iter().any(|f| f.name.to_lowercase() == format!("mpi_{form}"));
            if !is_there {
                return Err(format!("{name} takes a form, and there is no MPI function {form} in api/"));
            }
        }
    }
    Ok(())
}

// ---- collectives ----

fn collective(function: &Function, api: &Api, bodies: &Bodies) -> Result<Option<Member>, String> {
    let (name, twin) = split_name(function);
    let (base, form, added): (String, &str, &[&str]) = match name.strip_suffix("_init") {
        Some(base) => (base.into(), "Persistent(info)", &["info", "request"]),
        None => match name.strip_prefix('I').filter(|rest| rest.starts_with(|c: char| c.is_lowercase())) {
            Some(rest) if bodies.takes_form(rest) => (capitalised(rest), "Nonblocking", &["request"]),
            _ => (name.into(), "Blocking", &[]),
        },
    };
    if !bodies.takes_form(&base) {
        return Ok(None);
    }
    let blocking = format!("MPI_{base}{twin}");
    let leading = leading(function, api, &blocking, added)?;
    let mut args = vec![form.to_string()];
    args.extend(operands(leading));
    let body = bodies.named(&base.to_lowercase()).ok_or_else(|| format!("{base} has no body"))?;
    Ok(Some(Member { body, args, uses: COLLECTIVE_USES, makes_request: !added.is_empty() }))
}

/// `Bcast` and `_c` of `MPI_Bcast_c`.
fn split_name(function: &Function) -> (&str, &str) {
    let name = function.name.trim_start_matches("MPI_");
    match name.strip_suffix("_c") {
        Some(small) if function.is_derived_twin => (small, "_c"),
        _ => (name, ""),
    }
}

fn capitalised(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// The parameters that a function shares with the blocking one of its family; the further ones must
/// have the kinds in `added`.
fn leading<'f>(function: &'f Function, api: &Api, blocking: &str, added: &[&str]) -> Result<&'f [Param], String> {
    let base = api.functions.iter().find(|f| f.name == blocking);
    let base = base.ok_or_else(|| format!("{} has no blocking form {blocking}", function.name))?;
    same_leading(function, &base.params, added)
}

fn same_leading<'f>(function: &'f Function, wanted: &[Param], added: &[&str]) -> Result<&'f [Param], String> {
    let (leading, rest) = function.params.split_at(wanted.len().min(function.params.len()));
    let is_same = leading.iter().map(|p| &p.c_decl).eq(wanted.iter().map(|p| &p.c_decl));
    if !is_same || !rest.iter().map(|p| p.kind.as_str()).eq(added.iter().copied()) {
        return Err(format!("{} does not have the parameters of its family and then {added:?}", function.name));
    }
    Ok(leading)
}

/// The parameters as the function for all forms takes them: a buffer together with its description.
fn operands(params: &[Param]) -> Vec<String> {
    let mut list = Vec::new();
    let mut rest = params;
    while let [first, ..] = rest {
        let kinds: Vec<&str> = rest.iter().take(5).map(|p| p.kind.trim_start_matches("async_")).collect();
        let arrays: Vec<bool> = rest.iter().take(5).map(|p| p.is_array).collect();
        let used = match (&kinds[..], &arrays[..]) {
            (["buffer", "buffer", "count", "datatype", "op"], _) => {
                let [send, recv, count, datatype, op] = [0, 1, 2, 3, 4].map(|i| &rest[i]);
                list.push(format!("Operands::new({}, {}, {}, {})", send.name, recv.name, datatype.name, op.name));
                list.push(argument(count));
                5
            }
            (["buffer", "count", "datatype", ..], [_, false, ..]) => {
                list.push(format!("Block::new({}, {}, {})", first.name, argument(&rest[1]), rest[2].name));
                3
            }
            (["buffer", "count", "displ" | "aint", "datatype", ..], [_, true, true, mixed, ..]) => {
                let name = if *mixed { "Mixed" } else { "Blocks" };
                // Displacements in bytes have the same width in both twins.
                let displs = if rest[2].widens { argument(&rest[2]) } else { width_of(&rest[2]) };
                list.push(format!("{name}::new({}, {}, {displs}, {})", first.name, argument(&rest[1]), rest[3].name));
                4
            }
            _ => {
                list.push(argument(first));
                1
            }
        };
        rest = &rest[used..];
    }
    list
}

fn width_of(array: &Param) -> String {
    let width = if crate::ctype::parse(&array.c_decl).base == "int" { "narrow" } else { "wide" };
    format!("Ints::{width}({})", array.name)
}

// ---- accesses to files ----

fn file_access(function: &Function, api: &Api, bodies: &Bodies) -> Result<Option<Member>, String> {
    let (name, twin) = split_name(function);
    let Some(name) = name.strip_prefix("File_") else { return Ok(None) };
    let (is_later, name) = match name.strip_prefix('i') {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let (writes, place) = match (name.strip_prefix("read"), name.strip_prefix("write")) {
        (Some(place), _) => (false, place),
        (_, Some(place)) => (true, place),
        _ => return Ok(None),
    };
    let (place, step) = match (place.strip_suffix("_begin"), place.strip_suffix("_end")) {
        (Some(place), _) => (place, "begin"),
        (_, Some(place)) => (place, "end"),
        _ => (place, ""),
    };
    let (at, together) = match place {
        "" => ("At::Own", false),
        "_all" => ("At::Own", true),
        "_at" => ("At::Offset(offset)", false),
        "_at_all" => ("At::Offset(offset)", true),
        "_shared" => ("At::Shared", false),
        "_ordered" => ("At::Ordered", true),
        _ => return Ok(None),
    };
    let verb = if writes { "write" } else { "read" };
    let blocking = format!("MPI_File_{verb}{place}{twin}");
    let base = api.functions.iter().find(|f| f.name == blocking);
    let base = base.ok_or_else(|| format!("{} has no blocking form {blocking}", function.name))?;
    let Some((status, leading)) = base.params.split_last().filter(|(last, _)| last.kind == "status") else {
        return Err(format!("{blocking} does not end with a status"));
    };
    let split = match place.trim_end_matches("_all") {
        "_at" => "At",
        "_ordered" => "Ordered",
        _ => "",
    };
    let split = format!("SplitAccess::{}{split}", capitalised(verb));
    let body = |name: &str| bodies.named(name).ok_or_else(|| format!("there is no {name} in bodies/"));
    let form = match (is_later, step) {
        (true, "") => {
            same_leading(function, leading, &["request"])?;
            "FileForm::Nonblocking(Out::new(request))".to_string()
        }
        (false, "") => format!("FileForm::Blocking(OutStatus::new({}))", status.name),
        (false, "begin") => {
            same_leading(function, leading, &[])?;
            format!("FileForm::Split({split})")
        }
        (false, "end") => {
            let wanted: Vec<Param> =
                leading.iter().filter(|p| matches!(p.name.as_str(), "fh" | "buf")).cloned().collect();
            same_leading(function, &wanted, &["status"])?;
            let buf = if writes { "buf.cast_mut()" } else { "buf" };
            let args = vec!["fh".into(), split, buf.into(), format!("OutStatus::new({})", status.name)];
            return Ok(Some(Member { body: body("file_access_end")?, args, uses: FILE_USES, makes_request: false }));
        }
        _ => return Ok(None),
    };
    let buf = if writes { "buf: buf.cast_mut()" } else { "buf" };
    let count = leading.iter().find(|p| p.kind == "count").ok_or_else(|| format!("{blocking} has no count"))?;
    let count = match argument(count) {
        same if same == "count" => "count".to_string(),
        other => format!("count: {other}"),
    };
    let access = format!("Access {{ fh, at: {at}, writes: {writes}, together: {together}, {buf}, {count}, datatype }}");
    Ok(Some(Member { body: body("file_access")?, args: vec![form, access], uses: FILE_USES, makes_request: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    fn member_of(name: &str) -> Result<Option<Member>, String> {
        let api = Api::read(&root().join("api")).unwrap();
        let bodies = Bodies::scan().unwrap();
        member(api.functions.iter().find(|f| f.name == name).unwrap(), &api, &bodies)
    }

    fn call_of(name: &str) -> String {
        let member = member_of(name).unwrap().unwrap();
        format!("{}({})", member.body, member.args.join(", "))
    }

    #[test]
    fn the_forms_of_a_collective_call_one_function() {
        let block = "Block::new(buffer, i64::from(count), datatype), root, comm)";
        assert_eq!(call_of("MPI_Bcast"), format!("coll::bcast(Blocking, {block}"));
        assert_eq!(call_of("MPI_Ibcast"), format!("coll::bcast(Nonblocking, {block}"));
        assert_eq!(call_of("MPI_Bcast_init"), format!("coll::bcast(Persistent(info), {block}"));
        assert_eq!(
            call_of("MPI_Ireduce_scatter_c"),
            "coll::reduce_scatter(Nonblocking, Operands::new(sendbuf, recvbuf, datatype, op), \
             Ints::wide(recvcounts), comm)"
        );
        assert!(
            call_of("MPI_Neighbor_alltoallw")
                .contains("Mixed::new(sendbuf, Ints::narrow(sendcounts), Ints::wide(sdispls), sendtypes)")
        );
        assert!(
            call_of("MPI_Gatherv_c")
                .contains("Blocks::new(recvbuf, Ints::wide(recvcounts), Ints::wide(displs), recvtype)")
        );
    }

    #[test]
    fn file_accesses_are_recognised_by_name() {
        assert_eq!(
            call_of("MPI_File_iwrite_at_all"),
            "file_access::file_access(FileForm::Nonblocking(Out::new(request)), Access { fh, at: At::Offset(offset), writes: true, \
             together: true, buf: buf.cast_mut(), count: i64::from(count), datatype })"
        );
        assert_eq!(
            call_of("MPI_File_read_ordered_end"),
            "file_access::file_access_end(fh, SplitAccess::ReadOrdered, buf, OutStatus::new(status))"
        );
        assert!(
            call_of("MPI_File_write_all_begin_c")
                .contains("FileForm::Split(SplitAccess::Write), Access { fh, at: At::Own")
        );
        assert!(member_of("MPI_File_sync").unwrap().is_none());
        assert!(member_of("MPI_Send_init").unwrap().is_none());
    }

    #[test]
    fn a_family_whose_parameters_differ_is_refused() {
        let mut api = Api::read(&root().join("api")).unwrap();
        let bodies = Bodies::scan().unwrap();
        check(&api, &bodies).unwrap();
        let at = api.functions.iter().position(|f| f.name == "MPI_Ibcast").unwrap();
        let mut wrong = api.functions[at].clone();
        wrong.params.swap(1, 2);
        assert!(member(&wrong, &api, &bodies).is_err());
        wrong = api.functions[at].clone();
        wrong.params.pop();
        assert!(member(&wrong, &api, &bodies).is_err());
        api.functions.remove(at);
        assert!(check(&api, &bodies).is_err());
    }
}
