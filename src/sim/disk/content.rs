//! Calls on the content and the properties of what is open.

use std::rc::Rc;

use nix::errno::Errno;

use super::{Caller, Disk, Inode, Node, Number, Result};
use crate::files::Handle;

impl Disk {
    pub(super) fn read_at(
        &self,
        caller: Caller,
        handle: Handle,
        offset: u64,
        count: usize,
    ) -> Result<Rc<[u8]>> {
        let open = self.handle(caller, handle)?;
        match &self.get(open.number).node {
            Node::File(_) if !open.read => Err(Errno::EBADF),
            Node::File(bytes) => {
                let start = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
                let end = bytes.len().min(start.saturating_add(count));
                Ok(bytes[start..end].into())
            }
            Node::Directory { .. } => Err(Errno::EISDIR),
            Node::Symlink(_) | Node::Fifo => Err(Errno::ESPIPE),
        }
    }

    pub(super) fn write_at(
        &mut self,
        caller: Caller,
        handle: Handle,
        offset: u64,
        new: &[u8],
    ) -> Result<usize> {
        let number = self.handle(caller, handle)?.number;
        let Node::File(bytes) = &self.get(number).node else {
            // What has no places in it is told before what may not be written.
            let is_fifo = self.get(number).node == Node::Fifo;
            return Err(if is_fifo { Errno::ESPIPE } else { Errno::EBADF });
        };
        self.writable(caller, handle, Errno::EBADF)?;
        let fits =
            self.room.map_or(new.len(), |room| new.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
        if fits == 0 && !new.is_empty() {
            return Err(Errno::ENOSPC);
        }
        let append = self.handle(caller, handle)?.append;
        let start = if append { bytes.len() } else { usize::try_from(offset).map_err(|_| Errno::EFBIG)? };
        let mut bytes = bytes.to_vec();
        if fits > 0 {
            bytes.resize(bytes.len().max(start + fits), 0);
            bytes[start..start + fits].copy_from_slice(&new[..fits]);
            self.room = self.room.map(|room| room - fits as u64);
            self.set_content(number, bytes.into());
        }
        Ok(fits)
    }

    pub(super) fn set_size(&mut self, caller: Caller, handle: Handle, size: u64) -> Result<()> {
        let number = self.writable(caller, handle, Errno::EINVAL)?;
        let Node::File(bytes) = &self.get(number).node else { return Err(Errno::EINVAL) };
        let mut bytes = bytes.to_vec();
        bytes.resize(usize::try_from(size).map_err(|_| Errno::EFBIG)?, 0);
        self.set_content(number, bytes.into());
        Ok(())
    }

    pub(super) fn set_mode(&mut self, caller: Caller, handle: Handle, mode: u32) -> Result<()> {
        self.open_inode(caller, handle)?.mode = mode & 0o7777;
        Ok(())
    }

    pub(super) fn set_owner(&mut self, caller: Caller, handle: Handle, uid: u32, gid: u32) -> Result<()> {
        let inode = self.open_inode(caller, handle)?;
        (inode.uid, inode.gid) = (uid, gid);
        Ok(())
    }

    fn open_inode(&mut self, caller: Caller, handle: Handle) -> Result<&mut Inode> {
        let (number, now) = (self.handle(caller, handle)?.number, self.now_ms);
        let inode = self.get_mut(number);
        inode.changed_ms = now;
        Ok(inode)
    }

    fn writable(&self, caller: Caller, handle: Handle, otherwise: Errno) -> Result<Number> {
        let open = self.handle(caller, handle)?;
        if open.write {
            Ok(open.number)
        } else {
            Err(otherwise)
        }
    }

    fn set_content(&mut self, number: Number, bytes: Rc<[u8]>) {
        let now = self.now_ms;
        assert!(!(self.seals && self.get(number).sealed), "a file is written after it was synced");
        let inode = self.get_mut(number);
        inode.sealed = false;
        inode.node = Node::File(bytes);
        inode.modified_ms = now;
        inode.changed_ms = now;
    }
}
