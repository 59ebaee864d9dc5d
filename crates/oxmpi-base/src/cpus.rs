//! The CPUs that this process may use: its affinity mask and the quota of its cgroup. The number of
//! CPUs of the machine would be wrong in a container: ranks would spin against each other.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// A set of CPU numbers, of any size.
#[derive(Clone, Debug, Default)]
pub struct CpuSet(Vec<u64>);

/// Two sets are equal if they contain the same CPUs; empty words at the end do not matter.
impl PartialEq for CpuSet {
    fn eq(&self, other: &CpuSet) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for CpuSet {}

impl CpuSet {
    /// The CPUs that the calling thread may run on.
    pub fn affinity() -> io::Result<CpuSet> {
        CpuSet::affinity_of(0)
    }

    /// The CPUs that a process's first thread may run on.
    pub fn affinity_of(pid: u32) -> io::Result<CpuSet> {
        let mut words = vec![0u64; 16];
        loop {
            // SAFETY: the kernel writes at most the given number of bytes.
            let got = unsafe { libc::syscall(libc::SYS_sched_getaffinity, pid, words.len() * 8, words.as_mut_ptr()) };
            if got >= 0 {
                words.truncate((got as usize).div_ceil(8));
                return Ok(CpuSet(words));
            }
            let error = io::Error::last_os_error();
            // The kernel's mask is larger than ours.
            if error.raw_os_error() != Some(libc::EINVAL) || words.len() >= 1 << 16 {
                return Err(error);
            }
            words.resize(words.len() * 2, 0);
        }
    }

    /// Confines the calling thread to these CPUs. Does not allocate, so that it can run between
    /// `clone` and `exec`.
    pub fn confine(&self) -> io::Result<()> {
        // SAFETY: the kernel reads the given number of bytes.
        let done = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, self.0.len() * 8, self.0.as_ptr()) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    pub fn insert(&mut self, cpu: usize) {
        if cpu / 64 >= self.0.len() {
            self.0.resize(cpu / 64 + 1, 0);
        }
        self.0[cpu / 64] |= 1 << (cpu % 64);
    }

    pub fn contains(&self, cpu: usize) -> bool {
        self.0.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|&cpu| self.contains(cpu))
    }

    /// Parses the kernel's notation, such as `0-3,8,10-11`.
    pub fn parse(list: &str) -> Option<CpuSet> {
        let mut set = CpuSet::default();
        for range in list.trim().split(',').filter(|range| !range.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (first.trim().parse::<usize>().ok()?, last.trim().parse::<usize>().ok()?);
            if last < first || last > 1 << 20 {
                return None;
            }
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Some(set)
    }

    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        CpuSet(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }
}

/// The kernel's notation, such as `0-3,8,10-11`.
impl std::fmt::Display for CpuSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cpus: Vec<usize> = self.iter().collect();
        for (i, run) in cpus.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [only] => write!(f, "{comma}{only}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::default();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

thread_local! {
    /// The CPUs of the thread when it is not pinned (see [`CpuPin`]).
    static UNPINNED: RefCell<Option<CpuSet>> = const { RefCell::new(None) };
}

/// Pins the calling thread to one CPU until it is dropped; then the thread may use its former CPUs.
pub struct CpuPin(PhantomData<*const ()>);

impl CpuPin {
    /// Pins this thread to one of the CPUs that it may use, `all`. `None` if that fails, or if the
    /// thread is pinned already.
    pub fn on(cpu: usize, all: CpuSet) -> Option<CpuPin> {
        UNPINNED.with_borrow_mut(|unpinned| {
            if unpinned.is_some() || CpuSet::from_iter([cpu]).confine().is_err() {
                return None;
            }
            *unpinned = Some(all);
            Some(CpuPin(PhantomData))
        })
    }

    /// Runs `body` without the pin. For user code, whose new threads would inherit the pin.
    pub fn interrupted<R>(body: impl FnOnce() -> R) -> R {
        let Some(all) = UNPINNED.take() else { return body() };
        let here = CpuSet::affinity();
        // This was allowed before. If it is not any more, the thread stays on its CPU.
        let _ = all.confine();
        let result = body();
        if let Ok(here) = here {
            let _ = here.confine();
        }
        UNPINNED.set(Some(all));
        result
    }
}

impl Drop for CpuPin {
    fn drop(&mut self) {
        if let Some(all) = UNPINNED.take() {
            // This was allowed before. If it is not any more, the thread stays on its CPU.
            let _ = all.confine();
        }
    }
}

/// The CPU that the calling thread is on.
pub fn current() -> Option<usize> {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Number of CPUs that this process can use at a time; at least 1.
pub fn available() -> u32 {
    let usable = CpuSet::affinity().ok().or_else(online);
    let mask = usable.map_or(1, |set| set.len()).max(1) as u32;
    match quota() {
        // Rounded to the nearest CPU: a quota of 1.9 nearly suffices for two ranks, one of 1.2 does
        // not.
        Some(cpus) => mask.min(cpus.round() as u32).max(1),
        None => mask,
    }
}

/// The CPUs of the machine, whether this process may use them or not.
pub fn online() -> Option<CpuSet> {
    fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|list| CpuSet::parse(&list))
}

/// The lowest CPU quota of this process's cgroup and its parents, in CPUs.
pub fn quota() -> Option<f64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    quota_of(&own, Path::new("/sys/fs/cgroup"))
}

fn quota_of(own: &str, mounts: &Path) -> Option<f64> {
    let mut tightest: Option<f64> = None;
    for line in own.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let (roots, read) = match controllers {
            "" => (["", "unified"], quota_v2 as fn(&Path) -> Option<f64>),
            _ if controllers.split(',').any(|name| name == "cpu") => (["cpu", "cpu,cpuacct"], quota_v1 as _),
            _ => continue,
        };
        for root in roots.iter().map(|root| mounts.join(root)) {
            // A container may see the path of its host, which does not exist in its own mount. Then
            // the root of the mount is the cgroup, and the walk up ends there.
            let mut dir: PathBuf = root.join(path.trim_start_matches('/'));
            loop {
                if let Some(cpus) = read(&dir) {
                    tightest = Some(tightest.map_or(cpus, |least| least.min(cpus)));
                }
                if dir == root || !dir.pop() {
                    break;
                }
            }
        }
    }
    tightest
}

