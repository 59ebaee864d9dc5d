//! The languages that have a wrapper, and all that differs between them.
//!
//! A new wrapper is a new variant here and a link in the installation. What Fortran needs beyond
//! its name is in [`crate::install`].

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cxx,
    /// One wrapper under three names: most compilers compile all versions of Fortran.
    Fortran,
}

impl Language {
    /// The language, from the name under which the wrapper was called. Distributions rename
    /// wrappers with a suffix (`mpicxx.oxmpi`, `mpicxx-1`), so only the start counts; any other
    /// name compiles C.
    pub fn of_command(name: &str) -> Language {
        let stem = name.split(['.', '-']).next().unwrap_or(name);
        match stem {
            "mpicxx" | "mpic++" | "mpiCC" => Language::Cxx,
            "mpifort" | "mpif77" | "mpif90" => Language::Fortran,
            _ => Language::C,
        }
    }

    /// The name of the language in messages.
    pub fn title(self) -> &'static str {
        match self {
            Language::C => "C",
            Language::Cxx => "C++",
            Language::Fortran => "Fortran",
        }
    }

    /// The environment variables that name the compiler, the strongest first: our own, then those
    /// that users of other implementations (and CMake) already set.
    pub fn variables(self) -> &'static [&'static str] {
        match self {
            Language::C => &["OXMPI_CC", "MPICH_CC", "OMPI_CC"],
            Language::Cxx => &["OXMPI_CXX", "MPICH_CXX", "OMPI_CXX"],
            Language::Fortran => &["OXMPI_FC", "MPICH_FC", "OMPI_FC", "MPICH_F90", "MPICH_F77", "OMPI_F77"],
        }
    }

    /// The options that name the compiler, each followed by its value.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Language::C => &["-cc="],
            Language::Cxx => &["-cxx=", "-CC="],
            Language::Fortran => &["-fc=", "-f90=", "-f77="],
        }
    }

    /// The compilers to look for when the user named none.
    pub fn usual_compilers(self) -> &'static [&'static str] {
        match self {
            Language::C => &["cc", "gcc", "clang"],
            Language::Cxx => &["c++", "g++", "clang++"],
            // Some systems have these compilers only under names with a version.
            Language::Fortran => &[
                "gfortran",
                "flang",
                "flang-new",
                "ifx",
                "nvfortran",
                "gfortran-15",
                "gfortran-14",
                "gfortran-13",
                "gfortran-12",
                "gfortran-11",
                "flang-22",
                "flang-21",
                "flang-20",
                "flang-new-19",
            ],
        }
    }

    /// The Debian package that brings a compiler, for the message when there is none.
    pub fn package(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Language;

    #[test]
    fn the_name_chooses_the_language() {
        for name in ["mpicxx", "mpic++", "mpiCC", "mpicxx.oxmpi", "mpic++-1"] {
            assert_eq!(Language::of_command(name), Language::Cxx, "{name}");
        }
        for name in ["mpifort", "mpif77", "mpif90", "mpif90.oxmpi"] {
            assert_eq!(Language::of_command(name), Language::Fortran, "{name}");
        }
        for name in ["mpicc", "mpicc.oxmpi", "anything"] {
            assert_eq!(Language::of_command(name), Language::C, "{name}");
        }
    }
}
