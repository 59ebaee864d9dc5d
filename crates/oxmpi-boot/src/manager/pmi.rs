//! The wire protocols PMI-1 and PMI-2: lines and records of `key=value` over a socket that the launcher left open
//! (`PMI_FD`) or listens at (`PMI_PORT`). Hydra (MPICH, Intel MPI), Flux and `srun --mpi=pmi2` speak them.
//!
//! PMI-1 is asked for first, since all of them speak it; a manager that wants PMI-2 says so in its first answer. Managers
//! differ: `rc` may be missing, values are as long as `get_maxes` says, the size of the universe may be -1. Whatever else
//! comes is an error that quotes it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use oxmpi_base::socket;

use super::{Manager, Told};

/// Longer lines and records are no answer of a manager.
const LONGEST: usize = 1 << 20;
/// The longest value of PMI-2, which has no question for it, and of a PMI-1 manager that does not say it.
const USUAL_VALUE: usize = 1024;
/// Bytes of an answer that an error quotes.
const QUOTED: usize = 120;

trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

type Result<T> = std::result::Result<T, String>;

pub struct Pmi {
    wire: Wire,
    version: Version,
    told: Told,
    most_bytes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Whether the environment names a PMI manager.
pub fn is_there(var: &impl Fn(&str) -> Option<String>) -> bool {
    var("PMI_FD").is_some() || var("PMI_PORT").is_some()
}

/// Reaches the manager that the environment names. `launcher`: its name.
pub fn connect(var: &impl Fn(&str) -> Option<String>, launcher: &str) -> Result<Pmi> {
    let number = |name: &str| -> Result<usize> {
        let text = var(name).unwrap_or_default();
        let number = text.trim().parse().ok().filter(|&number: &usize| number < i32::MAX as usize);
        number.ok_or_else(|| format!("{name} is \"{text}\" and should be a number"))
    };
    if let Some(text) = var("PMI_FD") {
        let socket = text.trim().parse().ok().and_then(socket::inherited).ok_or_else(|| {
            format!(
                "PMI_FD is \"{text}\", which is no open socket here: either a program between the launcher and this one \
                 has closed it, or a rank of the job has started this program (unset PMI_FD to run it alone)"
            )
        })?;
        let rank = number("PMI_RANK").or_else(|error| number("PMI_ID").map_err(|_| error))?;
        return Pmi::new(Box::new(UnixStream::from(socket)), rank, number("PMI_SIZE")?, launcher);
    }
    let at = var("PMI_PORT").unwrap_or_default();
    let stream = TcpStream::connect(at.trim()).map_err(|error| format!("PMI_PORT is \"{at}\": {error}"))?;
    let mut wire = Wire::new(Box::new(stream));
    let (rank, size) = wire.introduce(number("PMI_ID")?)?;
    Pmi::over(wire, rank, size, launcher)
}

impl Pmi {
    fn new(stream: Box<dyn Stream>, rank: usize, size: usize, launcher: &str) -> Result<Pmi> {
        Pmi::over(Wire::new(stream), rank, size, launcher)
    }

    fn over(mut wire: Wire, rank: usize, size: usize, launcher: &str) -> Result<Pmi> {
        if rank >= size {
            return Err(format!("it says that this process is rank {rank} of {size}"));
        }
        let version = wire.init()?;
        let launcher = format!("{launcher} ({})", if version == Version::One { "PMI-1" } else { "PMI-2" });
        let told = Told { launcher, rank, size, appnum: 0, universe_size: None, job: String::new() };
        let mut pmi = Pmi { wire, version, told, most_bytes: USUAL_VALUE };
        match version {
            Version::One => pmi.learn_1()?,
            Version::Two => pmi.learn_2()?,
        }
        if pmi.told.job.is_empty() {
            return Err("it gives the job no name".into());
        }
        Ok(pmi)
    }

