import { isRecord } from './json.ts'

type Kind = 'token' | 'id' | 'login' | 'name' | 'address' | 'phone' | 'secret'

/** What a member of a request or response holds, by its name. */
const KINDS: Readonly<Record<string, Kind>> = {
  stateToken: 'token',
  sessionToken: 'token',
  recoveryToken: 'token',
  activationToken: 'token',
  token: 'token',
  bearer_token: 'token',
  sharedSecret: 'token',
  challenge: 'token',
  nonce: 'token',
  deviceToken: 'token',
  clientData: 'secret',
  attestation: 'secret',
  authenticatorData: 'secret',
  signatureData: 'secret',
  dtHash: 'token',
  requestApiTokenId: 'id',
  id: 'id',
  uid: 'id',
  userId: 'id',
  uuid: 'id',
  errorId: 'id',
  eventId: 'id',
  credentialId: 'id',
  login: 'login',
  email: 'login',
  username: 'login',
  alternateId: 'login',
  firstName: 'name',
  lastName: 'name',
  displayName: 'name',
  ipAddress: 'address',
  ip: 'address',
  phoneNumber: 'phone',
  mobilePhone: 'phone',
  key_id: 'secret',
  key_secret: 'secret',
  password: 'secret',
  oldPassword: 'secret',
  newPassword: 'secret',
  passCode: 'secret',
  answer: 'secret',
  team_name: 'secret',
}

/** Words of the protocol that may be the value of such a member, and are nobody's. */
const NOT_SECRET =
  /^(me|true|false|default|system@okta\.com|unknown|null|Okta.*|Gatehouse|Proof|Gatehouse Proof)$/i
const SHORTEST = 4
const NUMBERS_OF_JSON = /(?<=^ +|: )\d+(?=,?$)/gm

const PLACEHOLDERS: Readonly<Record<Kind, (count: number, real: string) => string>> = {
  token: (count, real) => `00token${count}`.padEnd(Math.max(20, Math.min(real.length, 42)), 'x'),
  id: (count, real) => `${/^[0-9a-zA-Z]{3}/.exec(real)?.[0] ?? 'id0'}${String(count).padStart(17, '0')}`,
  login: (count) => `user-${count}@example.test`,
  name: (count) => `Name ${count}`,
  address: (count) => `192.0.2.${count % 256}`,
  phone: (count) => `+1555010${String(count).padStart(4, '0')}`,
  secret: (count) => `(left out ${count})`,
}

export interface Pseudonyms {
  /** The same value is always replaced with the same placeholder. */
  learn(kind: Kind, value: string): void
  /** Learns from the members of a request or response, and from the links in it. */
  learnFrom(data: unknown): void
  replace(text: string): string
  /** In all names and texts of JSON data: numbers and literals stay. */
  replaceIn(data: unknown): unknown
  /** The values that a text still has, apart from the numbers of indented JSON, which stay. */
  findIn(text: string): string[]
}

/** Replaces what belongs to an org or a person, consistently over all files of a report. */
export function createPseudonyms(orgOrigin: string): Pseudonyms {
  const counts = new Map<Kind, number>()
  const known = new Set<string>()
  /** By their first characters, so that one pass over a text finds all. The longest come first. */
  const forms = new Map<string, { real: string; placeholder: string }[]>()

  function add(real: string, placeholder: string): void {
    known.add(real)
    for (const form of new Set([real, encodeURIComponent(real)])) {
      const key = form.slice(0, SHORTEST)
      const same = [...(forms.get(key) ?? []), { real: form, placeholder }]
      forms.set(
        key,
        same.sort((a, b) => b.real.length - a.real.length),
      )
    }
  }

  function learn(kind: Kind, value: string): void {
    if (value.length < SHORTEST || NOT_SECRET.test(value) || known.has(value)) return
    const count = (counts.get(kind) ?? 0) + 1
    counts.set(kind, count)
    add(value, PLACEHOLDERS[kind](count, value))
  }

  function learnFrom(data: unknown, name = ''): void {
    if (Array.isArray(data)) for (const each of data) learnFrom(each, name)
    else if (isRecord(data)) for (const [key, member] of Object.entries(data)) learnFrom(member, key)
    else if (typeof data === 'string') learnText(data, name)
  }

  function learnText(text: string, name: string): void {
    const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
    if (kind !== undefined) learn(kind, text)
    for (const [, token = ''] of text.matchAll(
      /(?:[?&](?:stateToken|token)=|\/qr\/|\/reset[_-]password\/|\/welcome\/|[#&]recovery=)([\w-]{16,})/g,
    ))
      learn('token', token)
    for (const [id] of text.matchAll(/\b(?:00[a-z]|[a-z]{3})[A-Za-z0-9]{17}\b/g)) learn('id', id)
  }

  add(orgOrigin, 'https://org.example.test')
  add(new URL(orgOrigin).host, 'org.example.test')

  const formAt = (text: string, at: number) =>
    forms
      .get(text.slice(at, at + SHORTEST))
      ?.find(({ real }) => text.startsWith(real, at) && !isPartOfNumber(text, at, real))

  function replace(text: string): string {
    let replaced = ''
    for (let at = 0; at < text.length; ) {
      const form = formAt(text, at)
      replaced += form?.placeholder ?? text[at]
      at += form?.real.length ?? 1
    }
    return replaced
  }

  function replaceIn(data: unknown): unknown {
    if (typeof data === 'string') return replace(data)
    if (Array.isArray(data)) return data.map(replaceIn)
    if (!isRecord(data)) return data
    return Object.fromEntries(
      Object.entries(data).map(([name, member]) => [replace(name), replaceIn(member)]),
    )
  }

  return {
    learn,
    learnFrom,
    replace,
    replaceIn,
    findIn(written) {
      const text = written.replace(NUMBERS_OF_JSON, '')
      const found = new Set<string>()
      for (let at = 0; at < text.length; at += 1) {
        const form = formAt(text, at)
        if (form !== undefined) found.add(form.real)
      }
      return [...found]
    },
  }
}

/** A code is by chance in longer numbers: of placeholders, times and ids. There it is no code. */
function isPartOfNumber(text: string, at: number, real: string): boolean {
  const isDigit = (char = '') => /\d/.test(char)
  return /^\d{4,8}$/.test(real) && (isDigit(text[at - 1]) || isDigit(text[at + real.length]))
}
