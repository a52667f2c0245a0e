//! The messages of sock_diag(7), byte by byte: `struct nlmsghdr`, `inet_diag_req_v2`, `inet_diag_msg`.

use std::io;

use crate::net::{Address, Family};

const HEADER: usize = 16;
const REQUEST_BODY: usize = 56;
const ATTRIBUTE_HEADER: usize = 4;
/// `struct inet_diag_msg`; attributes may follow.
const TOLD_BODY: usize = 72;

const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const DUMP: u16 = 0x301;
/// The dump was disturbed and may lack sockets.
const NLM_F_DUMP_INTR: u16 = 0x10;
const INET_DIAG_REQ_BYTECODE: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// What the kernel tells of one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) port: u16,
    pub(super) address: Address,
    pub(super) inode: u64,
    pub(super) uid: u32,
}

/// One message of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reply {
    Socket(Told),
    Done,
}

/// Ask for every TCP socket of the family in one of the states (a bit each) that passes the filter, if there is one.
pub(super) fn request(family: Family, states: u32, filter: &[u8], sequence: u32) -> Vec<u8> {
    let attribute = if filter.is_empty() { 0 } else { ATTRIBUTE_HEADER + filter.len() };
    let length = HEADER + REQUEST_BODY + attribute;
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(DUMP.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend([0; 4]); // to be filled in with our port id by the kernel
    let family = match family {
        Family::Tcp => AF_INET,
        Family::Tcp6 => AF_INET6,
    };
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    bytes.extend(states.to_ne_bytes());
    bytes.extend([0; 48]); // any socket id
    if !filter.is_empty() {
        bytes.extend((attribute as u16).to_ne_bytes());
        bytes.extend(INET_DIAG_REQ_BYTECODE.to_ne_bytes());
        bytes.extend(filter);
    }
    bytes
}

/// The replies in one datagram to the question with this number; an error ends them.
pub(super) fn replies(datagram: &[u8], sequence: u32) -> impl Iterator<Item = io::Result<Reply>> + '_ {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let Some((message, behind)) = first_message(rest) else {
                rest = &[];
                return Some(Err(odd("cut short")));
            };
            rest = behind;
            if let Some(reply) = reply(message, sequence).transpose() {
                return Some(reply);
            }
        }
        None
    })
}

/// A message of its own length, and what stands behind it (messages start at multiples of four).
fn first_message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32_at(bytes, 0)? as usize;
    if length < HEADER {
        return None;
    }
    let message = bytes.get(..length)?;
    Some((message, bytes.get(length.next_multiple_of(4)..).unwrap_or(&[])))
}

/// `None` for a message that says nothing, or answers another question.
fn reply(message: &[u8], sequence: u32) -> io::Result<Option<Reply>> {
    let cut = || odd("cut short");
    let kind = u16_at(message, 4).ok_or_else(cut)?;
    let flags = u16_at(message, 6).ok_or_else(cut)?;
    if kind == NLMSG_NOOP || u32_at(message, 8) != Some(sequence) {
        return Ok(None);
    }
    if flags & NLM_F_DUMP_INTR != 0 {
        return Err(odd("disturbed"));
    }
    let body = &message[HEADER..];
    match kind {
        SOCK_DIAG_BY_FAMILY => told(body).map(Reply::Socket).map(Some).ok_or_else(cut),
        // Both carry a negative error number, or 0; the end of an old kernel's dump carries nothing.
        NLMSG_DONE | NLMSG_ERROR => match u32_at(body, 0).map_or(0, |number| number as i32) {
            0 => Ok(Some(Reply::Done)),
            number => Err(io::Error::from_raw_os_error(-number)),
        },
        _ => Err(odd("of an unknown kind")),
    }
}

