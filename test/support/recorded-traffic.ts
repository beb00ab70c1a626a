/**
 * The secrets that browsers of this process sent to an origin, and everything that they received.
 * harness-secrets.ts searches it.
 */
export interface RecordedTraffic {
  /** Header lines and bodies. */
  readonly received: string[]
  /** Passwords, codes, answers and tokens in bodies. */
  readonly secrets: Set<string>
  /** User names. */
  readonly people: Set<string>
}

const byOrigin = new Map<string, RecordedTraffic>()

export function trafficOf(origin: string): RecordedTraffic {
  const known = byOrigin.get(origin) ?? { received: [], secrets: new Set(), people: new Set() }
  byOrigin.set(origin, known)
  return known
}

export function forgetTraffic(origin: string): void {
  byOrigin.delete(origin)
}

const outputs: (() => string)[] = []

/** Records the output of a broker process, for every harness of this test. */
export function recordProcess(output: () => string): void {
  outputs.push(output)
}

export function processOutputs(): string[] {
  return outputs.map((output) => output())
}

const SECRETS = new Set([
  'password',
  'oldPassword',
  'newPassword',
  'passCode',
  'nextPassCode',
  'answer',
  'token',
  'recoveryToken',
  'clientData',
  'attestation',
  'registrationData',
  'signatureData',
  'sig_response',
])
const PEOPLE = new Set(['username', 'phoneNumber', 'email', 'login'])

/**
 * Short values such as the code `wrong` or the name `nobody` are ordinary words, so finding them
 * proves nothing.
 */
const isTelling = (text: string) => text.length >= 10 || (text.length >= 6 && /\d/.test(text))

/** Records the secrets of a body, at any depth. */
export function recordBody({ secrets, people }: RecordedTraffic, body: unknown): void {
  if (typeof body !== 'object' || body === null) return
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string') {
      if (!isTelling(value)) continue
      if (SECRETS.has(name)) secrets.add(value)
      if (PEOPLE.has(name)) people.add(value)
    } else recordBody({ secrets, people, received: [] }, value)
  }
}