    fn learn_1(&mut self) -> Result<()> {
        let maxes = self.wire.ask("cmd=get_maxes", "maxes")?;
        if let Some(most) = maxes.number("vallen_max") {
            self.most_bytes = usize::try_from(most).unwrap_or(0);
        }
        // Some managers have no answer but an error to these two.
        let appnum = self.wire.ask_anything("cmd=get_appnum")?.number("appnum");
        self.told.appnum =
            appnum.and_then(|number| i32::try_from(number).ok()).filter(|&number| number >= 0).unwrap_or(0);
        let universe = self.wire.ask_anything("cmd=get_universe_size")?.number("size");
        self.told.universe_size = universe.and_then(|size| usize::try_from(size).ok()).filter(|&size| size > 0);
        self.told.job = self.wire.ask("cmd=get_my_kvsname", "my_kvsname")?.text("kvsname")?.into();
        Ok(())
    }

    fn learn_2(&mut self) -> Result<()> {
        let Told { rank, size, .. } = self.told;
        let answer = self.wire.ask_2(&format!("cmd=fullinit;pmirank={rank};threaded=FALSE;"), "fullinit-response")?;
        if let Some(said) = answer.number("size").filter(|&said| usize::try_from(said) != Ok(size)) {
            return Err(format!("PMI_SIZE is {size}, and it says {said}"));
        }
        let appnum = answer.number("appnum").and_then(|number| i32::try_from(number).ok());
        self.told.appnum = appnum.filter(|&number| number >= 0).unwrap_or(0);
        self.told.job = self.wire.ask_2("cmd=job-getid;", "job-getid-response")?.text("jobid")?.into();
        let universe = self.wire.ask_2("cmd=info-getjobattr;key=universeSize;", "info-getjobattr-response")?;
        let universe = universe.number("value").and_then(|size| usize::try_from(size).ok());
        self.told.universe_size = universe.filter(|&size| size > 0);
        Ok(())
    }
}

impl Manager for Pmi {
    fn told(&self) -> &Told {
        &self.told
    }

    fn most_bytes(&self) -> usize {
        self.most_bytes
    }

    fn put(&mut self, key: &str, value: &str) -> Result<()> {
        if value.len() > self.most_bytes {
            return Err(format!(
                "a value of {} bytes is longer than the {} that it takes",
                value.len(),
                self.most_bytes
            ));
        }
        match self.version {
            Version::One => {
                let line = format!("cmd=put kvsname={} key={key} value={value}", self.told.job);
                self.wire.ask(&line, "put_result")
            }
            Version::Two => self.wire.ask_2(&format!("cmd=kvs-put;key={key};value={value};"), "kvs-put-response"),
        }
        .map(drop)
    }

    fn fence(&mut self) -> Result<()> {
        match self.version {
            Version::One => self.wire.ask("cmd=barrier_in", "barrier_out"),
            Version::Two => self.wire.ask_2("cmd=kvs-fence;", "kvs-fence-response"),
        }
        .map(drop)
    }

    fn get(&mut self, _owner: usize, key: &str) -> Result<String> {
        let job = &self.told.job;
        let answer = match self.version {
            Version::One => self.wire.ask(&format!("cmd=get kvsname={job} key={key}"), "get_result")?,
            Version::Two => {
                let answer =
                    self.wire.ask_2(&format!("cmd=kvs-get;jobid={job};srcid=-1;key={key};"), "kvs-get-response")?;
                let is_found = |name| answer.get(name).is_none_or(|word| word.eq_ignore_ascii_case("TRUE"));
                if !is_found("found") || !is_found("flag") {
                    return Err(format!("it has no value for {key}"));
                }
                answer
            }
        };
        Ok(answer.text("value")?.into())
    }

    fn abort(&mut self, code: i32, text: &str) {
        // It is told as far as that goes: a manager that does not hear it sees the status of this process.
        let _ = match self.version {
            Version::One => self.wire.say(&format!("cmd=abort exitcode={code}")),
            Version::Two => {
                let text: String = text.chars().filter(|c| !c.is_control() && *c != ';').take(200).collect();
                self.wire.say_2(&format!("cmd=abort;isworld=TRUE;msg={text};"))
            }
        };
    }

