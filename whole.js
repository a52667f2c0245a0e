// Whether a binary is all there: a system maps a file that was cut off as well, and ends the process once a missing page is touched.
//
// Caught: a file that ends too early, one whose end was never written (zeros), and holes: blocks that the file system never got to store.
// Not caught: other content of the right length, also a block of zeros in the middle that is stored as such. To read all of it would
// make loading a seventh slower. For macOS only the first is looked for; its kernel compares every page with the signature.
//
// In the syntax of Node 12, as loader.js.
'use strict'

const { closeSync, fstatSync, openSync, readSync, statSync } = require('fs')

module.exports = { checkWhole, checkHoles, checkBlocks }

/** What each system's own headers say of the file. */
function checkWhole(file, system = process.platform) {
  const check = { linux: checkElf, darwin: checkMachO }[system]
  if (check) reading(file, check)
}

/** A file that is stored in fewer bytes than it has may have holes; or its file system compresses, then its blocks are looked at for nothing. */
function checkHoles(file) {
  const { blocks, size } = statSync(file)
  if (blocks * 512 < size) checkBlocks(file)
}

/** No block of the file is zeros. For the packages' binaries alone, of which scripts/check-binary.mjs knows that they have none. */
function checkBlocks(file) {
  const block = 4096
  const words = new Uint32Array(16 * block / 4)
  const bytes = Buffer.from(words.buffer)
  reading(file, ({ fd, size, damaged }) => {
    for (let at = 0; at < size; at += bytes.length) {
      const length = readSync(fd, bytes, 0, bytes.length, at)
      for (let start = 0; start + block <= length; start += block) {
        // Nearly every block starts with something, so the rest is seldom looked at.
        const isEmpty = words[start / 4] === 0 && words.subarray(start / 4, (start + block) / 4).every((word) => word === 0)
        if (isEmpty) throw damaged(`its ${block} bytes from ${at + start} on are zeros`)
      }
    }
  })
}

function reading(file, check) {
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    const damaged = (what) => new Error(`${file} is damaged: ${what}`)
    const mustReach = (end) => {
      if (size < end) throw damaged(`it has ${size} bytes, of at least ${end}`)
    }
    const read = (at, length) => {
      mustReach(at + length)
      const bytes = Buffer.alloc(length)
      readSync(fd, bytes, 0, length, at)
      return bytes
    }
    check({ file, fd, size, damaged, mustReach, read })
  } finally {
    closeSync(fd)
  }
}

/** An ELF file ends with its section headers; one of them is that of the sections' names. */
function checkElf({ file, size, damaged, mustReach, read }) {
  // The magic number, 64 bits, little-endian.
  if (size < 64 || read(0, 6).toString('latin1') !== '\x7fELF\x02\x01') throw new Error(`${file} is no binary for Linux`)
  const header = read(0, 64)
  const segments = entries(header, { at: 32, size: 54 })
  const sections = entries(header, { at: 40, size: 58 })
  mustReach(sections.start + sections.length)
  const table = read(segments.start, segments.length)
  for (let at = 0; at + 56 <= table.length; at += segments.each) {
    const isLoaded = table.readUInt32LE(at) === 1
    if (isLoaded) mustReach(number(table, at + 8) + number(table, at + 32))
  }
  if (sections.length < 64) throw damaged('it has no section headers')
  const section = (index) => read(sections.start + index * sections.each, 64)
  if (section(sections.count - 1).every((byte) => byte === 0)) throw damaged('its end is zeros')
  const named = section(header.readUInt16LE(62))
  const names = read(number(named, 24), number(named, 32))
  const areNames = named.readUInt32LE(4) === 3 && names[0] === 0 && names.some((byte) => byte !== 0)
  if (!areNames) throw damaged('its sections have no names')
}

/** A table of headers: where it starts, how large each is, how many there are, how many bytes all are. */
function entries(header, { at, size }) {
  const each = header.readUInt16LE(size)
  const count = header.readUInt16LE(size + 2)
  return { start: number(header, at), each, count, length: each * count }
}

/** Beyond 2^53 it is not exact, and larger than any file all the same. */
function number(bytes, at) {
  return Number(bytes.readBigUInt64LE(at))
}

/** A Mach-O file says in its load commands from where to where it is mapped. */
function checkMachO({ file, size, damaged, mustReach, read }) {
  if (size < 32 || read(0, 4).readUInt32LE(0) !== 0xfeedfacf) throw new Error(`${file} is no binary for macOS`)
  const header = read(0, 32)
  const commands = read(32, header.readUInt32LE(20))
  for (let at = 0, left = header.readUInt32LE(16); left > 0; left--) {
    const length = at + 8 <= commands.length ? commands.readUInt32LE(at + 4) : 0
    if (length < 8 || at + length > commands.length) throw damaged('its load commands are cut off')
    const isSegment = commands.readUInt32LE(at) === 0x19 && length >= 72
    if (isSegment) mustReach(number(commands, at + 40) + number(commands, at + 48))
    at += length
  }
}
