import { createHash } from 'node:crypto'

/** So many random bytes. */
export type RandomBytes = (count: number) => Buffer

/** Every real token that was ever handed out, so that a test can search a broker's output for it. */
export type IssuedTokens = {
  /** State and session tokens and QR tokens: `00` and 40 characters. */
  issueLong(): string
  /** Recovery and activation tokens: 20 characters. */
  issueShort(): string
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
    issueLong: () => keep(`00${randomText(random, 30)}`),
    issueShort: () => keep(randomText(random, 15)),
    all: () => [...issued],
    clear: () => issued.clear(),
  }
}

export function randomErrorId(random: RandomBytes): string {
  return `oae${randomText(random, 16)}`
}

/** Six digits, as a text message brings them. */
export function randomCode(random: RandomBytes): string {
  const value = random(4).readUInt32BE(0)
  return String(value % 1_000_000).padStart(6, '0')
}

/** 20 characters, like the challenge of a security key. */
export function randomChallenge(random: RandomBytes): string {
  return randomText(random, 15)
}

/** The same seed gives the same id: a prefix such as `00u` and letters and digits up to 20 characters. */
export function idFromSeed(prefix: string, seed: string): string {
  const letters = createHash('sha256')
    .update(seed)
    .digest('base64')
    .replace(/[^A-Za-z0-9]/g, '')
  return (prefix + letters).slice(0, 20)
}

function randomText(random: RandomBytes, bytes: number): string {
  return random(bytes).toString('base64url')
}
