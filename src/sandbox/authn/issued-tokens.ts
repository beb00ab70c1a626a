import { createHash } from 'node:crypto'

/** So many random bytes. */
export type RandomBytes = (count: number) => Buffer

/** Every real token that was ever handed out, so that a test can search a broker's output for it. */
export type IssuedTokens = {
  /** State and session tokens and QR tokens: `00` and 40 characters. */
  long(): string
  /** Recovery and activation tokens: 20 characters. */
  short(): string
  all(): string[]
  clear(): void
}

const KEPT = 200_000

export function createIssuedTokens({ random }: { random: RandomBytes }): IssuedTokens {
  const issued = new Set<string>()
  function keep(token: string): string {
    issued.add(token)
    const [oldest] = issued
    if (issued.size > KEPT && oldest !== undefined) issued.delete(oldest)
    return token
  }
  return {
    long: () => keep(`00${text(random, 30)}`),
    short: () => keep(text(random, 15)),
    all: () => [...issued],
    clear: () => issued.clear(),
  }
}

export function randomErrorId(random: RandomBytes): string {
  return `oae${text(random, 16)}`
}

/** Six digits, as a text message brings them. */
export function randomCode(random: RandomBytes): string {
  const value = random(4).readUInt32BE(0)
  return String(value % 1_000_000).padStart(6, '0')
}

/** 20 characters, like the challenge of a security key. */
export function randomChallenge(random: RandomBytes): string {
  return text(random, 15)
}

/** The same seed gives the same id: a prefix such as `00u` and letters and digits up to 20 characters. */
export function idFor(prefix: string, seed: string): string {
  const letters = createHash('sha256')
    .update(seed)
    .digest('base64')
    .replace(/[^A-Za-z0-9]/g, '')
  return (prefix + letters).slice(0, 20)
}

function text(random: RandomBytes, bytes: number): string {
  return random(bytes).toString('base64url')
}
