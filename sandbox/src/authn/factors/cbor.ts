/**
 * The part of CBOR (RFC 8949) that an attestation object needs: integers, byte and text strings,
 * arrays, maps.
 */
export type Cbor = number | string | Buffer | boolean | null | Cbor[] | Map<Cbor, Cbor>

/** Throws RangeError on unsupported or truncated input. Bytes after the value are ignored. */
export function decodeCbor(bytes: Buffer): Cbor {
  let offset = 0
  return value(0)

  function value(depth: number): Cbor {
    if (depth > 8) throw new RangeError('CBOR nested too deeply')
    const head = take(1)[0] ?? 0
    const major = head >> 5
    if (major === 7) return simple(head & 31)
    const argument = length(head & 31)
    switch (major) {
      case 0:
        return argument
      case 1:
        return -1 - argument
      case 2:
        return take(argument)
      case 3:
        return take(argument).toString('utf8')
      case 4:
        return Array.from({ length: bounded(argument) }, () => value(depth + 1))
      case 5:
        return new Map(
          Array.from({ length: bounded(argument) }, (): [Cbor, Cbor] => [value(depth + 1), value(depth + 1)]),
        )
      default:
        throw new RangeError('CBOR type not supported')
    }
  }

  function length(info: number): number {
    if (info < 24) return info
    if (info === 24) return take(1).readUInt8()
    if (info === 25) return take(2).readUInt16BE()
    if (info === 26) return take(4).readUInt32BE()
    throw new RangeError('CBOR length not supported')
  }

  function simple(info: number): Cbor {
    if (info === 20 || info === 21) return info === 21
    if (info === 22) return null
    throw new RangeError('CBOR value not supported')
  }

  function bounded(count: number): number {
    if (count > bytes.length) throw new RangeError('CBOR ended too early')
    return count
  }

  function take(count: number): Buffer {
    if (offset + count > bytes.length) throw new RangeError('CBOR ended too early')
    offset += count
    return bytes.subarray(offset - count, offset)
  }
}
