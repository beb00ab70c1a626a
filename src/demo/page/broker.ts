/** What this page asks of the broker. Everything is plain `fetch`; the cookies go along by themselves. */

export interface Link {
  readonly href: string
  readonly name?: string
  readonly hints?: { readonly allow?: readonly string[] }
}

export interface Factor {
  readonly id: string
  readonly factorType: string
  readonly provider?: string
  readonly profile?: Readonly<Record<string, string>>
  readonly _links?: Readonly<Record<string, Link | readonly Link[]>>
}

export interface Transaction {
  readonly status: string
  readonly stateToken?: string
  readonly factorResult?: string
  readonly _embedded?: {
    readonly user?: { readonly profile?: Readonly<Record<string, string>> }
    readonly factors?: readonly Factor[]
    readonly factor?: Factor
    readonly policy?: {
      readonly expiration?: { readonly passwordExpireDays?: number }
      readonly complexity?: Readonly<Record<string, number>>
    }
  }
  readonly _links?: Readonly<Record<string, Link | readonly Link[]>>
}

export interface Session {
  readonly id: string
  readonly login: string
  readonly profile: Readonly<Record<string, string>>
  readonly amr: readonly string[]
  readonly createdAt: string
  readonly expiresAt: string
  readonly idleExpiresAt: string
}

export interface Access {
  readonly groups: readonly {
    readonly id: string
    readonly name: string
    readonly roles: readonly string[]
  }[]
  readonly roles: readonly string[]
  readonly maximalRoles: readonly string[]
  readonly unknownRoles: readonly string[]
  readonly meta: { readonly fetchedAt: string; readonly stale: boolean }
}

/** An Error object of the broker or the upstream: `code` for us, a sentence for people. */
export class BrokerTrouble extends Error {
  readonly status: number
  readonly code: string
  readonly causes: readonly string[]

  constructor(status: number, code: string, summary: string, causes: readonly string[]) {
    super(summary)
    this.status = status
    this.code = code
    this.causes = causes
  }
}

export async function call<Answer>(method: string, url: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  }).catch(() => {
    throw new BrokerTrouble(0, 'network', 'The portal cannot be reached. Please try again.', [])
  })
  const text = await response.text()
  const answer = text === '' ? {} : JSON.parse(text)
  if (response.ok) return answer
  const causes = (answer.errorCauses ?? []).map((cause: { errorSummary: string }) => cause.errorSummary)
  throw new BrokerTrouble(
    response.status,
    answer.errorCode ?? '',
    answer.errorSummary ?? 'Unknown error',
    causes,
  )
}

/** Follows a link of the transaction, with the handle it holds. */
export function follow(
  transaction: Transaction,
  link: Link,
  fields: object = {},
  query = '',
): Promise<Transaction> {
  return call('POST', link.href + query, { stateToken: transaction.stateToken, ...fields })
}

export function linkOf(holder: Pick<Transaction | Factor, '_links'>, name: string): Link | undefined {
  const link = holder._links?.[name]
  return isList(link) ? link[0] : link
}

function isList(link: Link | readonly Link[] | undefined): link is readonly Link[] {
  return Array.isArray(link)
}
