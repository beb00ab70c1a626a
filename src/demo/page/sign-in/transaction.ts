import { call } from '../parts/call.js'
import type { Values } from '../parts/form.js'

export interface Link {
  readonly href: string
  readonly name?: string
}
interface Linked {
  readonly _links?: Readonly<Record<string, Link | readonly Link[]>>
}

/** The answer to every step of a sign-in. `stateToken` is a handle that stays the same until the end. */
export interface Transaction extends Linked {
  readonly status: string
  readonly stateToken?: string
  readonly factorResult?: string
  readonly recoveryType?: string
  readonly _embedded?: Embedded
  /** This page's own: what was said about this device on an earlier screen. */
  readonly remember?: boolean | undefined
}
export interface Factor extends Linked {
  readonly factorType: string
  readonly provider?: string
  readonly status?: string
  readonly enrollment?: string
  readonly profile?: Readonly<Record<string, string>>
  readonly _embedded?: Embedded
}
interface Embedded {
  readonly user?: { readonly recovery_question?: { readonly question?: string } }
  readonly target?: { readonly label?: string }
  /** The list to choose from, or the one in hand; an org may call the list `factor`, too. */
  readonly factors?: readonly Factor[]
  readonly factor?: Factor | readonly Factor[]
  /** Of a security key, these two are options of WebAuthn in JSON. */
  readonly challenge?: { readonly correctAnswer?: number }
  readonly activation?: Linked & { readonly sharedSecret?: string }
  readonly policy?: {
    readonly allowRememberDevice?: boolean
    readonly rememberDeviceByDefault?: boolean
    readonly expiration?: { readonly passwordExpireDays?: number }
    readonly complexity?: Readonly<Record<string, number | boolean>>
    readonly age?: Readonly<Record<string, number>>
  }
}

/** Every link as a list: `resend` and `send` often are, `next` and `cancel` are single ones. */
export function linksOf(holder: Linked | undefined, relation: string): readonly Link[] {
  return [holder?._links?.[relation] ?? []].flat()
}

export function linkOf(holder: Linked | undefined, relation: string): Link | undefined {
  return linksOf(holder, relation)[0]
}

export function factorsOf({ _embedded }: Transaction): readonly Factor[] {
  return [_embedded?.factor ?? _embedded?.factors ?? []].flat()
}

/** These go into the query of the link, everything else into the body. */
const IN_QUERY = ['rememberDevice', 'updatePhone']

/** Follows a link of the transaction, with the handle in it. */
export async function follow(from: Transaction, { href }: Link, values: Values = {}): Promise<Transaction> {
  const url = new URL(href, location.href)
  const body: Record<string, unknown> = { stateToken: from.stateToken }
  for (const [name, value] of Object.entries(values)) {
    const [member = '', inner] = name.split('.')
    if (inner !== undefined) body[member] = Object.assign({}, body[member], { [inner]: value })
    else if (!IN_QUERY.includes(name)) body[name] = value
    else if (value === true) url.searchParams.set(name, 'true')
  }
  const answer = await call<Transaction>('POST', url.href, { body })
  const { rememberDevice } = values
  return { ...answer, remember: typeof rememberDevice === 'boolean' ? rememberDevice : from.remember }
}
