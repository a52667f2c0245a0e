/** How this machine's sockets can be looked at. */
export type ScanSupport = 'procfs' | 'lsof' | 'unsupported'

/** A port that a process listens on. */
export interface ListeningSocket {
  pid: number
  port: number
  /** IPv4 dotted; `::`, `::1`; an IPv4-mapped address as IPv4; any other as `ipv6:` and 32 hexadecimal digits. Of `lsof` also `*`. */
  address: string
}

/** A listening socket with everyone who holds it, as far as can be seen. */
export interface Listener {
  port: number
  /** As in {@link ListeningSocket}. */
  address: string
  family: 'tcp' | 'tcp6'
  /** 0 where the system does not tell. */
  inode: number
  /** The user that the socket belongs to. */
  uid: number
  /** Ascending; empty when no owner can be seen: another user's, the kernel's, a descriptor on its way. The port is taken all the same. */
  pids: number[]
}

/** A row of `/proc/net/tcp` or `tcp6`. */
export interface ProcNetTcpRow {
  /** As in {@link ListeningSocket}. */
  localAddress: string
  localPort: number
  /** Two hexadecimal digits: `0A` listens, `01` is connected. */
  state: string
  inode: string
}
