//! A program for the kernel's filter (`struct inet_diag_bc_op`, inet_diag.c): pass sockets with one of these local ports.
//!
//! An operation is four bytes: code, how far to go on (in bytes) when it holds, how far when it does not. A port
//! comparison takes four more, whose last two are the port. A socket passes when the program ends exactly at its end;
//! four bytes beyond it, the socket is dropped. Comparisons with `≥` and `≤` are as old as the interface.

const JUMP: u8 = 1;
const LOCAL_PORT_AT_LEAST: u8 = 2;
const LOCAL_PORT_AT_MOST: u8 = 3;

const COMPARISON: u16 = 8;
const STEP: u16 = 4;
/// At least, at most, jump to the end.
const BLOCK: u16 = COMPARISON + COMPARISON + STEP;

/// The kernel tries every range on every socket, and checks the program in a time that grows with its square: beyond
/// this many ranges one range around them all costs less.
const MOST_RANGES: usize = 64;

/// The program for these ports (ascending, each once); it may pass others too when they are many. Empty for none.
pub(super) fn local_ports(ports: &[u16]) -> Vec<u8> {
    let mut ranges = ranges(ports);
    if let ([(low, _), .., (_, high)], true) = (ranges.as_slice(), ranges.len() > MOST_RANGES) {
        ranges = vec![(*low, *high)];
    }
    let length = ranges.len() as u16 * BLOCK;
    let mut program = Vec::with_capacity(usize::from(length));
    for (index, (low, high)) in ranges.iter().enumerate() {
        let left = length - index as u16 * BLOCK;
        // To the next range, or out: past the end.
        let else_go = |here: u16| if left == BLOCK { left - here + STEP } else { BLOCK - here };
        operation(&mut program, LOCAL_PORT_AT_LEAST, COMPARISON, else_go(0));
        operation(&mut program, 0, 0, *low);
        operation(&mut program, LOCAL_PORT_AT_MOST, COMPARISON, else_go(COMPARISON));
        operation(&mut program, 0, 0, *high);
        operation(&mut program, JUMP, STEP, left - 2 * COMPARISON);
    }
    program
}

fn operation(program: &mut Vec<u8>, code: u8, then_go: u16, else_go: u16) {
    program.extend([code, then_go as u8]);
    program.extend(else_go.to_ne_bytes());
}

/// Runs of neighbouring ports, both ends included.
fn ranges(ports: &[u16]) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for port in ports {
        match ranges.last_mut() {
            Some((_, high)) if high.checked_add(1) == Some(*port) => *high = *port,
            _ => ranges.push((*port, *port)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's interpreter.
    fn passes(program: &[u8], port: u16) -> bool {
        let number = |at: usize| u16::from_ne_bytes([program[at + 2], program[at + 3]]);
        let mut at = 0;
        while at < program.len() {
            let holds = match program[at] {
                JUMP => false,
                LOCAL_PORT_AT_LEAST => port >= number(at + 4),
                LOCAL_PORT_AT_MOST => port <= number(at + 4),
                code => panic!("operation {code}"),
            };
            at += usize::from(if holds { u16::from(program[at + 1]) } else { number(at) });
        }
        at == program.len()
    }

    fn passed(ports: &[u16]) -> Vec<u16> {
        let program = local_ports(ports);
        (0..=u16::MAX).filter(|port| passes(&program, *port)).collect()
    }

    #[test]
    fn exactly_the_ports_asked_for_pass() {
        for ports in [&[3000][..], &[1, 65535], &[3000, 3001, 3002, 4000], &[80, 443, 8080, 9090]] {
            assert_eq!(passed(ports), ports);
        }
        let spread: Vec<u16> = (0..MOST_RANGES as u16).map(|index| 1000 + index * 7).collect();
        assert_eq!(passed(&spread), spread);
    }

    #[test]
    fn too_many_ports_become_one_range_around_them() {
        let spread: Vec<u16> = (0..=MOST_RANGES as u16).map(|index| 1000 + index * 2).collect();
        assert_eq!(passed(&spread), (1000..=1000 + 2 * MOST_RANGES as u16).collect::<Vec<_>>());
        assert_eq!(local_ports(&spread).len(), usize::from(BLOCK));
    }

    #[test]
    fn no_ports_make_no_program() {
        assert!(local_ports(&[]).is_empty());
    }
}
