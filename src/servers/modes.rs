//! Who may look into a registry: its directories' and files' modes.

/// Whether other users of the project's group share the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Directories 0700, files 0600.
    #[default]
    Private,
    /// Directories 0770, files 0660, whatever the umask is; nothing for others.
    Group,
}

impl Sharing {
    pub fn directory_mode(self) -> u32 {
        match self {
            Sharing::Private => 0o700,
            Sharing::Group => 0o770,
        }
    }

    pub fn file_mode(self) -> u32 {
        match self {
            Sharing::Private => 0o600,
            Sharing::Group => 0o660,
        }
    }
}
