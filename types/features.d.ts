/** What a process can have from its kernel. Whatever is missing has a fallback. */
export interface KernelFeatures {
  /** Holds on processes (Linux 5.3). Without: a process is verified again right before a signal. */
  pidfd: boolean
  /** Signals to a group through such a hold (Linux 6.9). Without: verified again, then by the group's number. */
  group_signals: boolean
  /** Holds with an inode of their own (Linux 6.9). Without: start tokens alone tell generations apart. */
  pidfs: boolean
  /** Socket diagnostics by netlink. Without: `/proc/net/tcp` and `tcp6`, or `lsof`. */
  socket_diagnostics: boolean
  /** The first eight hexadecimal digits of the boot id; `null`: tokens of two boots can agree. */
  boot_id: string | null
  /** Inode of the pid namespace, decimal. */
  pid_namespace: string | null
  /** Inode of the time namespace, decimal. */
  time_namespace: string | null
}
