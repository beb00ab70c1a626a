import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecretScanner } from 'gatehouse-test-support/secret-scanner'

/** Members of requests that no report may have. */
const SECRETS =
  /^(login|email|username|password|value|answer|newPassword|oldPassword|passCode|deviceToken|stateToken|recoveryToken|phoneNumber|mobilePhone|authorization)$/

/** What the org's request log has of tokens, names and numbers. */
export function secretsIn(data: unknown): string[] {
  if (typeof data !== 'object' || data === null) return []
  return Object.entries(data).flatMap(([name, member]) =>
    typeof member !== 'string' ? secretsIn(member) : SECRETS.test(name) ? [member] : [],
  )
}

/** The files of a run, and the secrets that they have. */
export function scanFolder(folder: string, secrets: readonly string[]): { files: string[]; found: string[] } {
  const scanner = createSecretScanner()
  scanner.add(...secrets)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.\w+$/.test(name),
  )
  const found = files.flatMap((name) =>
    scanner.findIn(readFileSync(join(folder, name), 'utf8')).map((secret) => `${name}: ${secret}`),
  )
  return { files, found }
}
