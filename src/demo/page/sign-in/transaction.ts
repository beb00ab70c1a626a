import { call } from '../parts/call.js'

interface Linked {
  readonly _links?: Readonly<Record<string, Link | readonly Link[]>>
}
export interface Link {
  readonly href?: string
  readonly name?: string
  /** This page's own, in the place of an address: the answer is known already. */
  readonly answer?: Transaction
}

/** The answer to every step of a sign-in. Each member may be missing: when it is cancelled, even the status. */
export interface Transaction extends Linked {
  readonly status?: string
  /** A handle, the same until the end. */
  readonly stateToken?: string
  readonly factorResult?: string
  readonly factorResultMessage?: string
  readonly recoveryType?: string
  readonly _embedded?: Embedded
  /** This page's own: what was said about this device on an earlier screen. */
  readonly remember?: boolean | undefined
}
export interface Factor extends Linked {
  readonly id?: string
  readonly factorType: string
  readonly provider?: string
  readonly vendorName?: string
  readonly status?: string
  readonly enrollment?: string
  readonly profile?: Readonly<Record<string, string>>
  readonly _embedded?: Embedded
}
/** What Duo's frame is opened with. */
export interface DuoRequest {
  readonly host?: string
  readonly signature?: string
}
interface Embedded {
  readonly user?: { readonly recovery_question?: { readonly question?: string } }
  readonly target?: { readonly label?: string }
  /** The list to choose from, or the one in hand; an org may call the list `factor`, too. */
  readonly factors?: readonly Factor[]
  readonly factor?: Factor | readonly Factor[]
  /** Of a security key, these two are options of WebAuthn in JSON. */
  readonly challenge?: { readonly correctAnswer?: number }
  readonly activation?: Linked & DuoRequest & { readonly sharedSecret?: string }
  readonly verification?: Linked & DuoRequest
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

/** Follows a link, with the handle. What is said of this device and of a phone goes into the link's query. */
export async function follow(from: Transaction, link: Link, values: Flags = {}): Promise<Transaction> {
  if (link.answer) return link.answer
  if (link.name === 'redirect') return leaveFor(link.href ?? '', from.stateToken ?? '')
  const { rememberDevice: remember = from.remember, updatePhone, ...body } = values
  const url = new URL(link.href ?? '', location.href)
  if (remember) url.searchParams.set('rememberDevice', 'true')
  if (updatePhone) url.searchParams.set('updatePhone', 'true')
  const answer = await call<Transaction>('POST', url.href, { ...body, stateToken: from.stateToken })
  return { ...answer, remember }
}
const LEFT = 'transaction'

/** The handle waits in this tab while the browser is elsewhere. */
function leaveFor(href: string, handle: string): Promise<never> {
  sessionStorage.setItem(LEFT, handle)
  location.assign(href)
  return new Promise(() => undefined) // this page is going
}

/** The handle of the transaction that this tab left for another page; once. */
export function takeHandleLeft(): string | undefined {
  const handle = sessionStorage.getItem(LEFT) ?? undefined
  sessionStorage.removeItem(LEFT)
  return handle
}

type Flags = { readonly rememberDevice?: boolean; readonly updatePhone?: boolean }