fn quota_v2(dir: &Path) -> Option<f64> {
    let text = fs::read_to_string(dir.join("cpu.max")).ok()?;
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota.parse().ok()?, period.parse().ok()?)
}

fn quota_v1(dir: &Path) -> Option<f64> {
    let number = |name| fs::read_to_string(dir.join(name)).ok()?.trim().parse::<f64>().ok();
    ratio(number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
}

fn ratio(quota: f64, period: f64) -> Option<f64> {
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_written_as_the_kernel_does() {
        let set = CpuSet::parse("0-3,8,10-11,130\n").unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 8, 10, 11, 130]);
        assert_eq!(set.to_string(), "0-3,8,10-11,130");
        assert_eq!(set.len(), 8);
        assert!(CpuSet::parse("3-1").is_none());
        assert!(CpuSet::parse("a").is_none());
        assert!(CpuSet::parse("").unwrap().is_empty());
        assert_eq!(CpuSet(vec![1, 0]), CpuSet(vec![1]));
        assert_ne!(CpuSet(vec![1, 1]), CpuSet(vec![1]));
        assert_eq!(set.intersection(&CpuSet::parse("2-8").unwrap()).to_string(), "2-3,8");
    }

    #[test]
    fn this_process_has_a_cpu() {
        assert!(available() >= 1);
        let all = CpuSet::affinity().unwrap();
        assert!(available() as usize <= all.len());
        std::thread::spawn(move || {
            let one: CpuSet = all.iter().take(1).collect();
            one.confine().unwrap();
            assert_eq!(CpuSet::affinity().unwrap().to_string(), one.to_string());
            assert_eq!(available(), 1);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_stays_on_a_cpu_for_a_while() {
        let all = CpuSet::affinity().unwrap();
        let one: CpuSet = all.iter().take(1).collect();
        let mask = || CpuSet::affinity().unwrap();
        let pin = CpuPin::on(one.iter().next().unwrap(), all.clone()).unwrap();
        assert!(mask() == one && CpuPin::on(0, all.clone()).is_none());
        CpuPin::interrupted(|| assert_eq!(mask(), all));
        assert_eq!(mask(), one);
        drop(pin);
        assert_eq!(mask(), all);
        CpuPin::interrupted(|| assert_eq!(mask(), all));
        assert_eq!(mask(), all);
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_counts() {
        let root = std::env::temp_dir().join(format!("oxmpi-cpus-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/cpu.max", "150000 100000\n");
        write("a/b/cpu.max", "max 100000\n");
        assert_eq!(quota_of("0::/a/b\n", &root), Some(1.5));
        assert_eq!(quota_of("0::/elsewhere\n", &root), None);
        write("cpu.max", "50000 100000\n");
        assert_eq!(quota_of("0::/not/seen/here\n", &root), Some(0.5));
        write("cpu,cpuacct/x/cpu.cfs_quota_us", "400000\n");
        write("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
        write("cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        assert_eq!(quota_of("4:cpu,cpuacct:/x\n3:cpuset:/x\n", &root), Some(4.0));
        fs::remove_dir_all(&root).unwrap();
    }
}
