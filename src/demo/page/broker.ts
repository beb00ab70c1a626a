/** What this page asks of the broker: plain `fetch`. The two HttpOnly cookies go along by themselves. */

export interface Link {
  readonly href: string
  readonly name?: string
  readonly hints?: { readonly allow?: readonly string[] }
}

export type Links = Readonly<Record<string, Link | readonly Link[]>>

/** The answer to every step of a sign-in. `stateToken` is a handle that stays the same until the end. */
export interface Transaction {
  readonly status: string
  readonly stateToken?: string
  readonly factorResult?: string
  readonly factorType?: string
  readonly recoveryType?: string
  readonly _embedded?: {
    readonly user?: {
      readonly profile?: Readonly<Record<string, string>>
      readonly recovery_question?: { readonly question?: string }
    }
    /** The list to choose from; an org may call it `factor`, which is otherwise the one in hand. */
    readonly factors?: readonly Factor[]
    readonly factor?: Factor | readonly Factor[]
    /** Of a security key, when any key of the person will do. */
    readonly challenge?: Challenge
    readonly policy?: Policy
    readonly target?: { readonly label?: string }
  }
  readonly _links?: Links
}

export interface Factor {
  readonly id?: string
  readonly factorType: string
  readonly provider?: string
  readonly status?: string
  readonly enrollment?: string
  readonly profile?: Readonly<Record<string, string>>
  readonly _embedded?: { readonly challenge?: Challenge; readonly activation?: Activation }
  readonly _links?: Links
}

export interface Challenge {
  readonly challenge?: string
  readonly userVerification?: UserVerificationRequirement
  /** The number that a push asks to compare. */
  readonly correctAnswer?: number
}

export interface Activation {
  readonly factorResult?: string
  readonly sharedSecret?: string
  readonly challenge?: string
  readonly rp?: { readonly name: string }
  readonly user?: { readonly id: string; readonly name: string; readonly displayName: string }
  readonly attestation?: AttestationConveyancePreference
  readonly authenticatorSelection?: AuthenticatorSelectionCriteria
  readonly pubKeyCredParams?: PublicKeyCredentialParameters[]
  readonly excludeCredentials?: readonly { readonly id: string }[]
  readonly _links?: Links
}

export interface Policy {
  readonly allowRememberDevice?: boolean
  readonly rememberDeviceByDefault?: boolean
  readonly expiration?: { readonly passwordExpireDays?: number }
  readonly complexity?: Readonly<Record<string, number | boolean>>
  readonly age?: Readonly<Record<string, number>>
}

/** An Error object of the broker or of the upstream: `code` for us, the rest for people. */
export class BrokerTrouble extends Error {
  readonly status: number
  readonly code: string
  readonly causes: readonly string[]
  readonly waitSeconds: number | undefined

  constructor(parts: {
    status: number
    code: string
    summary: string
    causes?: readonly string[]
    waitSeconds?: number | undefined
  }) {
    super(parts.summary)
    this.status = parts.status
    this.code = parts.code
    this.causes = parts.causes ?? []
    this.waitSeconds = parts.waitSeconds
  }
}

/** With `session`, the broker answers 409 when another one is open in this browser by now. */
export async function call<Answer>(
  method: string,
  url: string,
  { body, session }: { body?: object; session?: string } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(session === undefined ? {} : { 'x-gatehouse-session': session }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  }).catch(() => {
    throw new BrokerTrouble({ status: 0, code: 'network', summary: 'The portal cannot be reached' })
  })
  const answer = await readJson(response)
  if (response.ok) return answer
  throw new BrokerTrouble({
    status: response.status,
    code: answer.errorCode ?? '',
    summary: answer.errorSummary ?? '',
    causes: (answer.errorCauses ?? []).map((cause: { errorSummary: string }) => cause.errorSummary),
    waitSeconds: waitOf(response),
  })
}

/** Follows a link of the transaction, with the handle in it. */
export function follow(
  { stateToken }: Transaction,
  link: Link,
  fields: object = {},
  query = '',
): Promise<Transaction> {
  return call('POST', link.href + query, { body: { stateToken, ...fields } })
}

export function linkOf(holder: { readonly _links?: Links } | undefined, name: string): Link | undefined {
  return linksOf(holder, name)[0]
}

/** `resend` and `send` are often lists, `next` and `cancel` single links: here everything is a list. */
export function linksOf(holder: { readonly _links?: Links } | undefined, name: string): readonly Link[] {
  return listOf<Link>(holder?._links?.[name])
}

/** The factors to choose from, under either name. */
export function factorsOf({ _embedded }: Transaction): readonly Factor[] {
  return _embedded?.factors ?? listOf<Factor>(_embedded?.factor)
}

/** The one factor in hand. */
export function factorOf({ _embedded }: Transaction): Factor | undefined {
  return listOf<Factor>(_embedded?.factor)[0] ?? _embedded?.factors?.[0]
}

function listOf<Item>(value: Item | readonly Item[] | undefined): readonly Item[] {
  if (value === undefined) return []
  return Array.isArray(value) ? value : [value as Item]
}

async function readJson(response: Response) {
  const text = await response.text()
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    return {} // a proxy in between has answered with a page: the status says enough
  }
}

/** `Retry-After`; of a limit of the upstream's, also the time at which it ends. */
function waitOf({ headers, status }: Response): number | undefined {
  const after = Number(headers.get('retry-after') ?? Number.NaN)
  if (Number.isFinite(after)) return after
  if (status !== 429) return undefined // the upstream's limits stand in every answer
  const reset = Number(headers.get('x-rate-limit-reset') ?? Number.NaN)
  const now = Date.parse(headers.get('date') ?? '') / 1000
  return Number.isFinite(reset - now) ? Math.max(1, Math.ceil(reset - now)) : undefined
}
