import { createHash } from 'node:crypto'

/** Returns `count` random bytes. */
export type RandomBytes = (count: number) => Buffer

/** Issues tokens and keeps them, so that a test can search the broker's output for them. */
export type IssuedTokens = {
  /** State, session and QR tokens: `00` and 40 characters. */
  issueLong(): string
  /** Recovery and activation tokens: 20 characters. */
  issueShort(): string
  all(): string[]
  clear(): void
}

const MAX_TOKENS = 200_000

export function createIssuedTokens({ random }: { random: RandomBytes }): IssuedTokens {
  const issued = new Set<string>()
  function keep(token: string): string {
    issued.add(token)
    const [oldest] = issued
    if (issued.size > MAX_TOKENS && oldest !== undefined) issued.delete(oldest)
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

/** Six digits. */
export function randomCode(random: RandomBytes): string {
  const value = random(4).readUInt32BE(0)
  return String(value % 1_000_000).padStart(6, '0')
}

/** 20 characters. */
export function randomChallenge(random: RandomBytes): string {
  return randomText(random, 15)
}

/** An id of 20 characters, such as `00u…`. The same seed gives the same id. */
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
