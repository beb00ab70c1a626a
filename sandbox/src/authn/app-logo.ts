import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'

const SIZE = 64
const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
/** The end of the IHDR chunk: 8 bits per channel, RGB, no interlacing. */
const TRUE_COLOUR = Buffer.of(8, 2, 0, 0, 0)

/** An app's logo: a PNG image of 64 × 64 pixels in a colour derived from the app's name. */
export function appLogo(name: string): Buffer {
  const pixel = createHash('sha256').update(name).digest().subarray(0, 3)
  const row = Buffer.concat([Buffer.of(0), Buffer.alloc(SIZE * pixel.length, pixel)])
  const size = Buffer.alloc(8)
  size.writeUInt32BE(SIZE, 0)
  size.writeUInt32BE(SIZE, 4)
  const rows = deflateSync(Buffer.alloc(SIZE * row.length, row))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', Buffer.concat([size, TRUE_COLOUR])),
    chunk('IDAT', rows),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  checksum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, checksum])
}