fn told(body: &[u8]) -> Option<Told> {
    let body = body.get(..TOLD_BODY)?;
    let port = u16::from_be_bytes([body[4], body[5]]);
    let address = match body[0] {
        AF_INET => Address::V4(<[u8; 4]>::try_from(&body[8..12]).ok()?.into()),
        AF_INET6 => Address::V6(<[u8; 16]>::try_from(&body[8..24]).ok()?.into()),
        _ => return None,
    };
    Some(Told { port, address, uid: u32_at(body, 64)?, inode: u32_at(body, 68)?.into() })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// An answer that is none.
pub(super) fn odd(how: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the kernel's answer about its sockets is {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(sequence.to_ne_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn socket(family: u8, address: &[u8]) -> Vec<u8> {
        let mut body = vec![0; TOLD_BODY];
        body[0] = family;
        body[1] = 10;
        body[4..6].copy_from_slice(&8080_u16.to_be_bytes());
        body[8..8 + address.len()].copy_from_slice(address);
        body[64..68].copy_from_slice(&1000_u32.to_ne_bytes());
        body[68..72].copy_from_slice(&31337_u32.to_ne_bytes());
        body
    }

    fn all(datagram: &[u8]) -> Vec<io::Result<Reply>> {
        replies(datagram, 7).collect()
    }

    #[test]
    fn a_datagram_of_sockets_and_the_end_is_read_in_order() {
        let mut datagram = message(SOCK_DIAG_BY_FAMILY, 2, 7, &socket(AF_INET, &[127, 0, 0, 1]));
        // Attributes behind the fixed part are passed over.
        let with_attribute = [socket(AF_INET6, &[0; 16]), vec![5, 0, 8, 0, 0, 0, 0, 0]].concat();
        datagram.extend(message(SOCK_DIAG_BY_FAMILY, 2, 7, &with_attribute));
        datagram.extend(message(NLMSG_DONE, 2, 7, &[0; 4]));
        let replies: Vec<Reply> = all(&datagram).into_iter().map(Result::unwrap).collect();
        let told = |address: &str| {
            let address: std::net::IpAddr = address.parse().unwrap();
            let address = match address {
                std::net::IpAddr::V4(v4) => Address::V4(v4),
                std::net::IpAddr::V6(v6) => Address::V6(v6),
            };
            Reply::Socket(Told { port: 8080, address, inode: 31337, uid: 1000 })
        };
        assert_eq!(replies, [told("127.0.0.1"), told("::"), Reply::Done]);
    }

    #[test]
    fn a_refusal_is_its_error_number() {
        for kind in [NLMSG_ERROR, NLMSG_DONE] {
            let replies = all(&message(kind, 0, 7, &(-2_i32).to_ne_bytes()));
            assert_eq!(replies[0].as_ref().unwrap_err().raw_os_error(), Some(2));
        }
    }

    #[test]
    fn an_answer_that_may_lack_sockets_is_no_answer() {
        let datagram = message(SOCK_DIAG_BY_FAMILY, 2 | NLM_F_DUMP_INTR, 7, &socket(AF_INET, &[0; 4]));
        assert!(all(&datagram)[0].is_err());
    }

    #[test]
    fn an_answer_to_another_question_is_passed_over() {
        let mut datagram = message(NLMSG_ERROR, 0, 6, &(-1_i32).to_ne_bytes());
        datagram.extend(message(NLMSG_NOOP, 0, 7, &[]));
        assert!(all(&datagram).is_empty());
    }

    #[test]
    fn what_is_cut_or_unknown_is_an_error_and_never_a_panic() {
        let whole = message(SOCK_DIAG_BY_FAMILY, 2, 7, &socket(AF_INET, &[0; 4]));
        for length in 1..whole.len() {
            assert!(all(&whole[..length])[0].is_err(), "{length}");
        }
        for bad in [
            message(SOCK_DIAG_BY_FAMILY, 2, 7, &socket(1, &[])),
            message(SOCK_DIAG_BY_FAMILY, 2, 7, &[0; 71]),
            message(4, 0, 7, &[]),
            3_u32.to_ne_bytes().to_vec(),
            vec![0; 64],
        ] {
            let replies = all(&bad);
            assert!(replies[0].is_err(), "{bad:?}");
            assert!(replies.len() <= 2, "the answer ends");
        }
    }

    #[test]
    fn a_question_has_the_kernels_layout() {
        let bare = request(Family::Tcp6, 0x400, &[], 9);
        assert_eq!(bare.len(), 72);
        assert_eq!(u32_at(&bare, 0), Some(72));
        assert_eq!(u32_at(&bare, 8), Some(9));
        assert_eq!(bare[16..20], [10, 6, 0, 0]);
        assert_eq!(u32_at(&bare, 20), Some(0x400));
        let filtered = request(Family::Tcp, 10, &[1; 8], 9);
        assert_eq!(u32_at(&filtered, 0), Some(84));
        assert_eq!(u16_at(&filtered, 72), Some(12));
        assert_eq!(u16_at(&filtered, 74), Some(1));
        assert_eq!(filtered[76..], [1; 8]);
    }
}