    fn finish(&mut self) {
        // One that has gone meanwhile needs to hear nothing.
        let _ = match self.version {
            Version::One => self.wire.ask("cmd=finalize", "finalize_ack"),
            Version::Two => self.wire.ask_2("cmd=finalize;", "finalize-response"),
        };
    }
}

/// The stream to a manager, with the bytes that have come and were not used yet.
struct Wire {
    stream: Box<dyn Stream>,
    got: Vec<u8>,
}

impl Wire {
    fn new(stream: Box<dyn Stream>) -> Wire {
        Wire { stream, got: Vec::new() }
    }

    /// Agrees on the version.
    fn init(&mut self) -> Result<Version> {
        let first = self.ask_anything("cmd=init pmi_version=1 pmi_subversion=1")?;
        first.expect_cmd("response_to_init")?;
        let wants_2 = first.number("pmi_version") == Some(2);
        if !wants_2 {
            first.expect_success()?;
            return Ok(Version::One);
        }
        self.ask("cmd=init pmi_version=2 pmi_subversion=0", "response_to_init")?;
        Ok(Version::Two)
    }

    /// Says which process this is, over a connection to `PMI_PORT`; the rank and the size come in lines of their own.
    fn introduce(&mut self, id: usize) -> Result<(usize, usize)> {
        self.ask(&format!("cmd=initack pmiid={id}"), "initack")?;
        let (mut rank, mut size) = (None, None);
        // `debug` comes, too, in any order, and is the last one of Hydra.
        for _ in 0..3 {
            let line = self.hear()?;
            line.expect_cmd("set")?;
            let number = |name: &str| line.number(name).and_then(|number| usize::try_from(number).ok());
            rank = rank.or(number("rank"));
            size = size.or(number("size"));
        }
        match (rank, size) {
            (Some(rank), Some(size)) => Ok((rank, size)),
            _ => Err("it does not say which rank this process has".into()),
        }
    }

    fn ask(&mut self, line: &str, answer: &str) -> Result<Answer> {
        let heard = self.ask_anything(line)?;
        heard.expect_cmd(answer)?;
        heard.expect_success()?;
        Ok(heard)
    }

    fn ask_anything(&mut self, line: &str) -> Result<Answer> {
        self.say(line)?;
        self.hear()
    }

    fn say(&mut self, line: &str) -> Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    fn hear(&mut self) -> Result<Answer> {
        loop {
            if let Some(end) = self.got.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.got.drain(..=end).collect();
                return Answer::read(&line[..end], ' ');
            }
            self.read_more()?;
        }
    }

    fn ask_2(&mut self, record: &str, answer: &str) -> Result<Answer> {
        self.say_2(record)?;
        let heard = self.hear_2()?;
        heard.expect_cmd(answer)?;
        heard.expect_success()?;
        Ok(heard)
    }

    fn say_2(&mut self, record: &str) -> Result<()> {
        self.write(format!("{:6}{record}", record.len()).as_bytes())
    }

    fn hear_2(&mut self) -> Result<Answer> {
        const HEAD: usize = 6;
        loop {
            if let Some(head) = self.got.first_chunk::<HEAD>() {
                let text = String::from_utf8_lossy(head);
                let length: usize =
                    text.trim().parse().map_err(|_| format!("it answers with a record of length \"{text}\""))?;
                if self.got.len() >= HEAD + length {
                    let record: Vec<u8> = self.got.drain(..HEAD + length).skip(HEAD).collect();
                    return Answer::read(&record, ';');
                }
            }
            self.read_more()?;
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).map_err(|error| gone(&error))
    }

    fn read_more(&mut self) -> Result<()> {
        if self.got.len() > LONGEST {
            return Err(format!("it answers with more than {LONGEST} bytes"));
        }
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err("it has closed the connection".into()),
            Ok(count) => {
                self.got.extend_from_slice(&bytes[..count]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(gone(&error)),
        }
    }
}

fn gone(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => "it has closed the connection".into(),
        _ => format!("the connection to it fails: {error}"),
    }
}

/// The words of an answer.
struct Answer {
    words: Vec<(String, String)>,
    whole: String,
}

