//! How an address is written: the harness's own spelling, the same whichever way the kernel told it.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::Family;

/// The local address of a socket, in the family that the socket has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl Address {
    /// From the hexadecimal text of `/proc/net/tcp` (8 digits) and `tcp6` (32 digits): words of 32 bits, each as a
    /// number of this machine. `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Address> {
        let word = |at: usize| hex_word(text.get(at..at + 8)?);
        match text.len() {
            8 => Some(Address::V4(word(0)?.into())),
            32 => {
                let mut octets = [0; 16];
                for (part, at) in octets.chunks_exact_mut(4).zip([0, 8, 16, 24]) {
                    part.copy_from_slice(&word(at)?);
                }
                Some(Address::V6(octets.into()))
            }
            _ => None,
        }
    }

    pub fn family(self) -> Family {
        match self {
            Address::V4(_) => Family::Tcp,
            Address::V6(_) => Family::Tcp6,
        }
    }
}

/// The four octets of one word, in the order of the address.
fn hex_word(digits: &str) -> Option<[u8; 4]> {
    // `from_str_radix` takes a sign, the kernel writes none.
    let all_digits = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| all_digits)?;
    Some(number.to_ne_bytes())
}

impl fmt::Display for Address {
    /// IPv4 dotted; `::`, `::1`; an IPv4-mapped address as IPv4; any other as `ipv6:` and the kernel's 32 digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v6 = match self {
            Address::V4(v4) => return v4.fmt(f),
            Address::V6(v6) => v6,
        };
        if let Some(v4) = v6.to_ipv4_mapped() {
            return v4.fmt(f);
        }
        if v6.is_unspecified() || v6.is_loopback() {
            return v6.fmt(f);
        }
        f.write_str("ipv6:")?;
        for word in v6.octets().chunks_exact(4) {
            write!(f, "{:08x}", u32::from_ne_bytes([word[0], word[1], word[2], word[3]]))?;
        }
        Ok(())
    }
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::*;

    fn shown(hex: &str) -> Option<String> {
        Address::from_hex(hex).map(|address| address.to_string())
    }

    #[test]
    fn an_address_reads_as_the_harness_writes_it() {
        assert_eq!(shown("0100007F").as_deref(), Some("127.0.0.1"));
        assert_eq!(shown("00000000").as_deref(), Some("0.0.0.0"));
        assert_eq!(shown(&"0".repeat(32)).as_deref(), Some("::"));
        assert_eq!(shown("00000000000000000000000001000000").as_deref(), Some("::1"));
        assert_eq!(shown("0000000000000000FFFF00000100007F").as_deref(), Some("127.0.0.1"));
    }

    #[test]
    fn any_other_ipv6_address_keeps_the_kernels_digits_in_lower_case() {
        let text = "B80D0120000000000000000001000000";
        assert_eq!(shown(text), Some(format!("ipv6:{}", text.to_lowercase())));
        assert_eq!(shown(text), Some(Address::V6("2001:db8::1".parse().unwrap()).to_string()));
    }

    #[test]
    fn what_is_no_address_is_none() {
        for text in ["", "0100007", "+100007F", "0100007G", "0100007F0", "é00007F", &"F".repeat(31)] {
            assert_eq!(Address::from_hex(text), None, "{text}");
        }
    }
}
