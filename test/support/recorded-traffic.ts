/**
 * What the browsers of this process sent to an origin that nobody else may know, and all that they got from there: for
 * the harness that looks for secrets when it is left.
 */
export interface RecordedTraffic {
  /** Header lines and bodies. */
  readonly received: string[]
  /** Passwords, codes, answers and tokens in bodies. */
  readonly secrets: Set<string>
  /** Who they said they were. */
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

/** What a broker's process prints, for every harness of this test. */
export function recordProcess(output: () => string): void {
  outputs.push(output)
}

export function processOutputs(): string[] {
  return outputs.map((output) => output())
}

const SECRETS = new Set([
  ...['password', 'oldPassword', 'newPassword', 'passCode', 'nextPassCode', 'answer'],
  ...['token', 'recoveryToken', 'clientData', 'attestation', 'registrationData', 'signatureData'],
  'sig_response',
])
const PEOPLE = new Set(['username', 'phoneNumber', 'email', 'login'])

/** `wrong` as a code or `nobody` as a name is a word like any other: it tells nothing wherever it stands. */
const isTelling = (text: string) => text.length >= 10 || (text.length >= 6 && /\d/.test(text))

/** Keeps the secrets of a body, at any depth. */
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