impl Answer {
    fn read(bytes: &[u8], between: char) -> Result<Answer> {
        let whole = String::from_utf8_lossy(bytes).into_owned();
        let word = |word: &str| word.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
        let words = whole.split(between).filter_map(|text| word(text.trim())).collect();
        Ok(Answer { words, whole })
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.words.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.parse().ok()
    }

    fn text(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| format!("{name} is missing in its answer \"{}\"", self.quoted()))
    }

    fn expect_cmd(&self, expected: &str) -> Result<()> {
        match self.get("cmd") {
            Some(cmd) if cmd == expected => Ok(()),
            _ => Err(format!("it answers \"{}\" where {expected} was expected", self.quoted())),
        }
    }

    fn expect_success(&self) -> Result<()> {
        match self.get("rc") {
            None | Some("0") => Ok(()),
            Some(_) => Err(format!("it answers \"{}\"", self.quoted())),
        }
    }

    fn quoted(&self) -> String {
        let plain = |c: char| if c.is_control() { '?' } else { c };
        self.whole.chars().map(plain).take(QUOTED).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsRawFd;
    use std::thread;

    /// A manager that answers each line, or record, by a rule, until there is none.
    fn server(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut lines = BufReader::new(theirs.try_clone().unwrap());
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|count| count > 0) {
                match answer(line.trim_end()) {
                    Some(text) => (&theirs).write_all(text.as_bytes()).unwrap(),
                    None => return,
                }
                line.clear();
            }
        });
        ours
    }

    fn usual(line: &str) -> Option<String> {
        let text = match line.split(' ').next()? {
            "cmd=init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
            "cmd=get_maxes" => "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=128",
            "cmd=get_appnum" => "cmd=appnum appnum=3",
            "cmd=get_universe_size" => "cmd=universe_size size=-1",
            "cmd=get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_1_2",
            "cmd=barrier_in" => "cmd=barrier_out",
            "cmd=put" => "cmd=put_result rc=0 msg=success",
            "cmd=get" if line.ends_with("key=a") => "cmd=get_result rc=0 msg=success value=x=y",
            "cmd=get" => "cmd=get_result rc=-1 msg=key_not_found",
            "cmd=finalize" => "cmd=finalize_ack",
            _ => return None,
        };
        Some(format!("{text}\n"))
    }

    fn reach(answer: impl Fn(&str) -> Option<String> + Send + 'static) -> Result<Pmi> {
        Pmi::new(Box::new(server(answer)), 1, 4, "Hydra")
    }

    #[test]
    fn a_manager_is_asked_and_answers() {
        let mut pmi = reach(usual).unwrap();
        let told = Told {
            launcher: "Hydra (PMI-1)".into(),
            rank: 1,
            size: 4,
            appnum: 3,
            universe_size: None,
            job: "kvs_1_2".into(),
        };
        assert_eq!(*pmi.told(), told);
        pmi.put("a", "b").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get(0, "a").unwrap(), "x=y");
        assert!(pmi.get(0, "b").unwrap_err().contains("key_not_found"));
        let error = pmi.put("a", &"x".repeat(129)).unwrap_err();
        assert!(error.contains("129 bytes is longer than the 128"), "{error}");
        pmi.finish();
        pmi.abort(3, "after the end");
    }

    #[test]
    fn what_a_manager_does_wrong_is_said() {
        let wrong = |at: &'static str, text: &'static str| {
            let answer = move |line: &str| {
                if line.starts_with(at) { Some(format!("{text}\n")).filter(|_| !text.is_empty()) } else { usual(line) }
            };
            reach(answer).map(drop).unwrap_err()
        };
        assert!(wrong("cmd=init", "").contains("closed the connection"));
        assert!(wrong("cmd=init", "cmd=response_to_init rc=-1").contains("rc=-1"));
        assert!(wrong("cmd=get_maxes", "hello").contains("\"hello\" where maxes was expected"));
        assert!(wrong("cmd=get_my_kvsname", "cmd=my_kvsname").contains("kvsname is missing"));
        assert!(wrong("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=").contains("no name"));
        let (stream, _) = UnixStream::pair().unwrap();
        assert!(Pmi::new(Box::new(stream), 4, 4, "x").map(drop).unwrap_err().contains("rank 4 of 4"));
    }

    /// Records of PMI-2 have no ends of lines, so this one reads them as they come.
    #[test]
    fn a_manager_may_want_the_second_version() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut wire = Wire::new(Box::new(theirs));
            for answer in ["pmi_version=2 pmi_subversion=0 rc=-1", "pmi_version=2 pmi_subversion=0 rc=0"] {
                wire.hear().unwrap();
                wire.say(&format!("cmd=response_to_init {answer}")).unwrap();
            }
            while let Ok(question) = wire.hear_2() {
                let cmd = question.get("cmd").unwrap().to_string();
                let rest = match cmd.as_str() {
                    "fullinit" => "rank=1;size=4;appnum=0;",
                    "job-getid" => "jobid=7.0;",
                    "info-getjobattr" => "found=TRUE;value=9;",
                    "kvs-get" if question.get("key") == Some("a") => "found=TRUE;value=v;",
                    "kvs-get" => "found=FALSE;",
                    _ => "",
                };
                wire.say_2(&format!("cmd={cmd}-response;{rest}rc=0;")).unwrap();
            }
        });
        let mut pmi = Pmi::new(Box::new(ours), 1, 4, "srun").unwrap();
        let told = Told {
            launcher: "srun (PMI-2)".into(),
            rank: 1,
            size: 4,
            appnum: 0,
            universe_size: Some(9),
            job: "7.0".into(),
        };
        assert_eq!(*pmi.told(), told);
        pmi.put("a", "v").unwrap();
        pmi.fence().unwrap();
        assert_eq!(pmi.get(0, "a").unwrap(), "v");
        assert!(pmi.get(0, "b").unwrap_err().contains("no value for b"));
        pmi.abort(1, "a;b");
        pmi.finish();
    }

    #[test]
    fn a_manager_that_listens_says_the_rank() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(Ok(line)) = lines.next() {
                let answer = match line.as_str() {
                    "cmd=initack pmiid=7" => {
                        "cmd=initack rc=0\ncmd=set size=3\ncmd=set rank=2\ncmd=set debug=0\n".into()
                    }
                    line => usual(line).unwrap(),
                };
                (&stream).write_all(answer.as_bytes()).unwrap();
            }
        });
        let var = |name: &str| match name {
            "PMI_PORT" => Some(at.clone()),
            "PMI_ID" => Some("7".into()),
            _ => None,
        };
        let pmi = connect(&var, "Hydra").unwrap();
        assert_eq!((pmi.told.rank, pmi.told.size), (2, 3));
    }

    #[test]
    fn a_descriptor_that_is_no_socket_is_told() {
        let file = std::fs::File::open("/dev/null").unwrap();
        for text in [file.as_raw_fd().to_string(), "-1".into(), "x".into(), "99999".into()] {
            let error = connect(&|name| (name == "PMI_FD").then(|| text.clone()), "x").map(drop).unwrap_err();
            assert!(error.contains("PMI_FD") && error.contains(&text), "{error}");
        }
        let ours = server(usual);
        let fd = ours.as_raw_fd().to_string();
        let var = |name: &str| match name {
            "PMI_FD" => Some(fd.clone()),
            "PMI_RANK" => Some("1".into()),
            "PMI_SIZE" => Some("many".into()),
            _ => None,
        };
        assert!(connect(&var, "x").map(drop).unwrap_err().contains("PMI_SIZE is \"many\""));
    }

    proptest! {
        /// Whatever a manager sends is an answer or an error.
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300), two in any::<bool>()) {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let first = if two { "cmd=response_to_init pmi_version=2 rc=-1\ncmd=response_to_init rc=0\n" } else { "" };
            theirs.write_all(first.as_bytes()).unwrap();
            theirs.write_all(&bytes).unwrap();
            theirs.shutdown(std::net::Shutdown::Write).unwrap();
            prop_assert!(Pmi::new(Box::new(ours), 0, 2, "x").is_err());
        }
    }
}
